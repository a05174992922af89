//! Git's conflict markers: tells a file that has them, and gives back the text of either side.

/// The text of both sides of a conflict.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sides {
    /// The side between `<<<<<<<` and `=======`: the branch that was merged into.
    pub ours: String,
    /// The side between `=======` and `>>>>>>>`: the branch that was merged.
    pub theirs: String,
}

/// Splits a text with conflict markers into its sides; `None` when it has none.
///
/// No line of a lockfile begins with seven of these characters, so one marker is enough to tell, also when the others
/// were deleted by hand. What stands between `|||||||` and `=======` (diff3 style) is neither side's.
pub fn split(text: &str) -> Option<Sides> {
    #[derive(Clone, Copy)]
    enum Part {
        Both,
        Ours,
        Base,
        Theirs,
    }
    let mut part = Part::Both;
    let mut found = false;
    let mut sides = Sides { ours: String::new(), theirs: String::new() };
    for line in text.split_inclusive('\n') {
        let next = match line.get(..7) {
            Some("<<<<<<<") => Some(Part::Ours),
            Some("|||||||") => Some(Part::Base),
            Some("=======") => Some(Part::Theirs),
            Some(">>>>>>>") => Some(Part::Both),
            _ => None,
        };
        if let Some(next) = next {
            found = true;
            part = next;
            continue;
        }
        if matches!(part, Part::Both | Part::Ours) {
            sides.ours.push_str(line);
        }
        if matches!(part, Part::Both | Part::Theirs) {
            sides.theirs.push_str(line);
        }
    }
    found.then_some(sides)
}
