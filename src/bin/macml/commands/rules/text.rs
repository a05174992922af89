//! Rules as people read them: one line each in aligned columns, or one whole.

use macml::knowledge::Force;
use macml::knowledge::Knowledge;
use macml::knowledge::OneNight;
use macml::knowledge::Rule;
use macml::knowledge::rule::Advice;
use macml::knowledge::rule::Confidence;
use macml::knowledge::rule::Evidence;
use macml::knowledge::rule::Release;
use macml::knowledge::rule::Says;
use macml::knowledge::rule::Scope;
use macml::knowledge::wheels::InnerTag;
use macml::knowledge::wheels::WheelFact;
use macml::pep::Specifiers;

use crate::printer::GOOD;
use crate::printer::NAME;
use crate::printer::styled;

use super::selection::Group;
use super::selection::ONE_NIGHT;
use super::selection::Piece;
use super::selection::Selection;
use super::selection::WHEEL;

/// Lays out all that was asked for: the list, then what is shown whole, with an empty line between any two.
pub(super) fn text(selection: &Selection<'_>, knowledge: &Knowledge) -> String {
    let mut blocks: Vec<String> = Vec::new();
    if let Some(groups) = selection.list.as_ref().filter(|groups| !groups.is_empty()) {
        blocks.extend(groups.iter().map(|group| listed(group, selection.of_packages)));
        blocks.push(last_line(groups, knowledge));
    }
    blocks.extend(selection.whole.iter().map(|piece| match piece {
        Piece::Rule(rule) => whole(rule),
        Piece::Night(night) => whole_night(night),
    }));
    blocks.join("\n")
}

/// Says how much was listed, to what day it is true, and beyond which releases nothing is known.
fn last_line(groups: &[Group<'_>], knowledge: &Knowledge) -> String {
    let rules = groups.iter().map(|group| group.rules.len() + group.nights.len()).sum();
    let wheels = groups.iter().map(|group| group.wheels.len() + group.inner_tags.len()).sum();
    let count = |number: usize, one: &str, more: &str| match number {
        0 => None,
        1 => Some(format!("1 {one}")),
        number => Some(format!("{number} {more}")),
    };
    let counts = [count(rules, "rule", "rules"), count(wheels, "fact on wheels", "facts on wheels")];
    let counts = counts.into_iter().flatten().collect::<Vec<_>>().join(" and ");
    let newest = knowledge.newest.iter().map(|(name, version)| format!("{name} {version}")).collect::<Vec<_>>();
    format!("{counts}; knowledge of {}; newest releases known: {}\n", knowledge.date, newest.join(", "))
}

/// One line of the list in columns: name, versions, kind, scope, what it says in short.
struct Row {
    name: String,
    /// Whether the name is one that `macml rules` and `ignore-rules` take.
    named: bool,
    versions: String,
    kind: String,
    scope: String,
    says: String,
    /// Lines below it.
    below: Vec<String>,
}

/// Lays out a group below the name of its package; facts on wheels, which have no name of their own to ask for, with
/// their ground where packages were asked for.
fn listed(group: &Group<'_>, grounds: bool) -> String {
    let mut rows: Vec<Row> = group.rules.iter().map(|rule| Row::from(*rule)).collect();
    rows.extend(group.nights.iter().map(|night| Row::from(*night)));
    rows.extend(group.wheels.iter().map(|fact| Row::from(*fact)));
    rows.extend(group.inner_tags.iter().map(|tag| Row::from(*tag)));
    let width = |column: fn(&Row) -> &str| rows.iter().map(|row| column(row).chars().count()).max().unwrap_or_default();
    let widths = [width(|row| &row.name), width(|row| &row.versions), width(|row| &row.kind), width(|row| &row.scope)];
    let mut lines = vec![styled(GOOD, group.package)];
    for row in &rows {
        let name = format!("{:1$}", row.name, widths[0]);
        let name = if row.named { styled(NAME, name) } else { name };
        let (versions, kind) = (format!("{:1$}", row.versions, widths[1]), format!("{:1$}", row.kind, widths[2]));
        let scope = format!("{:1$}", row.scope, widths[3]);
        lines.push(format!("  {name}  {versions}  {kind}  {scope}  {}", row.says));
        if grounds {
            lines.extend(row.below.iter().map(|line| format!("    {line}")));
        }
    }
    lines.join("\n") + "\n"
}

impl From<&Rule> for Row {
    fn from(rule: &Rule) -> Self {
        Self {
            name: rule.id.clone(),
            named: true,
            versions: versions(&rule.versions),
            kind: rule.says.to_string(),
            scope: rule.scope.to_string(),
            says: in_short(rule),
            below: Vec::new(),
        }
    }
}

impl From<&OneNight> for Row {
    fn from(night: &OneNight) -> Self {
        Self {
            name: night.id.clone(),
            named: true,
            versions: "nightly".to_owned(),
            kind: ONE_NIGHT.to_owned(),
            scope: "-".to_owned(),
            says: format!("{} of one night", both(&night.packages)),
            below: Vec::new(),
        }
    }
}

impl From<&WheelFact> for Row {
    fn from(fact: &WheelFact) -> Self {
        Self {
            name: fact.tag.clone(),
            named: false,
            versions: versions(&fact.versions),
            kind: WHEEL.to_owned(),
            scope: "-".to_owned(),
            says: format!("wheels of {} need macOS {}", both(&fact.packages), fact.macos),
            below: ground(format!("{} ({})", fact.reason, fact.confidence), &fact.evidence),
        }
    }
}

impl From<&InnerTag> for Row {
    fn from(tag: &InnerTag) -> Self {
        let build = if tag.build == 0 { String::new() } else { format!(", build {}", tag.build) };
        Self {
            name: tag.says.clone(),
            named: false,
            versions: versions(&tag.versions),
            kind: WHEEL.to_owned(),
            scope: "-".to_owned(),
            says: format!("the tag inside wheels of {}{build} is wrong, the file name is right", both(&tag.packages)),
            below: ground(tag.reason.clone(), &tag.evidence),
        }
    }
}

/// Writes why something is so, and who says it.
fn ground(reason: String, evidence: &[Evidence]) -> Vec<String> {
    std::iter::once(reason).chain(evidence.iter().map(ToString::to_string)).collect()
}

/// Writes what a rule says of its releases, with what must hold for it to count in parentheses.
fn in_short(rule: &Rule) -> String {
    let mut conditions = conditions(rule).into_iter().map(|condition| format!("on {condition}")).collect::<Vec<_>>();
    let says = match &rule.says {
        Says::Requires(any_of) => format!("needs {}", any_of.iter().map(plain).collect::<Vec<_>>().join(" or ")),
        Says::Conflicts(other) => format!("never beside {}", plain(other)),
        Says::Unusable if rule.scope == Scope::Gpu => "cannot use the GPU".to_owned(),
        Says::Unusable => "of no use on a Mac".to_owned(),
        Says::NeedsMacos(needs) => format!("needs macOS {needs}"),
        Says::NeedsPython(needs) => format!("needs Python {needs}"),
        Says::Advice(Advice { with, without, prefer, problem }) => {
            conditions.extend(with.as_ref().map(|with| format!("beside {}", plain(with))));
            conditions.extend(without.as_ref().map(|without| format!("without {}", plain(without))));
            let instead = match prefer {
                Some(prefer) => format!("prefer {}", plain(prefer)),
                // Its reason says what to do, or all that there is to say.
                None => rule.reason.trim_end_matches('.').to_owned(),
            };
            problem.iter().map(|problem| format!("{}: ", problem.title())).collect::<String>() + &instead
        }
    };
    match conditions.is_empty() {
        true => says,
        false => format!("{says} ({})", conditions.join("; ")),
    }
}

/// Writes on which machines alone a rule counts; nothing when on all.
fn conditions(rule: &Rule) -> Vec<String> {
    let mut conditions = Vec::new();
    if !rule.macos.is_any() {
        conditions.push(format!("macOS {}", rule.macos));
    }
    if !rule.chips.is_empty() {
        let chips = rule.chips.iter().map(|generation| format!("m{generation}")).collect::<Vec<_>>();
        conditions.push(both(&chips));
    }
    if !rule.python.is_any() {
        conditions.push(format!("Python {}", rule.python));
    }
    conditions
}

/// Lays out a rule with everything.
fn whole(rule: &Rule) -> String {
    let mut fields = Fields(vec![styled(GOOD, &rule.id), format!("  {}", rule.statement())]);
    fields.add("package", [format!("{} {}", rule.package, versions(&rule.versions))]);
    fields.add("kind", [rule.says.to_string()]);
    fields.add("scope", [format!("{}: {}", rule.scope, lowercase(stake(rule.scope)))]);
    fields.add("demands", demands(rule));
    fields.add(
        "counts on",
        match conditions(rule) {
            conditions if conditions.is_empty() => vec!["every macOS, chip and Python".to_owned()],
            conditions => conditions,
        },
    );
    fields.add("binds", binds(rule));
    fields.add("reason", [rule.reason.clone()]);
    fields.add("confidence", [format!("{}: {}", rule.confidence, meaning(rule.confidence))]);
    fields.add("evidence", rule.evidence.iter().map(ToString::to_string));
    let then = match rule.force() {
        Force::Never => "then nobody is told of it",
        _ => "then `macml lock` chooses as if it were not known",
    };
    fields.switch_off(&rule.id, then);
    fields.text()
}

/// Lays out a group of nightly builds with everything.
fn whole_night(night: &OneNight) -> String {
    let statement =
        format!("  nightly builds of {} go together only when they are of one night", both(&night.packages));
    let mut fields = Fields(vec![styled(GOOD, &night.id), statement]);
    fields.add("packages", [night.packages.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")]);
    fields.add("kind", [ONE_NIGHT]);
    fields.add("binds", ["always, on every platform"]);
    fields.add("reason", [&night.reason]);
    fields.add("evidence", night.evidence.iter().map(ToString::to_string));
    fields.switch_off(&night.id, "then `macml lock` chooses as if it were not known");
    fields.text()
}

/// Lines with a label before the first of each field.
struct Fields(Vec<String>);

impl Fields {
    fn add(&mut self, label: &str, lines: impl IntoIterator<Item = impl std::fmt::Display>) {
        for (at, line) in lines.into_iter().enumerate() {
            let label = if at == 0 { label } else { "" };
            self.0.push(format!("  {label:12}{line}"));
        }
    }

    fn switch_off(&mut self, id: &str, then: &str) {
        let line = styled(NAME, format!("ignore-rules = [\"{id}\"]"));
        self.add(
            "switch off",
            [
                format!("{line} under `[resolution]` in macml.toml"),
                format!("{then}; macml.lock says that it was ignored"),
            ],
        );
    }

    fn text(self) -> String {
        self.0.join("\n") + "\n"
    }
}

/// Writes what must be so, alternatives one a line; of advice when it counts and what is better.
fn demands(rule: &Rule) -> Vec<String> {
    match &rule.says {
        Says::Requires(any_of) => {
            let or = |(at, release)| if at == 0 { plain(release) } else { format!("or {}", plain(release)) };
            any_of.iter().enumerate().map(or).collect()
        }
        Says::Conflicts(other) => vec![format!("no {} in the same environment", plain(other))],
        Says::Unusable => vec!["another release".to_owned()],
        Says::NeedsMacos(needs) => vec![format!("macOS {needs}")],
        Says::NeedsPython(needs) => vec![format!("Python {needs}")],
        Says::Advice(Advice { with, without, prefer, problem }) => {
            let mut lines = vec!["nothing".to_owned()];
            lines.extend(problem.map(|problem| format!("warns of {}", problem.title())));
            lines.extend(with.as_ref().map(|with| format!("counts only beside {}", plain(with))));
            lines.extend(without.as_ref().map(|without| format!("counts only without {}", plain(without))));
            lines.extend(prefer.as_ref().map(|prefer| format!("better is {}", plain(prefer))));
            lines
        }
    }
}

/// Writes when the solver obeys.
fn binds(rule: &Rule) -> Vec<String> {
    let when = match rule.force() {
        Force::Always => "always, on Macs",
        Force::GpuRequired => "on Macs when `gpu = \"required\"`",
        Force::Never => return vec!["never; it is told where it applies".to_owned()],
    };
    let narrow = match (rule.macos.is_any(), rule.chips.is_empty()) {
        (true, true) => None,
        (false, true) => Some("if it counts at the declared macOS"),
        (true, false) => Some("if it counts on every chip from the declared one up"),
        (false, false) => Some("if it counts at the declared macOS and on every chip from the declared one up"),
    };
    std::iter::once(when).chain(narrow).map(ToOwned::to_owned).collect()
}

/// Says what a scope is about, as a sentence without its end.
pub(super) fn stake(scope: Scope) -> &'static str {
    match scope {
        Scope::Install => "Installing the set",
        Scope::Import => "Importing the library",
        Scope::Gpu => "Computing on the GPU",
        Scope::GpuBf16 => "Computing in bfloat16 on the GPU",
        Scope::Convert => "Converting a model to Core ML",
        Scope::Quantize => "Quantizing a model",
        Scope::Predict => "Predicting with a converted model",
        Scope::Io => "Reading and writing media",
        Scope::Runtime => "Some use at run time",
    }
}

fn meaning(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Measured => "read out of published wheels; nothing was run on a Mac",
        Confidence::Documented => "said by those who make it",
        Confidence::Reported => "told by users",
    }
}

fn lowercase(text: &str) -> String {
    text.chars().take(1).flat_map(char::to_lowercase).chain(text.chars().skip(1)).collect()
}

fn versions(specifiers: &Specifiers) -> String {
    if specifiers.is_any() { "*".to_owned() } else { specifiers.to_string() }
}

fn plain(release: &Release) -> String {
    match release.versions.is_any() {
        true => release.name.to_string(),
        false => format!("{} {}", release.name, release.versions),
    }
}

/// Joins names for a sentence: a, b and c.
fn both(names: &[impl ToString]) -> String {
    let names: Vec<_> = names.iter().map(ToString::to_string).collect();
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use macml::knowledge::rule::Problem;

    use super::*;

    fn release(text: &str) -> Release {
        let (name, versions) = text.split_once(' ').unwrap_or((text, "*"));
        Release { name: name.parse().unwrap(), versions: versions.parse().unwrap() }
    }

    fn rule(says: Says, scope: Scope) -> Rule {
        Rule {
            id: "torch-rule".to_owned(),
            package: "torch".parse().unwrap(),
            versions: ">=2.15".parse().unwrap(),
            says,
            scope,
            macos: Specifiers::any(),
            chips: Vec::new(),
            python: Specifiers::any(),
            reason: "It does.".to_owned(),
            evidence: vec![
                Evidence::Wheel("torch-2.15.0-cp311-cp311-macosx_14_0_arm64.whl".to_owned()),
                Evidence::Address("https://example.com/1".to_owned()),
                Evidence::Files("torch".parse().unwrap()),
            ],
            confidence: Confidence::Measured,
        }
    }

    fn advice(with: Option<&str>, without: Option<&str>, prefer: Option<&str>, problem: Option<Problem>) -> Says {
        let [with, without, prefer] = [with, without, prefer].map(|text| text.map(release));
        Says::Advice(Advice { with, without, prefer, problem })
    }

    #[test]
    fn what_a_rule_says_fits_on_a_line() {
        let check = |rule: &Rule, expected: &str| assert_eq!(in_short(rule), expected);
        let import = |says| rule(says, Scope::Import);
        check(&import(Says::Requires(vec![release("a"), release("b <2")])), "needs a or b <2");
        check(&import(Says::Conflicts(release("numpy >=2"))), "never beside numpy >=2");
        check(&import(Says::Unusable), "of no use on a Mac");
        check(&rule(Says::Unusable, Scope::Gpu), "cannot use the GPU");
        check(&import(advice(None, None, None, None)), "It does");
        check(&import(advice(None, None, Some("torch <2"), None)), "prefer torch <2");
        check(&import(advice(Some("a >1"), Some("b"), None, None)), "It does (beside a >1; without b)");
        check(&import(advice(None, None, None, Some(Problem::Slow))), "slowness: It does");
        check(&import(advice(None, None, Some("a"), Some(Problem::Crash))), "a crash: prefer a");
        let narrow = Rule {
            macos: ">=26.0,<27.0".parse().unwrap(),
            chips: vec![1, 2],
            python: ">=3.13".parse().unwrap(),
            ..import(Says::NeedsMacos(">=26.2".parse().unwrap()))
        };
        check(&narrow, "needs macOS >=26.2 (on macOS >=26.0, <27.0; on m1 and m2; on Python >=3.13)");
    }

    #[test]
    fn a_rule_is_shown_whole() {
        let gpu = Rule { chips: vec![5], ..rule(Says::Requires(vec![release("a"), release("b <2")]), Scope::Gpu) };
        let shown = anstream::adapter::strip_str(&whole(&gpu)).to_string();
        let expected = "\
torch-rule
  `torch` >=2.15 needs `a` or `b` <2 for the GPU
  package     torch >=2.15
  kind        requires
  scope       gpu: computing on the GPU
  demands     a
              or b <2
  counts on   m5
  binds       on Macs when `gpu = \"required\"`
              if it counts on every chip from the declared one up
  reason      It does.
  confidence  measured: read out of published wheels; nothing was run on a Mac
  evidence    torch-2.15.0-cp311-cp311-macosx_14_0_arm64.whl
              https://example.com/1
              files of torch
  switch off  ignore-rules = [\"torch-rule\"] under `[resolution]` in macml.toml
              then `macml lock` chooses as if it were not known; macml.lock says that it was ignored
";
        assert_eq!(shown, expected);
        let told = whole(&rule(advice(Some("a"), None, Some("b"), Some(Problem::WrongNumbers)), Scope::Import));
        let expected = "\
  demands     nothing
              warns of wrong results
              counts only beside a
              better is b
  counts on   every macOS, chip and Python
  binds       never; it is told where it applies
";
        assert!(told.contains(expected), "{told}");
        assert!(told.contains("then nobody is told of it; macml.lock says that it was ignored\n"), "{told}");
    }

    #[test]
    fn a_rule_binds_where_it_counts() {
        let check = |rule: &Rule, expected: &[&str]| assert_eq!(binds(rule), expected);
        let unusable = |scope| rule(Says::Unusable, scope);
        check(&unusable(Scope::Install), &["always, on Macs"]);
        check(&unusable(Scope::Convert), &["never; it is told where it applies"]);
        let macos = || ">=26.0".parse().unwrap();
        let floor = "if it counts at the declared macOS";
        check(&Rule { macos: macos(), ..unusable(Scope::Import) }, &["always, on Macs", floor]);
        let both = format!("{floor} and on every chip from the declared one up");
        check(&Rule { macos: macos(), chips: vec![1], ..unusable(Scope::Import) }, &["always, on Macs", &both]);
    }
}
