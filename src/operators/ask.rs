//! What a table says of operators that somebody asks about, of all that lack a kernel, and of two releases beside each other.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::kernels;
use super::kernels::First;
use super::name::{Name, readings};
use super::table::{Backend, Kernel, State, Table};

/// From this likeness on, of 1, a name is taken for what was meant.
const LIKE_ENOUGH: f64 = 0.75;

/// How long a name may be that others are held against: those of operators have 60 letters at most.
const LONGEST_LIKE: usize = 100;

/// How many names are suggested for one that is unknown.
const MOST_NEAR: usize = 3;

/// An operator in one release.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// Its name.
    pub name: Name,
    /// What runs for tensors on the GPU, in a word.
    pub state: State,
    /// And in full.
    pub kernel: Kernel,
    /// The same for sparse tensors there, where the operator knows such anywhere.
    pub sparse: Option<State>,
    /// The same for those that are sparse by rows, columns or blocks.
    pub sparse_csr: Option<State>,
    /// `nn`, `linalg`, `fft`, `special`, `sparse`, or nothing.
    pub module: Option<String>,
    /// From which release on it runs on the GPU; absent where none has it yet.
    pub first: Option<First>,
}

/// What a name was found to mean.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asked {
    /// As it was written.
    pub text: String,
    /// The operators that are meant; empty where none is known.
    pub rows: Vec<Row>,
    /// Where all of those call others: the operators of nearly their name that do the work.
    pub leads_to: Vec<Row>,
    /// The backward halves of the same name.
    pub backward: Vec<Row>,
    /// What was probably meant by a name that is unknown, best first.
    pub near: Vec<String>,
}

/// How a name without an overload is meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overloads {
    /// As torch prints it: the overload without a name, where there is one.
    Exact,
    /// As people say it: all of them.
    All,
}

/// How many operators are in which state.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// With a kernel of the GPU.
    pub gpu: usize,
    /// Made of others.
    pub composite: usize,
    /// Without a kernel, where the processor has one.
    pub none: usize,
    /// Without a kernel on the processor too.
    pub elsewhere: usize,
}

/// What became of an operator between two releases.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// Its name.
    pub name: Name,
    /// What it was; absent where it is new.
    pub before: Option<State>,
    /// What it is; absent where it is gone.
    pub after: Option<State>,
}

/// What changed from one release to another, each list by name.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Comparison {
    /// What has a kernel of the GPU now, or runs on it through others where nothing did.
    pub gained: Vec<Change>,
    /// The other way round.
    pub lost: Vec<Change>,
    /// What the earlier release does not have.
    pub new: Vec<Change>,
    /// What the later release does not have.
    pub gone: Vec<Change>,
}

/// Says all about an operator of a table.
pub fn row(table: &Table, name: &Name) -> Row {
    Row {
        name: name.clone(),
        state: table.state(name, Backend::Mps),
        kernel: table.kernel(name, Backend::Mps),
        sparse: table.sparse(name, Backend::SparseMps),
        sparse_csr: table.sparse(name, Backend::SparseCsrMps),
        module: table.get(name).and_then(|operator| operator.python_module.clone()),
        first: kernels::known().first(name),
    }
}

/// Returns whether a table has what a name means, without looking for others like it.
pub fn knows(table: &Table, text: &str, overloads: Overloads) -> bool {
    !meant(table, text, overloads).is_empty()
}

/// Finds the operators that a name means.
fn meant(table: &Table, text: &str, overloads: Overloads) -> BTreeSet<Name> {
    let meant = |name: &Name| match (table.get(name), overloads) {
        (Some(_), Overloads::Exact) => vec![name.clone()],
        (Some(_), Overloads::All) if !name.overload().is_empty() => vec![name.clone()],
        _ if name.overload().is_empty() => table.overloads(name.base()).into_iter().cloned().collect(),
        _ => Vec::new(),
    };
    let mut found = readings(text).into_iter().map(|names| names.iter().flat_map(meant).collect::<BTreeSet<_>>());
    found.find(|names| !names.is_empty()).unwrap_or_default()
}

/// Says what a name means: an operator, an overload, or a function of torch.
pub fn ask(table: &Table, text: &str, overloads: Overloads) -> Asked {
    let names = meant(table, text, overloads);
    let rows: Vec<Row> = names.iter().map(|name| row(table, name)).collect();
    let roots: BTreeSet<&str> = names.iter().map(Name::root).collect();
    let of_root = |ends: &[(&str, &str)]| {
        let bases = roots.iter().flat_map(|root| ends.iter().map(move |(front, end)| format!("{front}{root}{end}")));
        let overloads = bases.flat_map(|base| table.overloads(&base).into_iter().cloned().collect::<Vec<_>>());
        let others = overloads.filter(|name| !names.contains(name)).collect::<BTreeSet<_>>();
        // What the processor does not have either is not what does the work.
        let here = others.iter().filter(|name| table.state(name, Backend::Cpu) != State::None);
        here.map(|name| row(table, name)).collect::<Vec<_>>()
    };
    const INNER: &[(&str, &str)] = &[
        ("_", ""),
        ("", "_ex"),
        ("_", "_ex"),
        ("", "_forward"),
        ("_", "_forward"),
        ("_", "_helper"),
        ("_", "_kernel"),
        ("_", "_impl"),
    ];
    let composite = !rows.is_empty() && rows.iter().all(|row| row.state == State::Composite);
    Asked {
        text: text.to_owned(),
        leads_to: if composite { of_root(INNER) } else { Vec::new() },
        backward: of_root(&[("", "_backward"), ("_", "_backward")]),
        near: if rows.is_empty() { near(table, text) } else { Vec::new() },
        rows,
    }
}

impl Asked {
    /// Returns what it comes to: the worst of the operators that are meant, and of those that do their work; `None` for a
    /// name that is unknown.
    ///
    /// An operator has a kernel when one of its overloads has, since others are there for results of another type or place.
    /// Where none has, one without makes the operator one: those that call others mostly call it.
    pub fn state(&self) -> Option<State> {
        let states = |rows| by_base(rows).into_values().map(|rows| together(&rows));
        states(&self.rows).chain(states(&self.leads_to).filter(|state| *state == State::None)).max()
    }

    /// Lists the overloads without a kernel of operators that have one.
    pub fn exceptions(&self) -> Vec<&Row> {
        let has = self.state() == Some(State::Gpu);
        self.rows.iter().filter(|row| has && row.state == State::None).collect()
    }

    /// Returns the release from which on what it comes to is so, or will be: of operators with a kernel the one that brought
    /// it, of those without the one that has it.
    pub fn first(&self) -> Option<First> {
        let state = self.state()?;
        let all = self.rows.iter().chain(&self.leads_to).filter(|row| row.state == state);
        last(&all.collect::<Vec<_>>())
    }
}

/// Returns the release that has the last of these.
pub fn last(rows: &[&Row]) -> Option<First> {
    let all: Option<Vec<First>> = rows.iter().map(|row| row.first.clone()).collect();
    all?.into_iter().max_by(|a, b| a.version.cmp(&b.version))
}

/// Puts the overloads of each operator together.
pub fn by_base(rows: &[Row]) -> BTreeMap<&str, Vec<&Row>> {
    let mut by_base: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    rows.iter().for_each(|row| by_base.entry(row.name.base()).or_default().push(row));
    by_base
}

/// Returns what overloads of one operator come to.
pub fn together(rows: &[&Row]) -> State {
    let has = |state| rows.iter().any(|row| row.state == state);
    match (has(State::Gpu), has(State::None)) {
        (true, _) => State::Gpu,
        (false, true) => State::None,
        (false, false) => State::Composite,
    }
}

/// Lists the names most like one that is unknown.
fn near(table: &Table, text: &str) -> Vec<String> {
    // That a name may have a `_` before it is a guess, and no reason to suggest all that have one.
    let guess = |base: &String| base.starts_with('_') && !text.contains(base.as_str());
    let wanted = readings(text).into_iter().flatten().map(|name| name.base().to_owned());
    let wanted = wanted.filter(|base| base.len() <= LONGEST_LIKE && !guess(base)).collect::<Vec<_>>();
    let bases: BTreeSet<&str> = table.operators().map(|(name, _)| name.base()).collect();
    let likeness = |base: &str| wanted.iter().map(|one| strsim::jaro_winkler(one, base)).fold(0.0, f64::max);
    let mut all: Vec<(f64, &str)> = bases.into_iter().map(|base| (likeness(base), base)).collect();
    all.retain(|(likeness, _)| *likeness >= LIKE_ENOUGH);
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    all.into_iter().take(MOST_NEAR).map(|(_, base)| base.to_owned()).collect()
}

/// Counts the operators that a release spells out and makes of others.
pub fn counts(table: &Table) -> Counts {
    let mut counts = Counts::default();
    for (name, _) in table.operators() {
        match table.state(name, Backend::Mps) {
            State::Gpu => counts.gpu += 1,
            State::Composite => counts.composite += 1,
            State::None if table.is_missed(name) => counts.none += 1,
            State::None => counts.elsewhere += 1,
        }
    }
    counts
}

/// Lists the operators that the processor has and the GPU lacks.
pub fn missing(table: &Table) -> Vec<Row> {
    table.operators().filter(|(name, _)| table.is_missed(name)).map(|(name, _)| row(table, name)).collect()
}

/// Lists the operators that people call and that call others, where one of nearly their name that does the work lacks a kernel
/// of the GPU: what nobody finds who looks for what has none.
pub fn missing_inside(table: &Table) -> Vec<Asked> {
    let called = table.operators().map(|(name, _)| name).filter(|name| !name.is_internal());
    let bases: BTreeSet<&str> = called.map(Name::root).collect();
    let asked = bases.into_iter().map(|base| ask(table, base, Overloads::All));
    asked.filter(|asked| !asked.leads_to.is_empty() && asked.state() == Some(State::None)).collect()
}

/// Compares two releases.
pub fn compare(before: &Table, after: &Table) -> Comparison {
    let states = |table: &Table| -> BTreeMap<Name, State> {
        table.operators().map(|(name, _)| (name.clone(), table.state(name, Backend::Mps))).collect()
    };
    let (old, new) = (states(before), states(after));
    let names: BTreeSet<&Name> = old.keys().chain(new.keys()).collect();
    let mut comparison = Comparison::default();
    for name in names {
        let change = Change { name: name.clone(), before: old.get(name).copied(), after: new.get(name).copied() };
        match (change.before, change.after) {
            (Some(before), Some(after)) if after < before => comparison.gained.push(change),
            (Some(before), Some(after)) if after > before => comparison.lost.push(change),
            (None, _) => comparison.new.push(change),
            (_, None) => comparison.gone.push(change),
            (Some(_), Some(_)) => {}
        }
    }
    comparison
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(functions: &[(&str, &str)]) -> Table {
        let text = functions.iter().map(|(name, kernels)| {
            let dispatch = if kernels.is_empty() { String::new() } else { format!("  dispatch:\n    {kernels}: f\n") };
            format!("- func: {name}(Tensor self) -> Tensor\n{dispatch}")
        });
        Table::parse(&text.collect::<String>()).unwrap()
    }

    fn made() -> Table {
        table(&[
            ("linalg_svd", ""),
            ("linalg_svd.U", ""),
            ("_linalg_svd", "CPU, CUDA"),
            ("relu", "CPU, CUDA, MPS"),
            ("relu_", "CPU, CUDA, MPS"),
            ("relu_backward", "CPU"),
            ("mixed", "CPU, MPS"),
            ("mixed.out", "CPU"),
            ("calls", ""),
            ("calls.out", "CPU"),
            ("softmax.int", ""),
            ("_softmax", "CPU, MPS"),
            ("cudnn_relu", "CUDA"),
            ("_sparse_mm", ""),
            ("im2col", "CPU, SparseCPU, MPS"),
        ])
    }

    #[test]
    fn what_is_asked_is_answered_by_the_worst_of_it() {
        let table = made();
        let check = |text: &str, overloads, names: &[&str], leads_to: &[&str], state: Option<State>| {
            let asked = ask(&table, text, overloads);
            let shown = |rows: &[Row]| rows.iter().map(|row| row.name.to_string()).collect::<Vec<_>>();
            assert_eq!((shown(&asked.rows), shown(&asked.leads_to)), (owned(names), owned(leads_to)), "{text}");
            assert_eq!(asked.state(), state, "{text}");
        };
        use Overloads::{All, Exact};
        check("torch.linalg.svd", All, &["linalg_svd", "linalg_svd.U"], &["_linalg_svd"], Some(State::None));
        check("relu", All, &["relu"], &[], Some(State::Gpu));
        check("mixed", All, &["mixed", "mixed.out"], &[], Some(State::Gpu));
        check("mixed.out", All, &["mixed.out"], &[], Some(State::None));
        check("calls", All, &["calls", "calls.out"], &[], Some(State::None));
        check("aten::mixed", Exact, &["mixed"], &[], Some(State::Gpu));
        check("aten::softmax", Exact, &["softmax.int"], &["_softmax"], Some(State::Composite));
        check("torch.sparse.mm", All, &["_sparse_mm"], &[], Some(State::Composite));
        check("torch.nn.functional.unfold", All, &["im2col"], &[], Some(State::Gpu));
        check("mixed.other", All, &[], &[], None);
        check("no name", All, &[], &[], None);
        assert!(knows(&table, "torch.linalg.svd", All) && !knows(&table, "torch.linalg.svdd", All));
        assert_eq!(ask(&table, &"x".repeat(1_000_000), All).near, [""; 0]);
        assert_eq!(ask(&table, "torch.linalg.svdd", All).near.first().map(String::as_str), Some("linalg_svd"));
        let exceptions = ask(&table, "mixed", All);
        let exceptions = exceptions.exceptions().iter().map(|row| row.name.to_string()).collect::<Vec<_>>();
        assert_eq!(exceptions, ["mixed.out"]);
        assert_eq!(ask(&table, "relu", All).backward[0].name.to_string(), "relu_backward");
        assert_eq!(ask(&table, "im2col", All).rows[0].sparse, Some(State::None));
    }

    fn owned(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn what_is_missed_is_what_the_processor_has() {
        let table = made();
        assert_eq!(counts(&table), Counts { gpu: 5, composite: 5, none: 4, elsewhere: 1 });
        let names: Vec<String> = missing(&table).iter().map(|row| row.name.to_string()).collect();
        assert_eq!(names, ["_linalg_svd", "calls.out", "mixed.out", "relu_backward"]);
        let inside: Vec<String> = missing_inside(&table).into_iter().map(|asked| asked.text).collect();
        assert_eq!(inside, ["linalg_svd"]);
    }

    #[test]
    fn what_changed() {
        let before = table(&[("a", "CPU"), ("b", "CPU, MPS"), ("c", "CPU"), ("d", ""), ("e", "MPS"), ("f", "CPU")]);
        let after = table(&[("a", "MPS"), ("b", "CPU"), ("c", ""), ("d", "MPS"), ("f", "CPU"), ("g", "CPU")]);
        let Comparison { gained, lost, new, gone } = compare(&before, &after);
        let shown = |changes: Vec<Change>| changes.iter().map(|change| change.name.to_string()).collect::<String>();
        assert_eq!([gained, lost, new, gone].map(shown), ["acd", "b", "g", "e"]);
    }
}
