//! Two writers, one of them paused past its lease.

use std::{future::Future, sync::mpsc, thread, time::Duration};

use dlock_core::{Client, Clock, DLock, FencingToken, Provider, ReleaseEnd, Stale};
use tokio::{sync::mpsc::unbounded_channel, time::timeout};

use super::{Storage, admit, good};
use crate::faults::{Faulty, Op};

const LEASE: Duration = Duration::from_secs(2);
/// The limit for every event that has to happen, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(60);

/// The reports of the paused holder.
#[derive(Debug)]
enum Said {
    Holding(FencingToken),
    Awake {
        believes: bool,
    },
    Ended {
        end: ReleaseEnd,
        /// The store did not answer the first call.
        unanswered: bool,
    },
}

/// A holder is paused past the end of its lease; another one takes over and writes; the first wakes up, no longer
/// believes that it holds, and writes with its old token: the write is stale and changes nothing, and neither does its
/// release.
///
/// `provider` makes providers on one store: each holder has its own, on its own runtime.
///
/// # Panics
/// If the storage or the lock is wrong.
pub async fn paused_holder_is_refused<P, F>(
    provider: impl Fn() -> F + Clone + Send + 'static,
    storage: &impl Storage,
) where
    P: Provider,
    F: Future<Output = P>,
{
    let name = format!("paused/{}", uuid::Uuid::new_v4());
    let (said, mut heard) = unbounded_channel();
    let (go_on, told) = mpsc::channel::<()>();
    let paused = {
        let (provider, name) = (provider.clone(), name.clone());
        thread::spawn(move || {
            let runtime = good(
                tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build(),
            );
            runtime.block_on(async {
                let store = Faulty::new(provider().await);
                let guard = good(lock(&name, store.clone()).hold().await);
                good(said.send(Said::Holding(guard.token())));
                // The pause: the runtime has only this thread, so no renewal runs either.
                good(told.recv());
                let believes = guard.is_valid() || !guard.remaining().is_zero();
                guard.ended().await;
                good(said.send(Said::Awake { believes }));
                good(told.recv());
                let end = good(guard.release().await);
                let calls = store.calls();
                let releases = calls.iter().filter(|call| call.op == Op::Release);
                let unanswered = releases
                    .take(1)
                    .any(|call| !matches!(call.answer, Some(Ok(_))));
                good(said.send(Said::Ended { end, unanswered }));
            });
        })
    };
    let mut hear = async || match timeout(PATIENCE, heard.recv()).await {
        Ok(Some(said)) => said,
        other => panic!("the paused holder does not continue: {other:?}"),
    };

    let Said::Holding(first) = hear().await else {
        panic!("it holds first");
    };
    admit(storage, Some(first), 1).await;
    let successor = good(
        lock(&name, provider().await)
            .acquire_timeout(PATIENCE)
            .await,
    );
    let second = successor.token();
    assert!(second > first, "{second} was granted after {first}");
    admit(storage, Some(second), 2).await;

    good(go_on.send(()));
    assert!(matches!(hear().await, Said::Awake { believes: false }));
    let refused = storage.write(first, 3).await;
    let stale = Stale {
        presented: first,
        highest: second,
    };
    assert_eq!(refused, Err(stale));
    assert_eq!(storage.read().await, Some((2, second)));
    good(go_on.send(()));
    match hear().await {
        Said::Ended {
            end: ReleaseEnd::NotHeld(Some(record)),
            ..
        } => assert_eq!(record.uuid, successor.uuid()),
        // A slow store may not answer the first call. Once the lease has ended, it is not called again.
        Said::Ended {
            end: ReleaseEnd::Unconfirmed,
            unanswered: true,
        } => {}
        other => panic!("the successor's lock was released: {other:?}"),
    }
    // Whether or not the lease of the successor has ended meanwhile, its token is the highest.
    admit(storage, Some(second), 4).await;
    good(successor.release().await);
    assert!(paused.join().is_ok(), "the paused holder panicked");
}

/// A lock of a separate process: its client is not shared.
fn lock(name: &str, provider: impl Provider) -> DLock {
    let lock = DLock::builder()
        .name(name)
        .duration(LEASE)
        .give_up_after(PATIENCE)
        .provider(Client::with_clock(provider, Clock::system()))
        .build();
    good(lock)
}
