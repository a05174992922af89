//! Wheels as they arrive: something is done with each on threads of its own, while others are still on their way.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::mpsc;

use crate::index::download::DownloadError;
use crate::index::download::Downloads;
use crate::index::download::Ready;
use crate::sys::tree;

/// Does `work` for each of at most so many wheels as it arrives, on several threads; hands what came of it to `keep`, and
/// why one did not arrive. Where `keep` breaks, no more are waited for; what has begun is finished.
pub(super) fn each<R: Send>(
    mut downloads: Downloads,
    most: usize,
    work: impl Fn(Ready) -> R + Sync,
    mut keep: impl FnMut(Result<R, DownloadError>) -> ControlFlow<()>,
) {
    let (sender, arrived) = mpsc::channel::<Ready>();
    let (arrived, (done, outcomes)) = (Mutex::new(arrived), mpsc::channel());
    std::thread::scope(|scope| {
        for _ in 0..tree::workers().min(most) {
            let (work, arrived, done) = (&work, &arrived, done.clone());
            scope.spawn(move || {
                loop {
                    let next = arrived.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok(ready) = next else { break };
                    if done.send(work(ready)).is_err() {
                        break;
                    }
                }
            });
        }
        for ready in &mut downloads {
            let mut flow = match ready {
                Ok(ready) => {
                    drop(sender.send(ready));
                    ControlFlow::Continue(())
                }
                Err(error) => keep(Err(error)),
            };
            for outcome in outcomes.try_iter() {
                if keep(Ok(outcome)).is_break() {
                    flow = ControlFlow::Break(());
                }
            }
            if flow.is_break() {
                break;
            }
        }
        // What is still under way stops, while what arrived is worked on.
        drop((downloads, sender, done));
        for outcome in &outcomes {
            let _ = keep(Ok(outcome));
        }
    });
}
