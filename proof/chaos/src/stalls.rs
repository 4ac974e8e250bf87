//! Delays of the machine itself, recorded in the history: measured concurrently with what is judged, so that not every
//! bound of time needs as much slack as the busiest machine.

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

use dlock_core::{
    Name, Provider,
    provider::{Acquire, Renew},
};
use dlock_proof::history::{Log, Micros, What, line::STALL};
use tokio::{task::JoinHandle, time::sleep};
use uuid::Uuid;

use crate::cli::Failure;

const BEAT: Duration = Duration::from_millis(20);

/// How late a thread may wake up before that counts as a stall.
const USUAL: Duration = Duration::from_millis(50);

/// How long a store may take for an answer before that counts as a stall. Half of what the shortest lease of a run,
/// 300 ms, gives a renewal (a sixth of it): with slower answers it may be lost even without a fault.
const USUAL_ANSWER: Duration = Duration::from_millis(25);

/// A thread of a worker that only wakes up and writes a byte, as every line of the history is written
/// before its task continues. It records when that was late.
#[derive(Debug)]
pub(crate) struct LateThreads(Arc<AtomicBool>);

/// A caller that bypasses frontends and proxies. It records, for all workers, when the store was slow to
/// answer. A failed call records nothing, since failures are what providers are judged for.
#[derive(Debug)]
pub(crate) struct SlowAnswers(JoinHandle<()>);

impl LateThreads {
    pub(crate) fn watch(log: &Log, process: &str, folder: &Path) -> io::Result<Self> {
        let mut file = File::create(folder.join(format!("{process}.pulse")))?;
        let watching = Arc::new(AtomicBool::new(true));
        let (watched, log, process) = (Arc::clone(&watching), log.clone(), process.to_owned());
        thread::Builder::new().name("late".into()).spawn(move || {
            while watched.load(Ordering::Relaxed) {
                let due = log.now() + micros(BEAT);
                thread::sleep(BEAT);
                if file.write_all(b".").is_err() {
                    return;
                }
                tell(&log, &process, due, USUAL);
            }
        })?;
        Ok(Self(watching))
    }
}

impl Drop for LateThreads {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

impl SlowAnswers {
    /// Holds a separate lock, and renews it all the time.
    pub(crate) async fn watch(log: &Log, provider: Arc<dyn Provider>) -> Result<Self, Failure> {
        let (name, uuid) = (Name::new("pulse")?, Uuid::new_v4());
        let day = Duration::from_hours(24);
        provider
            .acquire(&Acquire::new(name.clone(), uuid, day))
            .await?;
        let log = log.clone();
        Ok(Self(tokio::spawn(async move {
            for n in 1.. {
                sleep(BEAT).await;
                let asked = log.now();
                let answer = provider.renew(&Renew::new(name.clone(), uuid, n)).await;
                if answer.is_ok() {
                    tell(&log, "", asked, USUAL_ANSWER);
                }
            }
        })))
    }
}

impl Drop for SlowAnswers {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Records the time from then until now, if it is longer than usual.
fn tell(log: &Log, process: &str, from: Micros, usual: Duration) {
    let to = log.now();
    if to.saturating_sub(from) > micros(usual) {
        let what = What::Fault {
            kind: STALL.into(),
            from,
            to: Some(to),
            excuses: Vec::new(),
        };
        log.note(process, "", what);
    }
}

fn micros(span: Duration) -> Micros {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}
