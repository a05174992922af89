//! What the hook of an interactive shell does at a prompt: which variables change because the user came into a project,
//! left one, or something in it changed. Nothing is run, nothing is parsed but the note and the stamp of an environment.
//!
//! What was set, and what was there before, lies in one variable of the shell itself, which shells that it starts
//! inherit. An environment that the user activated by hand stays active until it is left by hand.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::activation::{Activation, Change};
use super::place::Place;
use super::shell;
use super::trust::{Built, Known};
use crate::pep::Sha256;
use crate::sys::{Env, Identity, fs};

/// The variable in which the hook notes what it did.
pub const HOOK_VARIABLE: &str = "_MACML_HOOK";

/// Where a prompt is.
#[derive(Clone, Copy, Debug)]
pub struct Prompt<'a> {
    /// The folder of the project that the working folder lies in.
    pub project: Option<&'a Path>,
    /// The environment to be in.
    pub env: &'a str,
    /// This user's folder for macml's notes.
    pub state: &'a Path,
    /// This user's folder for macml's own files.
    pub data: Option<&'a Path>,
    /// This user's folder, below which other programs keep folders in step.
    pub home: Option<&'a Path>,
    /// Whether it is the first prompt of a shell, whose start may have set PATH anew.
    pub first: bool,
}

impl Prompt<'_> {
    /// Finds where the environment lies, as those who build it do.
    fn place(&self) -> Option<Place> {
        Place::within(self.project?, self.env, self.home, self.data).ok()
    }
}

/// What is to be done.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Followed {
    /// The variables that change.
    pub changes: BTreeMap<String, Change>,
    /// What the user is told, now and not at each prompt.
    pub told: Vec<Told>,
    /// What it depends on: when one of these changes, it is to be asked again.
    pub watch: Vec<PathBuf>,
}

/// What the user is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Told {
    /// This user's macml built no environment of this name here.
    NotBuilt(PathBuf),
    /// What is there is not what was built: the link, and a word on what differs.
    Changed(PathBuf, &'static str),
    /// What is there cannot be looked at: what the system said.
    Unreadable(String),
    /// These files are not those that the environment was built from.
    Stale(Vec<&'static str>),
    /// These variables of `[run.env]` are the shell's own, and stay as they are.
    ShellsOwn(Vec<String>),
    /// PATH takes no folder with a colon in its name.
    Colon(PathBuf),
    /// These variables are no UTF-8 text: nothing was changed.
    NoText(Vec<String>),
}

/// What the hook did in this shell, or in one that started it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Entered {
    version: u32,
    project: PathBuf,
    env: String,
    /// What was put into PATH.
    bin: Option<String>,
    /// The variables that were set or unset, but PATH.
    set: BTreeMap<String, Was>,
    /// What was looked at when something was last told.
    seen: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Was {
    now: Option<String>,
    before: Option<String>,
}

/// The variables of the shell, as they are and as they will be.
struct Variables<'a> {
    env: &'a Env,
    next: BTreeMap<String, Option<String>>,
}

impl Variables<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        match self.next.get(name) {
            Some(value) => value.as_deref(),
            None => self.env.even_empty(name),
        }
    }

    fn set(&mut self, name: &str, value: Option<String>) {
        self.next.insert(name.to_owned(), value);
    }

    /// Takes an entry out of PATH, wherever it stands.
    fn take_out(&mut self, bin: &str) {
        let Some(path) = self.get("PATH") else { return };
        let rest: Vec<&str> = path.split(':').filter(|entry| *entry != bin).collect();
        let rest = rest.join(":");
        self.set("PATH", Some(rest));
    }

    /// Makes an entry the first of PATH.
    fn put_first(&mut self, bin: &str) {
        self.take_out(bin);
        let path = match self.get("PATH") {
            Some(rest) if !rest.is_empty() => format!("{bin}:{rest}"),
            _ => bin.to_owned(),
        };
        self.set("PATH", Some(path));
    }

    fn changes(self) -> BTreeMap<String, Change> {
        let Self { env, next } = self;
        let differs = next.into_iter().filter(|(name, value)| env.even_empty(name) != value.as_deref());
        differs.map(|(name, value)| (name, value.map_or(Change::Unset, Change::Set))).collect()
    }
}

impl Entered {
    const VERSION: u32 = 1;

    fn read(env: &Env) -> Option<Self> {
        let entered: Self = serde_json::from_str(env.get(HOOK_VARIABLE)?).ok()?;
        (entered.version == Self::VERSION).then_some(entered)
    }

    fn outside(place: &Place, seen: String) -> Self {
        let Place { project, env, .. } = place.clone();
        Self { version: Self::VERSION, project, env, bin: None, set: BTreeMap::new(), seen }
    }

    /// Whether it is this activation that was done.
    fn is(&self, activation: &Activation) -> bool {
        let now = |name: &str| self.set.get(name).and_then(|was| was.now.as_deref());
        let root = activation.root.display().to_string();
        let of_project = activation.run_env.iter().all(|(name, value)| now(name) == Some(value));
        of_project
            && now("VIRTUAL_ENV") == Some(&root)
            && now("VIRTUAL_ENV_PROMPT") == Some(&activation.prompt)
            && self.set.len() == activation.run_env.len() + 3
    }

    /// Undoes it. A variable that has another value by now is the user's.
    fn undo(&self, variables: &mut Variables<'_>) {
        for (name, was) in &self.set {
            if variables.get(name) == was.now.as_deref() {
                variables.set(name, was.before.clone());
            }
        }
        if let Some(bin) = &self.bin {
            variables.take_out(bin);
        }
    }

    fn enter(place: &Place, activation: &Activation, variables: &mut Variables<'_>) -> Self {
        let mut entered = Self::outside(place, String::new());
        entered.bin = Some(bin(&activation.root));
        for (name, change) in activation.changes(variables.get("PATH"), None) {
            let now = match change {
                Change::Set(value) => Some(value),
                Change::Unset => None,
            };
            if name != "PATH" {
                let was = Was { now: now.clone(), before: variables.get(&name).map(str::to_owned) };
                entered.set.insert(name.clone(), was);
            }
            variables.set(&name, now);
        }
        entered
    }
}

fn bin(root: &Path) -> String {
    root.join("bin").display().to_string()
}

/// Decides what happens at a prompt.
pub fn follow(prompt: &Prompt<'_>, env: &Env) -> Followed {
    let mut variables = Variables { env, next: BTreeMap::new() };
    let mut told = Vec::new();
    let entered = step(prompt, &mut variables, &mut told);
    let note = entered.map(|entered| serde_json::to_string(&entered).expect("texts and numbers"));
    if note.is_some() || env.even_empty(HOOK_VARIABLE).is_some() {
        variables.set(HOOK_VARIABLE, note);
    }
    Followed { changes: variables.changes(), told, watch: Vec::new() }
}

/// Decides what happens where somebody else undoes it and asks again: direnv.
pub fn enter(prompt: &Prompt<'_>, env: &Env) -> Followed {
    let mut followed = Followed::default();
    let Some(place) = prompt.place() else { return followed };
    followed.watch = [FILES[0], FILES[1]].iter().map(|name| place.project.join(name)).collect();
    followed.watch.extend([Built::path(prompt.state, &place), place.link.clone(), place.link.join("bin")]);
    match known(prompt.state, &place, env) {
        Err(problem) => followed.told.push(problem),
        Ok(Enterable { built, activation, own }) => {
            followed.changes = activation.changes(env.even_empty("PATH"), env.get("VIRTUAL_ENV"));
            followed.told.extend((!own.is_empty()).then_some(Told::ShellsOwn(own)));
            followed.told.extend(stale(&built, &place));
        }
    }
    followed
}

fn step(prompt: &Prompt<'_>, variables: &mut Variables<'_>, told: &mut Vec<Told>) -> Option<Entered> {
    let env = variables.env;
    let mut entered = Entered::read(env);
    let active = env.get("VIRTUAL_ENV");
    let ours = |entered: &Entered| entered.set.get("VIRTUAL_ENV").and_then(|was| was.now.as_deref()) == active;
    let by_hand = !env.is_text("VIRTUAL_ENV") || (active.is_some() && !entered.as_ref().is_some_and(ours));
    let place = prompt.place();
    let is_here = |entered: &Entered| {
        place.as_ref().is_some_and(|place| place.project == entered.project && place.env == entered.env)
    };
    if let Some(left) = entered.take_if(|entered| !is_here(entered)) {
        left.undo(variables);
        // Who leaves what they activated by hand gets back the PATH of before, with ours in it.
        let again = by_hand && left.bin.is_some();
        entered = again.then(|| Entered { set: BTreeMap::new(), seen: String::new(), ..left });
    }
    let Some(place) = place.filter(|_| !by_hand) else { return entered };
    let seen = entered.as_ref().map(|entered| entered.seen.clone()).unwrap_or_default();
    let Enterable { built, activation, own } = match known(prompt.state, &place, env) {
        Ok(enterable) => enterable,
        Err(problem) => {
            if let Some(entered) = &entered {
                entered.undo(variables);
            }
            let outside = Entered::outside(&place, format!("{problem:?}"));
            told.extend((outside.seen != seen).then_some(problem));
            return Some(outside);
        }
    };
    let mut entered = match entered {
        Some(entered) if active.is_some() && entered.is(&activation) => {
            if prompt.first {
                variables.put_first(&bin(&activation.root));
            }
            entered
        }
        other => {
            if let Some(other) = other {
                other.undo(variables);
            }
            told.extend((!own.is_empty()).then_some(Told::ShellsOwn(own)));
            Entered::enter(&place, &activation, variables)
        }
    };
    entered.seen = files(&built, &place);
    if entered.seen != seen {
        told.extend(stale(&built, &place));
    }
    Some(entered)
}

/// The files that an environment is built from.
const FILES: [&str; 2] = ["macml.toml", "macml.lock"];

/// Tells the files that an environment is built from apart from what they were, and from what it was built from, without
/// reading them.
fn files(built: &Built, place: &Place) -> String {
    let identity = |name: &str| match Identity::of(&place.project.join(name)) {
        Ok(Some(identity)) => identity.to_string(),
        Ok(None) | Err(_) => String::new(),
    };
    let [manifest, lock] = FILES.map(identity);
    let all = format!("{manifest} {lock} {} {} {}", built.token, built.manifest, built.lock);
    Sha256::of(all.as_bytes()).to_string()
}

fn stale(built: &Built, place: &Place) -> Option<Told> {
    let digest = |name: &str| fs::read_bytes(&place.project.join(name)).ok().flatten().map(|bytes| Sha256::of(&bytes));
    let differs = |name: &str, then: &str| digest(name).is_none_or(|digest| digest.to_string() != then);
    let built = [&built.manifest, &built.lock];
    let names: Vec<&str> =
        FILES.into_iter().zip(built).filter(|(name, then)| differs(name, then)).map(|(name, _)| name).collect();
    (!names.is_empty()).then_some(Told::Stale(names))
}

/// An environment that may be entered.
struct Enterable {
    built: Box<Built>,
    activation: Activation,
    /// Variables of `[run.env]` that are the shell's own.
    own: Vec<String>,
}

/// Decides whether an environment may be entered, and what that means.
fn known(state: &Path, place: &Place, env: &Env) -> Result<Enterable, Told> {
    let built = match Known::of(state, place) {
        Ok(Known::Built(built)) => built,
        Ok(Known::Nothing) => return Err(Told::NotBuilt(place.link.clone())),
        Ok(Known::Changed(how)) => return Err(Told::Changed(place.link.clone(), how)),
        Err(error) => return Err(Told::Unreadable(error.to_string())),
    };
    match place.link.to_str() {
        Some(link) if !link.contains(':') => {}
        Some(_) => return Err(Told::Colon(place.project.clone())),
        None => return Err(Told::NoText(vec!["PWD".to_owned()])),
    }
    let (own, run_env): (BTreeMap<_, _>, _) =
        built.run_env.clone().into_iter().partition(|(name, _)| shell::is_own(name));
    let activation = Activation { root: place.link.clone(), prompt: built.prompt.clone(), run_env };
    let changed = activation.changes(None, None).into_keys();
    let no_text: Vec<String> = changed.filter(|name| !env.is_text(name)).collect();
    if !no_text.is_empty() {
        return Err(Told::NoText(no_text));
    }
    Ok(Enterable { built, activation, own: own.into_keys().collect() })
}
