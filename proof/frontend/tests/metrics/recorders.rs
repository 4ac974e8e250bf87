//! Recorders that misbehave change nothing but their own records.

use std::{
    cell::Cell,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc::RecvTimeoutError,
    },
    time::Duration,
};

use dlock_core::{
    DLock, LeaseView,
    metrics::{SharedString, Unit},
};
use dlock_testkit::faults::{Fault, Op};
use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder};
use tokio::time::sleep;

use crate::scene::{Process, SECOND, Scene, stores};

/// Runs a closure at every call of the recorder.
struct Does<F>(F);

impl<F: Fn()> Recorder for Does<F> {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {
        self.0();
    }

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {
        self.0();
    }

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {
        self.0();
    }

    fn register_counter(&self, _: &Key, _: &Metadata<'_>) -> Counter {
        self.0();
        Counter::noop()
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        self.0();
        Gauge::noop()
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        self.0();
        Histogram::noop()
    }
}

/// Every reported event: waiting, renewing, failing, handing on, releasing, losing.
async fn live(Process { lock, provider, .. }: &Process, held: &Mutex<Option<LeaseView>>) {
    let guard = lock.hold().await.unwrap();
    *held.lock().unwrap() = Some(guard.view());
    provider.next(Op::Renew, Fault::UNKNOWN_AFTER);
    sleep(100 * SECOND).await;
    assert!(guard.is_valid());
    let waiting = tokio::spawn({
        let lock = lock.clone();
        async move { lock.hold().await.unwrap() }
    });
    sleep(SECOND).await;
    // This is reported in the middle of a drop.
    drop(guard);
    let next = waiting.await.unwrap();
    *held.lock().unwrap() = Some(next.view());
    assert!(next.is_valid());
    provider.everything(Fault::LoseRequest);
    next.ended().await;
    drop(next);
    provider.clear();
    lock.acquire().await.unwrap().release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_recorder_that_panics_changes_nothing() {
    for store in stores() {
        let told = AtomicUsize::new(0);
        let recorder = Does(|| {
            told.fetch_add(1, Ordering::SeqCst);
            panic!("a recorder that panics on purpose")
        });
        let _listening = metrics::set_default_local_recorder(&recorder);
        dlock_core::metrics::describe();
        live(&Scene::new(store).process("panics"), &Mutex::default()).await;
        assert!(told.load(Ordering::SeqCst) > 30);
    }
}

/// No lock of ours is held while the recorder is called: it may call any of our methods in turn. If one is, this thread
/// waits for itself, so it is watched from another thread.
#[test]
fn a_recorder_may_ask_the_locks_themselves() {
    let (done, ended) = std::sync::mpsc::channel();
    let asking = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(ask_the_locks());
        done.send(()).unwrap();
    });
    match ended.recv_timeout(Duration::from_secs(60)) {
        Err(RecvTimeoutError::Timeout) => panic!("a lock of ours was held"),
        Ok(()) | Err(RecvTimeoutError::Disconnected) => asking.join().unwrap(),
    }
}

#[expect(clippy::future_not_send, reason = "its recorder is this thread's")]
async fn ask_the_locks() {
    thread_local! {
        static ASKING: Cell<bool> = const { Cell::new(false) };
    }
    for store in stores() {
        let told = AtomicUsize::new(0);
        let process = Scene::new(store).process("asks");
        let lock: DLock = process.lock.clone();
        let held = Mutex::<Option<LeaseView>>::default();
        let recorder = Does(|| {
            // The events that its own calls trigger are ignored.
            if ASKING.replace(true) {
                return;
            }
            told.fetch_add(1, Ordering::SeqCst);
            // The names of the client, one name's own, and the term's.
            let other = lock.named("door").unwrap();
            other.raise_floor(dlock_core::FencingToken::new(1).unwrap());
            let term = held.try_lock().ok().and_then(|held| held.clone());
            if let Some(term) = term {
                let _state = (term.state(), term.asked(), term.since_success());
            }
            ASKING.set(false);
        });
        let _listening = metrics::set_default_local_recorder(&recorder);
        live(&process, &held).await;
        assert!(told.load(Ordering::SeqCst) > 30);
    }
}
