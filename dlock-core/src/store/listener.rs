//! Listening to a provider's wake-ups, one task per client.

#[cfg(test)]
mod tests;

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use crate::{emit::log, events::Operation, provider::Wakeup, store::Store, time::Plan};

/// How long opening the channel may take, and the longest pause before the next attempt.
const OPEN_LIMIT: Duration = Duration::from_secs(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// Starts the listener's task unless there is one, if the provider has wake-ups and the lock wants them. It lives
/// on the runtime of the waiter that started it; when that runtime ends, the next waiter starts another.
pub(crate) fn ensure(store: &Arc<Store>, plan: &Plan) {
    if !plan.wakeups
        || !store.provider.capabilities().watch
        || store.listener.swap(true, Ordering::SeqCst)
    {
        return;
    }
    let running = Running(Arc::downgrade(store));
    let closing = store.closing().clone();
    tokio::spawn(async move {
        tokio::select! {
            biased;
            // Also when the client is gone.
            () = closing.cancelled() => {}
            () = listen(&running.0) => {}
        }
        drop(running);
    });
}

/// Opens the channel again and again, and passes on its hints.
async fn listen(client: &Weak<Store>) {
    let mut pause = FIRST_PAUSE;
    while let Some(store) = client.upgrade() {
        // For all locks of the client.
        let what = (Operation::Watch, None);
        match store.call(what, OPEN_LIMIT, store.provider.watch()).await {
            Ok(Some(mut wakeups)) => {
                let connected = Connected::new(&store);
                drop(store);
                pause = FIRST_PAUSE;
                while let Some(wakeup) = wakeups.next().await {
                    let Some(store) = client.upgrade() else {
                        return;
                    };
                    match wakeup {
                        Wakeup::Name(name) => store.names.wake(&name),
                        Wakeup::Everyone => store.names.wake_all(),
                    }
                }
                drop(connected);
            }
            Ok(None) => return,
            Err(error) => {
                log!(
                    debug,
                    name: "wakeups_unavailable",
                    error = &error as &dyn std::error::Error,
                    "no channel for wake-ups; polling"
                );
                drop(store);
            }
        }
        let Some(store) = client.upgrade() else {
            return;
        };
        let sleep = pause / 2 + store.entropy.jitter(pause);
        let clock = store.clock.clone();
        drop(store);
        clock.pause(sleep).await;
        pause = (2 * pause).min(LONGEST_PAUSE);
    }
}

/// There is a listener task for this client.
struct Running(Weak<Store>);

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(store) = self.0.upgrade() {
            store.listener.store(false, Ordering::SeqCst);
        }
    }
}

/// The channel is open. Hints may have been missed before it was open, and will be missed once it is closed: both
/// times all waiters try again.
struct Connected(Weak<Store>);

impl Connected {
    fn new(store: &Arc<Store>) -> Self {
        switch(&store.channel_open, true);
        store.names.wake_all();
        Self(Arc::downgrade(store))
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        if let Some(store) = self.0.upgrade() {
            switch(&store.channel_open, false);
            store.names.wake_all();
        }
    }
}

fn switch(flag: &AtomicBool, on: bool) {
    flag.store(on, Ordering::SeqCst);
}
