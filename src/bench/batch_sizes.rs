//! `--batch-sizes`: the largest batch before memory becomes scarce. Doubles the batch of a small training, each in a process
//! of its own, and stops before the system is hard up instead of after.
//!
//! A Mac that is out of memory swaps and freezes rather than fails, and torch lets itself be given more than there is: so
//! the next size is only tried when what the last two took says that a margin stays free.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::pressure::Reading;
use super::protocol;
use super::run::{BatchSize, Failure, median};
use super::shown;
use crate::verify::Answered;
use crate::verify::Ended;
use crate::verify::Probe;
use crate::verify::Subject;
use crate::verify::Word;
use crate::verify::judge;
use crate::verify::protocol::Device;
use crate::verify::protocol::Framework;
use crate::verify::protocol::Limits;

/// The first size.
const FIRST: u64 = 16;

/// The largest: more samples than anybody trains at once.
const LAST: u64 = 1 << 20;

/// When two rates are so much less than the best, larger batches are of no use.
const SLOWER: f64 = 0.7;

/// How long all sizes of one framework may take together.
const BUDGET: Duration = Duration::from_secs(120);

/// After so many seconds the process of one size is killed.
const LIMIT: u64 = 60;

/// What came of one framework on one device.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    /// The sizes that were tried, the smallest first; the last says why no larger one was.
    pub sizes: Vec<BatchSize>,
    /// What kept all of them from being tried: no device, a framework that cannot be loaded.
    pub failure: Option<Failure>,
}

/// Which batch to take.
#[derive(Clone, PartialEq, Debug)]
pub struct Advice {
    /// The largest that went well.
    pub largest: BatchSize,
    /// The smallest that is as good as the fastest, within a twentieth.
    pub enough: BatchSize,
}

/// Why no larger batch was tried.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
enum Stop {
    /// The system said that it is hard up.
    #[error("{0}")]
    Pressure(String),
    /// The framework was refused memory.
    #[error("refused: {0}")]
    Refused(String),
    /// The system ended the process.
    #[error("the process {0}: out of memory, most likely")]
    Killed(String),
    /// It broke in another way.
    #[error("failed: {0}")]
    Failed(String),
    /// It trained fewer samples a second than a smaller batch.
    #[error("{now} after {best} with {samples} at once", now = shown::rate(*now), best = shown::rate(*best))]
    Slower {
        /// How many now.
        now: f64,
        /// How many at best.
        best: f64,
        /// With which batch that was.
        samples: u64,
    },
    /// The next would leave too little memory.
    #[error(
        "the next would take about {}, and {} of {} must stay free",
        shown::memory(*needed),
        shown::memory(*margin),
        shown::memory(*available)
    )]
    NoRoom {
        /// What it would take.
        needed: u64,
        /// What there is.
        available: u64,
        /// What has to stay free.
        margin: u64,
    },
    /// Nothing says how much memory is left.
    #[error("nothing here says how much memory is left")]
    Blind,
    /// The time was over.
    #[error("the time was over: the next would take about {} s", .0.as_secs())]
    Time(Duration),
    /// Nobody needs more.
    #[error("nobody trains more at once")]
    Most,
}

/// What a process of one size measured.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct Batch {
    samples: u64,
    seconds: Vec<f64>,
    device_bytes: Option<u64>,
    process_bytes: Option<u64>,
    process_bytes_before: Option<u64>,
    before: Reading,
    during: Vec<Reading>,
    error: Option<String>,
}

/// The event that only this probe has.
#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
enum Event {
    Batch(Batch),
}

/// What a process of one size is asked.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Request {
    #[serde(flatten)]
    base: crate::verify::protocol::Request,
    batch: u64,
    budget: f64,
}

/// Makes the probe of a framework; none for one that trains nothing by itself.
pub fn probe(framework: Framework, subject: &Subject) -> Option<Probe> {
    super::probe::script(framework, include_str!("probes/batch_sizes.py"), subject)
}

/// Tries batch after batch on a device of a machine with `memory` bytes; `told` hears of each.
pub fn measure(
    probe: &Probe,
    framework: Framework,
    device: Device,
    memory: u64,
    told: &mut dyn FnMut(&BatchSize),
) -> Answer {
    let begun = Instant::now();
    let mut course = Course { framework, device, memory, tried: Vec::new(), sizes: Vec::new() };
    let mut samples = FIRST;
    loop {
        let base = protocol::base(framework, device, memory, Limits { begin: LIMIT, end: LIMIT });
        let request = Request { base, batch: samples, budget: 1.5 };
        let asked = Instant::now();
        let answered = probe.answer(&request, LIMIT);
        let next = match course.take(samples, &request.base, &answered) {
            Err(failure) => return Answer { sizes: course.sizes, failure: Some(failure) },
            Ok(Next::Stop) => None,
            // The process starts anew, and what it then does is about twice as much.
            Ok(Next::Try(_)) if begun.elapsed() + 2 * asked.elapsed() > BUDGET => {
                course.stop(&Stop::Time(2 * asked.elapsed()));
                None
            }
            Ok(Next::Try(next)) => Some(next),
        };
        told(course.sizes.last().expect("one was just taken"));
        match next {
            Some(next) => samples = next,
            None => return Answer { sizes: course.sizes, failure: None },
        }
    }
}

/// Chooses among the sizes of one framework and device; none where no size went well.
pub fn advise(sizes: &[BatchSize]) -> Option<Advice> {
    let well = || sizes.iter().filter(|size| size.rate.is_some());
    let best = well().filter_map(|size| size.rate).fold(0.0, f64::max);
    let enough = well().find(|size| size.rate.is_some_and(|rate| rate >= best * 0.95))?;
    Some(Advice { largest: well().next_back()?.clone(), enough: enough.clone() })
}

/// What to do after a size.
#[derive(PartialEq, Eq, Debug)]
enum Next {
    /// Try this one.
    Try(u64),
    /// Nothing more.
    Stop,
}

/// The sizes so far.
struct Course {
    framework: Framework,
    device: Device,
    memory: u64,
    /// What each took of the memory that counts.
    tried: Vec<Taken>,
    sizes: Vec<BatchSize>,
}

/// What a batch took.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Taken {
    samples: u64,
    bytes: u64,
    rate: f64,
}

impl Course {
    /// Reads what came of a size, and decides about the next.
    fn take(
        &mut self,
        samples: u64,
        base: &crate::verify::protocol::Request,
        answered: &Answered,
    ) -> Result<Next, Failure> {
        let is_sane = |Event::Batch(one): &Event| one.samples == samples && one.seconds.iter().all(protocol::is_time);
        let (mut own, transcript) = protocol::read(base, answered, is_sane);
        let stop = match own.pop() {
            Some(Event::Batch(batch)) => match self.weigh(batch) {
                Ok(next) => return Ok(next),
                Err(stop) => stop,
            },
            None if transcript.unfinished().is_some_and(|at| at.id == "batch") => {
                self.sizes.push(self.nothing(samples));
                match &answered.ended {
                    Ended::Signal(9) => Stop::Killed(answered.ended.to_string()),
                    ended => Stop::Failed(match transcript.last_words() {
                        Some(words) => format!("the process {ended}: {words}"),
                        None => format!("the process {ended}"),
                    }),
                }
            }
            None => {
                let Self { framework, device, .. } = *self;
                let sentence = "the probe said nothing of its batch".to_owned();
                let silent = || Failure { framework, device, word: Word::Failed, sentence };
                return Err(Failure::of(&judge(&transcript)).unwrap_or_else(silent));
            }
        };
        self.stop(&stop);
        Ok(Next::Stop)
    }

    fn nothing(&self, samples: u64) -> BatchSize {
        let Self { framework, device, .. } = *self;
        BatchSize { framework, device, samples, rate: None, device_bytes: None, pressure: None, stopped: None }
    }

    /// Notes why no larger one is tried.
    fn stop(&mut self, stop: &Stop) {
        if let Some(last) = self.sizes.last_mut() {
            last.stopped = Some(stop.to_string());
        }
    }

    /// Notes what a size measured, and says which is next or why none is.
    fn weigh(&mut self, batch: Batch) -> Result<Next, Stop> {
        let samples = batch.samples;
        let own = self.device == Device::Cuda;
        // What was there before, the framework itself, is there for the next size too.
        let process = batch.process_bytes.unwrap_or(0).saturating_sub(batch.process_bytes_before.unwrap_or(0));
        let device = batch.device_bytes.unwrap_or(0);
        // A Mac's GPU has no other memory; whether its part counts as the process's is not for sure, so both are added.
        let bytes = if own { device } else { process + device };
        #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
        let rate = median(&batch.seconds).map(|seconds| samples as f64 / seconds);
        let rate = rate.filter(|rate| rate.is_finite() && batch.error.is_none());
        let readings = || batch.during.iter().chain([&batch.before]);
        let pressure = readings().filter_map(Reading::pressure).max_by(f64::total_cmp);
        self.sizes.push(BatchSize { rate, device_bytes: batch.device_bytes, pressure, ..self.nothing(samples) });
        if let Some(error) = &batch.error {
            return Err(if is_out_of_memory(error) {
                Stop::Refused(first_line(error))
            } else {
                Stop::Failed(first_line(error))
            });
        }
        if let Some(words) = readings().find_map(Reading::turned) {
            return Err(Stop::Pressure(words));
        }
        if let Some(rate) = rate {
            self.tried.push(Taken { samples, bytes, rate });
            let best = self.tried.iter().copied().max_by(|one, other| one.rate.total_cmp(&other.rate));
            // One that is slow may have been disturbed.
            let slow = |best: &Taken| self.tried.iter().rev().take(2).all(|one| one.rate < best.rate * SLOWER);
            if let Some(best) = best.filter(slow) {
                return Err(Stop::Slower { now: rate, best: best.rate, samples: best.samples });
            }
        }
        if samples >= LAST {
            return Err(Stop::Most);
        }
        let available = batch.before.available(self.memory).ok_or(Stop::Blind)?;
        let total = batch.before.device_total.filter(|_| own).unwrap_or(self.memory);
        room(&self.tried, samples * 2, available, total)?;
        Ok(Next::Try(samples * 2))
    }
}

/// Says whether a size may be tried where `available` of `total` bytes are left.
fn room(tried: &[Taken], samples: u64, available: u64, total: u64) -> Result<(), Stop> {
    // An eighth is what a system and its other programs come back for; less than 1 GiB never is enough for that.
    let margin = (total / 8).max(1 << 30);
    let needed = predicted(tried, samples);
    match needed.saturating_add(margin) > available {
        true => Err(Stop::NoRoom { needed, available, margin }),
        false => Ok(()),
    }
}

/// Says how much a size will take, by the line through the last two, and no less than its share of the last.
fn predicted(tried: &[Taken], samples: u64) -> u64 {
    let Some(last) = tried.last() else { return 0 };
    let share = last.bytes.saturating_mul(samples) / last.samples.max(1);
    let line = tried.len().checked_sub(2).map_or(0, |at| {
        let before = &tried[at];
        let slope = last.bytes.saturating_sub(before.bytes) / (last.samples - before.samples).max(1);
        last.bytes.saturating_add(slope.saturating_mul(samples - last.samples))
    });
    share.max(line)
}

/// Whether an error says that there is no memory for it, in the words of any framework.
fn is_out_of_memory(error: &str) -> bool {
    let lower = error.to_lowercase();
    let words =
        ["out of memory", "outofmemory", "can't allocate memory", "cannot allocate memory", "resourceexhausted"];
    let more = ["unable to allocate", "failed to allocate", "maximum allowed buffer size", "memoryerror", "bad_alloc"];
    words.iter().chain(&more).any(|word| lower.contains(word))
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn taken(all: &[(u64, u64)]) -> Vec<Taken> {
        all.iter().map(|(samples, bytes)| Taken { samples: *samples, bytes: *bytes, rate: 1.0 }).collect()
    }

    fn course(device: Device, memory: u64) -> Course {
        Course { framework: Framework::Torch, device, memory, tried: Vec::new(), sizes: Vec::new() }
    }

    /// A size of a Mac, with its two numbers before and while it was trained.
    fn on_mac(samples: u64, bytes: u64, rate: f64, before: u64, during: (u64, u64)) -> Batch {
        let reading =
            |level, free| Reading { pressure_level: Some(level), free_percent: Some(free), ..Reading::default() };
        #[expect(clippy::cast_precision_loss, reason = "small")]
        let seconds = samples as f64 / rate;
        Batch {
            samples,
            seconds: vec![seconds, seconds],
            device_bytes: Some(bytes),
            before: reading(1, before),
            during: vec![reading(during.0, during.1)],
            ..Batch::default()
        }
    }

    #[test]
    fn the_next_size_is_foretold_from_the_last_two() {
        assert_eq!(predicted(&[], 16), 0);
        assert_eq!(predicted(&taken(&[(16, 100)]), 32), 200);
        // With what is there whatever the size, a line leads lower than a share; the higher of the two counts.
        assert_eq!(predicted(&taken(&[(16, 1100), (32, 1200)]), 64), 2400);
        // What grows faster than its size is followed.
        assert_eq!(predicted(&taken(&[(16, 100), (32, 500)]), 64), 1300);
        assert_eq!(predicted(&taken(&[(16, 500), (32, 100)]), 64), 200);
        assert_eq!(predicted(&taken(&[(1, u64::MAX), (2, u64::MAX)]), 4), u64::MAX);
    }

    #[test]
    fn a_small_mac_is_never_driven_into_swap() {
        // 8 GiB, of which other programs hold 5.9 as in pytorch's reports: what is left is 26 %.
        let mut course = course(Device::Mps, 8 * GIB);
        let mut samples = 16;
        let per_sample = 2 << 20;
        loop {
            let batch = on_mac(samples, 80 * (1 << 20) + samples * per_sample, 3000.0, 26, (1, 20));
            match course.weigh(batch) {
                Ok(Next::Try(next)) => samples = next,
                Ok(Next::Stop) => unreachable!(),
                Err(stop) => {
                    assert!(matches!(stop, Stop::NoRoom { margin: GIB, .. }), "{stop:?}");
                    course.stop(&stop);
                    break;
                }
            }
        }
        let last = course.sizes.last().unwrap();
        // 592 MiB were taken, and as much again would leave less than 1 GiB of 2.08.
        assert_eq!((last.samples, last.device_bytes), (256, Some(592 << 20)));
        assert_eq!(
            last.stopped.as_deref().unwrap(),
            "the next would take about 1.16 GiB, and 1 GiB of 2.08 GiB must stay free"
        );
        assert!((last.pressure.unwrap() - 0.8).abs() < 1e-9);
    }

    #[test]
    fn what_the_system_says_ends_it() {
        let mut mac = course(Device::Mps, 64 * GIB);
        assert_eq!(mac.weigh(on_mac(16, GIB, 100.0, 80, (1, 75))), Ok(Next::Try(32)));
        let stop = mac.weigh(on_mac(32, 2 * GIB, 180.0, 80, (2, 30))).unwrap_err();
        assert_eq!(stop.to_string(), "macOS warns of memory pressure (level 2)");
        assert_eq!(mac.sizes.len(), 2);
    }

    #[test]
    fn a_rate_that_falls_ends_it() {
        let mut mac = course(Device::Mps, 64 * GIB);
        assert_eq!(mac.weigh(on_mac(16, GIB, 100.0, 80, (1, 75))), Ok(Next::Try(32)));
        // Once it may have been disturbed.
        assert_eq!(mac.weigh(on_mac(32, GIB, 50.0, 80, (1, 75))), Ok(Next::Try(64)));
        let stop = mac.weigh(on_mac(64, GIB, 60.0, 80, (1, 75))).unwrap_err();
        assert_eq!(stop.to_string(), "60.0 samples/s after 100 samples/s with 16 at once");
    }

    #[test]
    fn a_refusal_is_told_in_the_words_of_the_framework() {
        let mut mac = course(Device::Mps, 64 * GIB);
        let words = "RuntimeError: MPS backend out of memory (MPS allocated: 5.38 GB, other allocations: 1.26 GB, max \
                     allowed: 6.77 GB). Tried to allocate 640.00 MB on private pool.";
        let refused = Batch { error: Some(words.to_owned()), seconds: Vec::new(), ..on_mac(64, GIB, 1.0, 80, (1, 75)) };
        assert_eq!(mac.weigh(refused), Err(Stop::Refused(words.to_owned())));
        assert_eq!(mac.sizes[0].rate, None);
        let all = [
            "torch.OutOfMemoryError: CUDA out of memory.",
            "RuntimeError: [enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes",
            "MemoryError",
            "RuntimeError: [metal::malloc] Attempting to allocate 9 bytes which is greater than the maximum allowed buffer \
             size",
            "ResourceExhaustedError: OOM when allocating tensor",
        ];
        assert!(all.into_iter().all(is_out_of_memory));
        assert!(!is_out_of_memory("RuntimeError: shape mismatch"));
    }

    #[test]
    fn a_device_with_its_own_memory_is_judged_by_that() {
        let mut cuda = course(Device::Cuda, 16 * GIB);
        let before = Reading { device_free: Some(70 * GIB), device_total: Some(80 * GIB), ..Reading::default() };
        let batch = Batch { before, process_bytes: Some(60 * GIB), ..on_mac(4096, 20 * GIB, 1e5, 1, (1, 1)) };
        let during = vec![Reading { device_free: Some(50 * GIB), ..batch.before.clone() }];
        assert_eq!(cuda.weigh(Batch { during: during.clone(), ..batch.clone() }), Ok(Next::Try(8192)));
        let larger = Batch { samples: 8192, device_bytes: Some(40 * GIB), during, ..batch };
        assert!(matches!(cuda.weigh(larger), Err(Stop::NoRoom { margin, .. }) if margin == 10 * GIB));
    }

    #[test]
    fn without_a_reading_nothing_is_doubled() {
        let blind = Batch { before: Reading::default(), during: Vec::new(), ..on_mac(16, GIB, 100.0, 80, (1, 75)) };
        assert_eq!(course(Device::Mps, 8 * GIB).weigh(blind), Err(Stop::Blind));
    }

    #[test]
    fn a_process_that_dies_has_answered() {
        let base = protocol::base(Framework::Torch, Device::Cpu, GIB, Limits { begin: 1, end: 1 });
        let said =
            |stdout: &str, ended: Ended| Answered { stdout: stdout.into(), stderr: b"bad_alloc".to_vec(), ended };
        let begun = "macml-probe: {\"event\":\"at\",\"id\":\"batch\"}\n";
        let mut killed = course(Device::Cpu, GIB);
        assert_eq!(killed.take(64, &base, &said(begun, Ended::Signal(9))), Ok(Next::Stop));
        let words = "the process was ended by signal 9 (killed): out of memory, most likely";
        assert_eq!(killed.sizes[0].stopped.as_deref(), Some(words));
        let mut late = course(Device::Cpu, GIB);
        assert_eq!(late.take(64, &base, &said(begun, Ended::OutOfTime(60))), Ok(Next::Stop));
        assert_eq!(late.sizes[0].stopped.as_deref(), Some("failed: the process was stopped after 60 s: bad_alloc"));
        let absent = said("", Ended::NotStarted("no such file".to_owned()));
        assert_eq!(course(Device::Cpu, GIB).take(64, &base, &absent).unwrap_err().word, Word::NotRun);
    }

    #[test]
    fn the_batch_to_take_is_the_smallest_that_is_fast() {
        let size = |samples: u64, rate: Option<f64>| BatchSize { rate, ..course(Device::Cpu, 1).nothing(samples) };
        let sizes =
            [size(16, Some(50.0)), size(32, Some(97.0)), size(64, Some(100.0)), size(128, Some(99.0)), size(256, None)];
        let advice = advise(&sizes).unwrap();
        assert_eq!((advice.largest.samples, advice.enough.samples), (128, 32));
        assert_eq!(advise(&sizes[4..]), None);
        assert_eq!(advise(&[]), None);
    }
}
