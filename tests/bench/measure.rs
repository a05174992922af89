//! Rows of the table: what is prepared, and what is timed.

use std::time::Instant;

use crate::samples::{Samples, Unit};
use crate::server::Server;
use crate::tools::{Bench, Folder, Project, Tool};

/// One kind of work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Row {
    /// Nothing is known yet.
    Cold,
    /// Pages and metadata are cached and fresh; the lockfile is gone.
    Warm,
    /// The same with the network switched off.
    Offline,
    /// The lockfile already answers.
    Nothing,
    /// Peak memory of [`Row::Cold`].
    Memory,
}

impl Row {
    pub(crate) const ALL: [Self; 5] = [Self::Cold, Self::Warm, Self::Offline, Self::Nothing, Self::Memory];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Cold => "lock, empty cache",
            Self::Warm => "lock again without a lockfile, pages fresh",
            Self::Offline => "lock again without a lockfile, offline",
            Self::Nothing => "lock with nothing to do",
            Self::Memory => "peak memory of lock, empty cache",
        }
    }
}

/// What stays the same from row to row.
pub(crate) struct Contest<'a> {
    /// Timed runs of each tool.
    pub(crate) runs: usize,
    pub(crate) tools: &'a [Tool],
    pub(crate) bench: &'a Bench,
    pub(crate) project: Project,
    pub(crate) server: Server,
}

impl<'a> Contest<'a> {
    pub(crate) fn folder(&self, tool: Tool) -> Folder<'a> {
        self.bench.folder(tool, &self.project, &self.server)
    }
}

/// Measures one row, the tools taking turns.
pub(crate) fn row(row: Row, contest: &Contest<'_>) -> Vec<Samples> {
    let folders: Vec<_> = contest.tools.iter().map(|tool| contest.folder(*tool)).collect();
    // Once before, untimed: binaries come into the page cache, and warm rows get a cache that is fresh.
    for folder in &folders {
        folder.forget_all();
        folder.run(Row::Cold);
    }
    let mut values = vec![Vec::new(); folders.len()];
    for _ in 0..contest.runs {
        for (folder, values) in folders.iter().zip(&mut values) {
            values.push(sample(row, folder, &contest.server));
        }
    }
    let unit = if row == Row::Memory { Unit::Mebibytes } else { Unit::Milliseconds };
    values.into_iter().map(|values| Samples::new(unit, values)).collect()
}

fn sample(row: Row, folder: &Folder<'_>, server: &Server) -> f64 {
    // A run for which the index had to ask PyPI measures PyPI: it is thrown away.
    for _ in 0..10 {
        match row {
            Row::Cold | Row::Memory => folder.forget_all(),
            Row::Warm | Row::Offline => folder.forget_lock(),
            Row::Nothing => {}
        }
        let before = server.index().fetched();
        let start = Instant::now();
        let memory = folder.run(row);
        let took = start.elapsed();
        if server.index().fetched() == before {
            return memory.unwrap_or(took.as_secs_f64() * 1000.0);
        }
    }
    panic!("the recording never became complete");
}

/// Compares macml with the faster, or smaller, of the others.
pub(crate) fn ratio(tools: &[Tool], samples: &[Samples]) -> String {
    let of = |wanted: fn(&Tool) -> bool| {
        tools.iter().zip(samples).filter(move |(tool, _)| wanted(tool)).map(|(_, samples)| samples.median())
    };
    let ours = of(|tool| *tool == Tool::Macml).next();
    let theirs = of(|tool| *tool != Tool::Macml).min_by(f64::total_cmp);
    match (ours, theirs) {
        (Some(ours), Some(theirs)) => format!("{:.2}", ours / theirs),
        _ => "–".to_owned(),
    }
}
