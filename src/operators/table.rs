//! `Table`: the operators of one torch release, read from its native_functions.yaml.
//!
//! The rules are those of torchgen, which makes torch's dispatcher from the same file:
//!
//! * A `dispatch` key names one backend or several with commas, and the kernel for them.
//! * `structured_delegate: X.out` leaves the work to `X.out`: what has no kernel of its own takes that one's.
//! * `CompositeImplicitAutograd`, `CompositeExplicitAutograd` and `CompositeExplicitAutogradNonFunctional` are kernels for
//!   every backend that call other operators. Without `dispatch`, `structured` and `structured_delegate` the first is
//!   meant. The dispatcher prefers a backend's own kernel. The last one leaves out sparse backends.
//! * `autogen` names variants that torchgen writes itself, each one call of the operator and a copy; not of operators with
//!   a `CompositeImplicitAutograd` kernel, unless they are tagged `core`.
//! * `ufunc_inner_loop` stands for a kernel on the CPU and on CUDA.
//!
//! The reader takes the part of YAML that these files use and refuses everything else with its line, so that an operator
//! is never overlooked: a YAML crate would be larger than this file, and the long-lived one is no longer maintained.

use std::collections::BTreeMap;

use super::name::Name;

/// The operators of a torch release, by name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    operators: BTreeMap<Name, Operator>,
    functions: usize,
}

/// An operator, with what the file says of it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Operator {
    /// `nn`, `linalg`, `fft`, `special`, `sparse`, or nothing.
    pub python_module: Option<String>,
    /// Kernels by backend, as the file spells both.
    kernels: BTreeMap<String, String>,
    /// It has a `dispatch`, perhaps an empty one.
    dispatched: bool,
    structured: bool,
    delegate: Option<Name>,
    /// The operator that torchgen writes it from.
    generated_from: Option<Name>,
    core: bool,
    /// It has kernels for the CPU and CUDA by `ufunc_inner_loop`.
    ufunc: bool,
}

/// Where tensors are that an operator is called with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Backend {
    /// On the processor.
    Cpu,
    /// On a Mac's GPU.
    Mps,
    /// On a Mac's GPU, sparse by coordinates.
    SparseMps,
    /// On a Mac's GPU, sparse by rows, columns or blocks of them.
    SparseCsrMps,
}

/// What runs for a backend.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kernel {
    /// One made for it.
    Own {
        /// The function.
        function: String,
        /// The operator whose kernel it is, where it is another one's.
        of: Option<Name>,
    },
    /// One for all backends, which calls other operators and runs as far as those do.
    Composite,
    /// A call of the operator that it was generated from, and a copy.
    Generated {
        /// That operator.
        from: Name,
    },
    /// None.
    Nothing,
}

/// What runs, in one word.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum State {
    /// A kernel of the GPU.
    Gpu,
    /// Other operators.
    Composite,
    /// Nothing: torch refuses, or falls back to the CPU.
    None,
}

impl State {
    /// Returns the word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Gpu => "gpu",
            Self::Composite => "composite",
            Self::None => "none",
        }
    }
}

/// A file that is no table of operators.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line} of the table of operators cannot be read: {reason}")]
pub struct TableError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}

impl Backend {
    fn key(self) -> &'static str {
        match self {
            Self::Cpu => "CPU",
            Self::Mps => "MPS",
            Self::SparseMps => "SparseMPS",
            Self::SparseCsrMps => "SparseCsrMPS",
        }
    }

    /// Returns the keys of kernels that call other operators, as far as this backend has them.
    fn composites(self) -> &'static [&'static str] {
        match self {
            Self::Cpu | Self::Mps => {
                &["CompositeExplicitAutogradNonFunctional", "CompositeExplicitAutograd", "CompositeImplicitAutograd"]
            }
            Self::SparseMps | Self::SparseCsrMps => &["CompositeExplicitAutograd", "CompositeImplicitAutograd"],
        }
    }

    /// Returns the keys of the same kind of tensor on the processor and on CUDA.
    fn elsewhere(self) -> [&'static str; 2] {
        match self {
            Self::Cpu | Self::Mps => ["CPU", "CUDA"],
            Self::SparseMps => ["SparseCPU", "SparseCUDA"],
            Self::SparseCsrMps => ["SparseCsrCPU", "SparseCsrCUDA"],
        }
    }
}

impl Table {
    /// Reads the text of native_functions.yaml.
    ///
    /// # Errors
    /// When a line is not of the form that these files have.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        let mut table = Self { operators: BTreeMap::new(), functions: 0 };
        let mut entry: Option<(usize, Name, Operator, Vec<Name>)> = None;
        let mut block = Block::Skipped;
        for (at, raw) in text.lines().enumerate() {
            let fail = |reason: &str| TableError { line: at + 1, reason: reason.to_owned() };
            let line = uncommented(raw).trim_end();
            if line.trim().is_empty() {
                continue;
            }
            if line.contains('\t') {
                return Err(fail("it has a tab"));
            }
            if let Some(schema) = line.strip_prefix("- func:") {
                if let Some(entry) = entry.take() {
                    table.add(entry)?;
                }
                let (name, operator) = function(schema.trim()).ok_or_else(|| fail("it is no signature"))?;
                entry = Some((at + 1, name, operator, Vec::new()));
                block = Block::Skipped;
                continue;
            }
            let Some((_, name, operator, generated)) = &mut entry else {
                return Err(fail("it belongs to no operator"));
            };
            let indent = line.len() - line.trim_start().len();
            match (indent, &block) {
                // A list may stand as far left as its key.
                (2, Block::Skipped) if line.trim_start().starts_with("- ") => {}
                (2, _) => {
                    let (key, value) =
                        line.trim_start().split_once(':').ok_or_else(|| fail("it is no `key: value`"))?;
                    let value = unquoted(value.trim());
                    block = match (key.trim(), value) {
                        ("dispatch", "" | "{}") => {
                            operator.dispatched = true;
                            if value.is_empty() { Block::Dispatch } else { Block::Skipped }
                        }
                        ("dispatch", _) => return Err(fail("its `dispatch` is no block")),
                        ("structured", value) => {
                            operator.structured = value == "True" || value == "true";
                            Block::Closed
                        }
                        ("structured_delegate", value) => {
                            operator.delegate = Some(value.parse().map_err(|_| fail("it delegates to no operator"))?);
                            Block::Closed
                        }
                        ("python_module", value) => {
                            operator.python_module = Some(value.to_owned());
                            Block::Closed
                        }
                        ("autogen", value) => {
                            for one in value.split(',').map(str::trim) {
                                generated.push(one.parse().map_err(|_| fail("it generates no operator"))?);
                            }
                            Block::Closed
                        }
                        ("tags", value) => {
                            operator.core = value.split(['[', ']', ',', ' ']).any(|tag| tag == "core");
                            if value.is_empty() { Block::Skipped } else { Block::Closed }
                        }
                        ("ufunc_inner_loop", _) => {
                            operator.ufunc = true;
                            Block::Skipped
                        }
                        ("func", _) => return Err(fail(&format!("`{name}` has two signatures"))),
                        (_, "") => Block::Skipped,
                        _ => Block::Closed,
                    };
                }
                (4.., Block::Dispatch) => {
                    let (keys, kernel) = line.trim().split_once(": ").ok_or_else(|| fail("it is no `key: kernel`"))?;
                    for key in keys.split(',').map(str::trim) {
                        if key.is_empty() || !key.chars().all(|c| c.is_ascii_alphanumeric()) {
                            return Err(fail("it is no `key: kernel`"));
                        }
                        operator.kernels.insert(key.to_owned(), kernel.trim().to_owned());
                    }
                }
                (3.., Block::Skipped) => {}
                _ => return Err(fail("it is indented as nothing of an operator is")),
            }
        }
        if let Some(entry) = entry {
            table.add(entry)?;
        }
        if table.functions == 0 {
            return Err(TableError { line: 1, reason: "there is no operator in it".to_owned() });
        }
        table.resolved()
    }

    fn add(&mut self, entry: (usize, Name, Operator, Vec<Name>)) -> Result<(), TableError> {
        let (line, name, operator, generated) = entry;
        for variant in generated {
            let one = Operator {
                python_module: operator.python_module.clone(),
                generated_from: Some(name.clone()),
                ..Operator::default()
            };
            // What the file spells out itself goes before what is generated.
            self.operators.entry(variant).or_insert(one);
        }
        self.functions += 1;
        match self.operators.insert(name.clone(), operator) {
            Some(Operator { generated_from: None, .. }) => {
                Err(TableError { line, reason: format!("`{name}` was there before") })
            }
            _ => Ok(()),
        }
    }

    /// Drops the variants that torchgen does not write after all, and checks that every operator that another one leaves
    /// its work to is there.
    fn resolved(mut self) -> Result<Self, TableError> {
        let implicit = |operator: &Operator| {
            let silent = !operator.dispatched && !operator.structured && operator.delegate.is_none();
            let explicit = operator.kernels.contains_key("CompositeImplicitAutograd");
            (silent && operator.generated_from.is_none() || explicit) && !operator.core
        };
        let unwritten = |operator: &Operator| {
            let from = operator.generated_from.as_ref();
            from.and_then(|from| self.operators.get(from)).is_some_and(implicit)
        };
        let names = self.operators.iter().filter(|(_, operator)| unwritten(operator)).map(|(name, _)| name.clone());
        for name in names.collect::<Vec<_>>() {
            self.operators.remove(&name);
        }
        let missing = |operator: &Operator| operator.delegate.clone().filter(|name| !self.operators.contains_key(name));
        match self.operators.iter().find_map(|(name, operator)| Some((name, missing(operator)?))) {
            Some((name, delegate)) => Err(TableError {
                line: 1,
                reason: format!("`{name}` leaves its work to `{delegate}`, which is not there"),
            }),
            None => Ok(self),
        }
    }

    /// Returns how many operators the file spells out; the others are generated from those.
    pub fn functions(&self) -> usize {
        self.functions
    }

    /// Returns how many operators are generated.
    pub fn variants(&self) -> usize {
        self.operators.len() - self.functions
    }

    /// Returns every operator, by name.
    pub fn operators(&self) -> impl Iterator<Item = (&Name, &Operator)> {
        self.operators.iter()
    }

    /// Returns an operator.
    pub fn get(&self, name: &Name) -> Option<&Operator> {
        self.operators.get(name)
    }

    /// Returns the overloads of a name, the one without a name first.
    pub fn overloads(&self, base: &str) -> Vec<&Name> {
        let Ok(first) = base.parse::<Name>() else { return Vec::new() };
        let from_first = self.operators.range(first..).map(|(name, _)| name);
        from_first.take_while(|name| name.base() == base).collect()
    }

    /// Returns what runs when an operator of the table is called with tensors of a backend.
    pub fn kernel(&self, name: &Name, backend: Backend) -> Kernel {
        let Some(operator) = self.operators.get(name) else { return Kernel::Nothing };
        if let Some(function) = operator.own(backend) {
            return Kernel::Own { function: function.to_owned(), of: None };
        }
        let delegate = operator.delegate.as_ref().and_then(|of| Some((of, self.operators.get(of)?)));
        if let Some((of, function)) = delegate.and_then(|(of, one)| Some((of, one.own(backend)?))) {
            return Kernel::Own { function: function.to_owned(), of: Some(of.clone()) };
        }
        if backend.composites().iter().any(|key| operator.kernels.contains_key(*key)) {
            return Kernel::Composite;
        }
        if let Some(from) = &operator.generated_from {
            return Kernel::Generated { from: from.clone() };
        }
        match operator.dispatched || operator.structured || operator.delegate.is_some() {
            true => Kernel::Nothing,
            false => Kernel::Composite,
        }
    }

    /// Returns that in one word. A generated variant runs as far as the operator that it calls.
    pub fn state(&self, name: &Name, backend: Backend) -> State {
        match self.kernel(name, backend) {
            Kernel::Own { .. } => State::Gpu,
            Kernel::Composite => State::Composite,
            Kernel::Generated { from } => match self.kernel(&from, backend) {
                Kernel::Nothing => State::None,
                Kernel::Own { .. } | Kernel::Composite | Kernel::Generated { .. } => State::Composite,
            },
            Kernel::Nothing => State::None,
        }
    }

    /// Returns the state for a kind of sparse tensors, where the operator has kernels for that kind anywhere.
    pub fn sparse(&self, name: &Name, backend: Backend) -> Option<State> {
        let operator = self.operators.get(name)?;
        let delegate = operator.delegate.as_ref().and_then(|of| self.operators.get(of));
        let has = |one: &Operator| {
            let keys = backend.elsewhere().into_iter().chain([backend.key()]);
            keys.into_iter().any(|key| one.kernels.contains_key(key))
        };
        (has(operator) || delegate.is_some_and(has)).then(|| self.state(name, backend))
    }

    /// Returns whether the operator runs on the processor, so that without a kernel for the GPU something is missing: some
    /// are for one library of another maker alone.
    pub fn is_missed(&self, name: &Name) -> bool {
        self.state(name, Backend::Mps) == State::None && self.state(name, Backend::Cpu) != State::None
    }
}

impl Operator {
    /// Returns its own kernel for a backend.
    fn own(&self, backend: Backend) -> Option<&str> {
        let ufunc = (self.ufunc && backend == Backend::Cpu).then_some("ufunc_inner_loop");
        self.kernels.get(backend.key()).map(String::as_str).or(ufunc)
    }
}

/// What the lines below a key of an operator are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    Dispatch,
    /// Of no interest here.
    Skipped,
    /// The key had its value in its own line.
    Closed,
}

/// Cuts a comment off.
fn uncommented(line: &str) -> &str {
    let mut before = ' ';
    let mut quote = None;
    for (at, c) in line.char_indices() {
        match quote {
            Some(end) if c == end => quote = None,
            Some(_) => {}
            None if c == '#' && before == ' ' => return &line[..at],
            // An apostrophe inside a word is none.
            None if matches!(c, '"' | '\'') && !before.is_alphanumeric() => quote = Some(c),
            None => {}
        }
        before = c;
    }
    line
}

fn unquoted(value: &str) -> &str {
    let strip = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    strip('"').or_else(|| strip('\'')).unwrap_or(value)
}

/// Reads `name.overload(arguments) -> results`.
fn function(schema: &str) -> Option<(Name, Operator)> {
    let schema = unquoted(schema);
    let (name, rest) = schema.split_at(schema.find('(')?);
    if !rest.contains(" -> ") {
        return None;
    }
    Some((name.trim().parse().ok()?, Operator::default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MADE: &str = r##"
# See README.md in this directory for more guidance

- func: plain(Tensor self) -> Tensor
  variants: function, method
  autogen: plain.out

- func: add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
  device_check: NoCheck   # TensorIterator
  structured: True
  structured_inherits: TensorIteratorBase
  ufunc_inner_loop:
    Generic: add (AllAndComplex, BFloat16, Half, ComplexHalf)
    ScalarOnly: add (Bool)
  dispatch:
    SparseCPU, SparseMeta: add_out_sparse_cpu
    MPS: add_out_mps   # by hand
  tags: pointwise

- func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  structured_delegate: add.out
  variants: function, method
  dispatch:
    SparseCPU, SparseCUDA: add_sparse
    NestedTensorCPU, NestedTensorCUDA: NestedTensor_add_Tensor
  tags: [core, pointwise]

- func: linalg_qr.out(Tensor A, str mode='reduced', *, Tensor(a!) Q, Tensor(b!) R) -> (Tensor(a!) Q, Tensor(b!) R)
  python_module: linalg
  structured: True
  dispatch:
    # both of them
    CPU, CUDA: linalg_qr_out

- func: linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)
  python_module: linalg
  structured_delegate: linalg_qr.out

- func: explicit(Tensor self, str? mode="#") -> Tensor
  dispatch:
    CompositeExplicitAutograd: explicit
    MkldnnCPU: mkldnn_explicit
  autogen: explicit.out

- func: narrow_functional(Tensor self) -> Tensor
  dispatch:
    CompositeExplicitAutogradNonFunctional: narrow_functional
    SparseCPU: narrow_sparse

- func: helper(Tensor self) -> Tensor
  dispatch:
    CPU: helper_cpu
  autogen: helper.out, helper.other_out

- func: nothing(Tensor self) -> Tensor
  dispatch: {}

- func: cudnn_thing(Tensor self) -> Tensor
  cpp_no_default_args: ['a', "b"]
  dispatch:
    CUDA: cudnn_thing
  precomputed:
  - dim -> int dim
"##;

    fn table() -> Table {
        Table::parse(MADE).unwrap_or_else(|error| panic!("{error}"))
    }

    fn name(text: &str) -> Name {
        text.parse().unwrap()
    }

    #[test]
    fn each_way_to_say_what_runs() {
        let table = table();
        let check = |operator: &str, cpu: State, mps: State, sparse: Option<State>, csr: Option<State>| {
            let name = name(operator);
            let states = (table.state(&name, Backend::Cpu), table.state(&name, Backend::Mps));
            assert_eq!(states, (cpu, mps), "{operator}");
            assert_eq!(table.sparse(&name, Backend::SparseMps), sparse, "{operator}");
            assert_eq!(table.sparse(&name, Backend::SparseCsrMps), csr, "{operator}");
        };
        use State::{Composite, Gpu, None as Nothing};
        check("plain", Composite, Composite, None, None);
        check("add.out", Gpu, Gpu, Some(Nothing), None);
        check("add.Tensor", Gpu, Gpu, Some(Nothing), None);
        check("linalg_qr.out", Gpu, Nothing, None, None);
        check("linalg_qr", Gpu, Nothing, None, None);
        check("explicit", Composite, Composite, None, None);
        check("explicit.out", Composite, Composite, None, None);
        check("narrow_functional", Composite, Composite, Some(Nothing), None);
        check("helper", Gpu, Nothing, None, None);
        check("helper.other_out", Composite, Nothing, None, None);
        check("nothing", Nothing, Nothing, None, None);
        check("cudnn_thing", Nothing, Nothing, None, None);
        assert!(table.get(&name("plain.out")).is_none());
        assert_eq!(table.functions(), MADE.matches("- func:").count());
        let missed: Vec<String> =
            table.operators().filter(|(name, _)| table.is_missed(name)).map(|(name, _)| name.to_string()).collect();
        assert_eq!(missed, ["helper", "helper.other_out", "helper.out", "linalg_qr", "linalg_qr.out"]);
        let own = Kernel::Own { function: "add_out_mps".to_owned(), of: Some(name("add.out")) };
        assert_eq!(table.kernel(&name("add.Tensor"), Backend::Mps), own);
        assert_eq!(table.kernel(&name("helper.out"), Backend::Mps), Kernel::Generated { from: name("helper") });
        assert_eq!(table.get(&name("linalg_qr")).unwrap().python_module.as_deref(), Some("linalg"));
        let overloads: Vec<String> = table.overloads("linalg_qr").iter().map(ToString::to_string).collect();
        assert_eq!(overloads, ["linalg_qr", "linalg_qr.out"]);
    }

    #[test]
    fn what_is_no_table_is_refused_with_its_line() {
        let check = |text: &str, line: usize, reason: &str| {
            let error = Table::parse(text).unwrap_err();
            assert_eq!((error.line, error.reason.as_str()), (line, reason), "{text}");
        };
        check("", 1, "there is no operator in it");
        check("<html>\n", 1, "it belongs to no operator");
        check("- func: a\n", 1, "it is no signature");
        check("- func: a(T x) -> T\n  dispatch: CPU\n", 2, "its `dispatch` is no block");
        check("- func: a(T x) -> T\n  dispatch:\n    CPU\n", 3, "it is no `key: kernel`");
        check("- func: a(T x) -> T\n  tags: core\n    more\n", 3, "it is indented as nothing of an operator is");
        check("- func: a(T x) -> T\n- what: b(T x) -> T\n", 2, "it is indented as nothing of an operator is");
        check("- func: a(T x) -> T\n- func: a(T x) -> T\n", 2, "`a` was there before");
        check("- func: a(T x) -> T\n\tx: y\n", 2, "it has a tab");
        check("- func: a(T x) -> T\n  structured_delegate: b\n", 1, "`a` leaves its work to `b`, which is not there");
    }
}
