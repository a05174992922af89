//! `macml add` and `macml remove`: an edit of macml.toml that is solved before it is written, and written with its lock or not
//! at all.

use std::path::Path;

use crate::lock;
use crate::manifest;
use crate::manifest::edit;
use crate::manifest::edit::Line;
use crate::pep::PackageName;
use crate::pep::Version;
use crate::progress::Progress;
use crate::sys;
use crate::sys::fs;

use super::Answered;
use super::Connect;
use super::Error;
use super::Job;
use super::LOCK_NAME;
use super::Outcome;
use super::Present;
use super::Purpose;
use super::Verdict;
use super::answer;
use super::take_turn;
use super::unchanged_since;

/// What becomes of macml.toml.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// These come in, or change where they stand. What names no version gets the one that is chosen as its least.
    Add(Vec<Line>),
    /// These go.
    Remove(Vec<PackageName>),
}

/// What an edit came to.
#[derive(Debug)]
pub struct Edited {
    /// As of a lock of the new macml.toml, which its project has.
    pub outcome: Outcome,
    /// macml.toml as it was.
    pub before: String,
    /// The lines that came in, as they are written.
    pub lines: Vec<Line>,
}

/// Edits an environment of macml.toml and locks it; nothing is written unless both can be.
///
/// # Errors
/// When the edit cannot be made, there is no answer to what it makes, or something stood in the way.
pub fn edit(
    job: &Job,
    (env, change): (&str, &Change),
    connect: Connect<'_>,
    progress: &dyn Progress,
) -> Result<Edited, Error> {
    let path = manifest::discover(&job.start, job.home.as_deref())?;
    let _turn = take_turn(job.purpose, &path, progress)?;
    let before = manifest::read(&path, &job.version)?;
    let lock_path = before.folder().join(LOCK_NAME);
    let present = Present::from(lock::read(&lock_path)?);
    present.announce(progress);

    let with = |change: &Change| -> Result<manifest::Project, Error> {
        let text = applied(&before.source.text, env, change)?;
        Ok(manifest::read_as(&path, text, &job.version)?)
    };
    let mut project = with(change)?;
    let mut lines = match change {
        Change::Add(lines) => lines.clone(),
        Change::Remove(_) => Vec::new(),
    };
    let mut answered = answer(job, &project, &present, connect, progress)?;
    // What was chosen is what the line says from now on; the answer stays.
    if lines.iter().any(|line| line.versions.is_none() && line.file.is_none() && !stands(&before, env, &line.name)) {
        for line in lines.iter_mut().filter(|line| line.versions.is_none() && line.file.is_none()) {
            if !stands(&before, env, &line.name) {
                line.versions = chosen(&answered, env, &line.name).map(|version| least(&version));
            }
        }
        project = with(&Change::Add(lines.clone()))?;
        let solved =
            Present { lock: Some(answered.lockfile.clone()), pins: vec![(&answered.lockfile).into()], broken: None };
        let held = answered.answers;
        let found = answered.findings;
        answered = answer(job, &project, &solved, connect, progress)?;
        // The first answer was asked for with an open version: it says more of what is newer.
        answered.answers = held;
        answered.findings = found;
    }
    let text = &project.source.text;
    let changed = *text != before.source.text;
    let verdict = match job.purpose {
        _ if !changed && answered.current => Verdict::Unchanged,
        Purpose::Write => {
            unchanged_since(&path, &before.source.text)?;
            write(&path, &lock_path, (&before.source.text, text), &answered)?
        }
        Purpose::Check | Purpose::Show => Verdict::Differs,
    };
    let Answered { lockfile, answers, findings, stale, unsolved, .. } = answered;
    let folder = project.folder().to_owned();
    let outcome =
        Outcome { verdict, project, folder, lockfile, before: present.before(), answers, findings, stale, unsolved };
    Ok(Edited { outcome, before: before.source.text, lines })
}

/// Writes both files; where the second cannot be written, the first is put back.
fn write(
    manifest: &Path,
    lock_path: &Path,
    (before, after): (&str, &str),
    answered: &Answered,
) -> Result<Verdict, Error> {
    // A link stays one, and leads to the edited file.
    let manifest = &sys::resolve(manifest)?.unwrap_or_else(|| manifest.to_owned());
    fs::write_atomic(manifest, after.as_bytes(), fs::Durability::Flushed)?;
    match lock::write(lock_path, &answered.lockfile) {
        Ok(_) => Ok(Verdict::Written),
        Err(error) => {
            fs::write_atomic(manifest, before.as_bytes(), fs::Durability::Flushed)?;
            Err(error.into())
        }
    }
}

fn applied(text: &str, env: &str, change: &Change) -> Result<String, Error> {
    let text = text.to_owned();
    Ok(match change {
        Change::Add(lines) => lines.iter().try_fold(text, |text, line| edit::add(&text, env, line))?,
        Change::Remove(names) => names.iter().try_fold(text, |text, name| edit::remove(&text, env, name))?,
    })
}

/// Whether a package is asked for in an environment already.
fn stands(project: &manifest::Project, env: &str, name: &PackageName) -> bool {
    let own = project.manifest.envs.iter().find(|one| one.name == env);
    own.is_some_and(|own| own.roots.iter().any(|root| root.name == *name))
}

/// Returns the version that an environment gets of a package, the lowest of its platforms.
fn chosen(answered: &Answered, env: &str, name: &PackageName) -> Option<Version> {
    let entries = answered.lockfile.envs.iter().filter(|one| one.name == env);
    entries.filter_map(|one| Some(one.entry(name)?.version.clone())).min()
}

/// Writes a version as people give the least that they want: `>=2.14` for 2.14.1.
fn least(version: &Version) -> String {
    let release = version.release();
    let parts = release.iter().take(2).map(u64::to_string).collect::<Vec<_>>().join(".");
    match version.any_prerelease() || release.len() < 2 {
        true => format!(">={version}"),
        false => format!(">={parts}"),
    }
}

#[cfg(test)]
mod tests {
    use super::least;

    #[test]
    fn the_least_version_is_written_as_people_do() {
        let check = |version: &str, expected: &str| assert_eq!(least(&version.parse().unwrap()), expected);
        check("2.14.1", ">=2.14");
        check("2026.9.0", ">=2026.9");
        check("5.0.0rc1", ">=5.0.0rc1");
        check("7", ">=7");
        check("1.2.3.post1", ">=1.2");
        check("2.4.1+cpu", ">=2.4");
    }
}
