//! One task of a worker.

use std::{io, time::Duration};

use dlock_core::{DLock, Guard, Lease, TryAcquire};
use dlock_proof::history::Process;
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};

use crate::storage::{Answer, StorageClient};

/// The state of one task.
pub(super) struct Task {
    process: Process,
    locks: Vec<DLock>,
    door: StorageClient,
    random: fastrand::Rng,
}

/// Whether the storage accepted a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Done,
    Refused,
}

impl Task {
    pub(super) fn new(
        process: Process,
        locks: Vec<DLock>,
        door: StorageClient,
        random: fastrand::Rng,
    ) -> Self {
        Self {
            process,
            locks,
            door,
            random,
        }
    }

    /// Runs until the worker is let go. Failures here (a lost lease, a store that does not answer, a
    /// refused write) are the point of the run, and the history records them.
    pub(super) async fn run(mut self, mut let_go: watch::Receiver<bool>) {
        while !*let_go.borrow() {
            tokio::select! {
                () = self.turn() => {}
                _ = let_go.wait_for(|gone| *gone) => return,
            }
            sleep(self.up_to(40)).await;
        }
    }

    async fn turn(&mut self) {
        let Some(lock) = self.random.choice(&self.locks).cloned() else {
            return;
        };
        match self.random.u32(0..11) {
            0..4 => self.hold(&lock).await,
            4..6 => self.with(&lock).await,
            6 => self.by_hand(&lock).await,
            7 => self.once(&lock).await,
            8..10 => self.let_run_out(&lock).await,
            _ => self.give_up(&lock).await,
        }
    }

    /// Under a guard, which renews.
    async fn hold(&mut self, lock: &DLock) {
        // Not within `hold()`: a separate limit, so that no task waits for ever for one lock.
        if let Ok(lease) = lock.acquire_timeout(self.patience()).await {
            self.guarded(lock, lease.keep_alive()).await;
        }
    }

    async fn guarded(&mut self, lock: &DLock, guard: Guard) {
        let token = guard.token().get();
        let named = (guard.uuid(), guard.token());
        // A concurrent task waits for the loss, and is notified of it (I8).
        let watch = guard.view();
        tokio::spawn(async move { drop(watch.ended().await) });
        for _ in 0..self.changes() {
            // The last check. Afterwards the worker believes for a while in what it has just seen;
            // only a token protects against a pause in the middle of that.
            let valid = || guard.is_valid();
            if !self.process.look(lock.name(), named, valid) {
                return;
            }
            if !matches!(self.change(lock, token, true).await, Ok(Change::Done)) {
                break;
            }
            sleep(self.up_to(60)).await;
        }
        if self.random.u32(0..4) > 0 {
            // The history records how it ended; otherwise dropping it releases it, too.
            drop(guard.release().await);
        }
    }

    /// In `with`, which drops the work when the lease is lost.
    async fn with(&mut self, lock: &DLock) {
        let changes = self.changes();
        let (patience, limited) = (self.patience(), lock.clone());
        let work = async |token: dlock_core::FencingToken| {
            for _ in 0..changes {
                if !matches!(
                    self.change(lock, token.get(), false).await,
                    Ok(Change::Done)
                ) {
                    return;
                }
            }
        };
        // Dropped while it waits or in the middle of its work.
        drop(timeout(patience * 2, limited.with(work)).await);
    }

    /// A lease that is renewed by hand.
    async fn by_hand(&mut self, lock: &DLock) {
        let Ok(mut lease) = lock.acquire_timeout(self.patience()).await else {
            return;
        };
        let token = lease.token().get();
        let named = (lease.uuid(), lease.token());
        for _ in 0..3 {
            let valid = || lease.is_valid();
            if !self.process.look(lock.name(), named, valid) {
                return;
            }
            if !matches!(self.change(lock, token, true).await, Ok(Change::Done)) {
                break;
            }
            if lease.renew().await.is_err() {
                break;
            }
        }
        drop(lease.release().await);
    }

    /// A lease that is neither renewed nor released before the store ends it.
    async fn let_run_out(&mut self, lock: &DLock) {
        if let Ok(lease) = lock.acquire_timeout(self.patience()).await {
            lease.ended().await;
            // Dropping a lease releases it, also after its holder had to stop.
            sleep(lock.duration()).await;
        }
    }

    /// One try, and one change.
    async fn once(&mut self, lock: &DLock) {
        if let Ok(TryAcquire::Acquired(lease)) = lock.try_acquire().await {
            self.short(lock, lease).await;
        }
    }

    async fn short(&mut self, lock: &DLock, lease: Lease) {
        let token = lease.token().get();
        let named = (lease.uuid(), lease.token());
        if self.process.look(lock.name(), named, || lease.is_valid()) {
            drop(self.change(lock, token, true).await);
        }
        drop(lease.release().await);
    }

    /// Acquires, and drops the acquire at a random instant.
    async fn give_up(&mut self, lock: &DLock) {
        let soon = self.up_to(300);
        if let Ok(Ok(lease)) = timeout(soon, lock.acquire()).await {
            self.short(lock, lease).await;
        }
    }

    /// Reads both numbers of a lock, and writes both back, plus one.
    async fn change(&mut self, lock: &DLock, token: u64, blind: bool) -> io::Result<Change> {
        let name = lock.name().as_str();
        let Answer::Value(fenced) = self.door.read(name, true, token, blind).await? else {
            return Ok(Change::Refused);
        };
        let Answer::Value(unfenced) = self.door.read(name, false, token, blind).await? else {
            return Ok(Change::Refused);
        };
        sleep(self.up_to(30)).await;
        self.door.write(name, false, token, unfenced).await?;
        Ok(match self.door.write(name, true, token, fenced).await? {
            Answer::Value(_) => Change::Done,
            Answer::Stale { .. } => Change::Refused,
        })
    }

    /// Now and then long enough for several renewals of the longest lease.
    fn changes(&mut self) -> u32 {
        match self.random.u32(0..4) {
            0 => 60,
            _ => self.random.u32(1..6),
        }
    }

    fn patience(&mut self) -> Duration {
        Duration::from_millis(self.random.u64(500..8000))
    }

    fn up_to(&mut self, millis: u64) -> Duration {
        Duration::from_millis(self.random.u64(0..=millis))
    }
}
