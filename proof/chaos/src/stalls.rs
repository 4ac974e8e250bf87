//! What the machine itself was slow at: measured by threads that do nothing else, told in the history, and
//! so no reason to give every bound of time as much slack as the busiest machine could need.

use std::{
    fs::File,
    io::{self, Write as _},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use dlock_proof::history::{Log, Micros, What, line::STALL};

const BEAT: Duration = Duration::from_millis(20);

/// What is no stall: a thread that wakes up later than it wanted to, a disk that takes its time.
const USUAL: Duration = Duration::from_millis(50);

/// A thread that measures, until this is dropped.
#[derive(Debug)]
pub(crate) struct Stalls(Arc<AtomicBool>);

impl Stalls {
    /// Tells when a thread of this process is woken late.
    pub(crate) fn of_process(log: &Log, process: &str) -> io::Result<Self> {
        Self::watch(log, process, || Ok(()))
    }

    /// Tells when the controller's machine is late, or its disk, as servers need it: for everybody.
    pub(crate) fn of_machine(log: &Log, folder: &Path) -> io::Result<Self> {
        let mut file = File::create(folder.join("pulse"))?;
        Self::watch(log, "", move || {
            file.write_all(b".")?;
            file.sync_data()
        })
    }

    fn watch(
        log: &Log,
        process: &str,
        mut work: impl FnMut() -> io::Result<()> + Send + 'static,
    ) -> io::Result<Self> {
        let watching = Arc::new(AtomicBool::new(true));
        let (watched, log, process) = (Arc::clone(&watching), log.clone(), process.to_owned());
        thread::Builder::new()
            .name("stalls".into())
            .spawn(move || {
                while watched.load(Ordering::Relaxed) {
                    let began = log.now();
                    thread::sleep(BEAT);
                    if work().is_err() {
                        return;
                    }
                    tell(&log, &process, began);
                }
            })?;
        Ok(Self(watching))
    }
}

impl Drop for Stalls {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

fn tell(log: &Log, process: &str, from: Micros) {
    let to = log.now();
    if u128::from(to.saturating_sub(from)) > (BEAT + USUAL).as_micros() {
        let what = What::Fault {
            kind: STALL.into(),
            from,
            to: Some(to),
            excuses: Vec::new(),
        };
        log.note(process, "", what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_long_is_told_for_its_process() {
        let log = Log::in_memory_on(dlock_core::Clock::system());
        let began = log.now();
        thread::sleep(4 * USUAL);
        tell(&log, "worker-1", began);
        let [line] = &log.lines()[..] else {
            panic!("{:?}", log.lines())
        };
        let What::Fault { from, to, .. } = &line.what else {
            panic!("{line}")
        };
        assert_eq!((&*line.process, *from), ("worker-1", began));
        assert!(to.is_some_and(|to| to - began >= 200_000), "{line}");
        // No time at all.
        let soon = log.now() + 1_000_000;
        tell(&log, "worker-1", soon);
        assert_eq!(log.lines().len(), 1);
    }
}
