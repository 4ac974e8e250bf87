//! The three scenes. Two clients play each on one store, and the recorder writes down the requests and answers.

use std::{sync::Arc, time::Duration};

use dlock::{Client, Clock, DLock, FencingToken, Provider};
use dlock_examples::{
    Failure,
    recorder::{Recorder, Script},
    store::Storage,
};

/// Leases of A and of B.
const D1: Duration = Duration::from_secs(9);
const D2: Duration = Duration::from_secs(12);

/// The recorded lines of the scene.
pub(crate) struct Scene {
    pub(crate) title: &'static str,
    pub(crate) lines: Vec<String>,
}

type Played = Result<Scene, Failure>;

/// A works under the lock while B waits for it.
pub(crate) async fn contention(provider: &Arc<dyn Provider>) -> Played {
    let (script, a, b) = cast(provider, "contention")?;
    let lease = a.acquire().await?;
    script.write("A ->> A: Do synchronized work");
    let waiter = b.clone();
    let waiting = tokio::spawn(async move { waiter.acquire().await });
    let is_refused = |line: &String| line.starts_with("Provider ->> B: Failure");
    while !script.lines().iter().any(is_refused) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    lease.release().await?;
    let lease = waiting.await??;
    script.write("B ->> B: Do synchronized work");
    lease.release().await?;
    Ok(scene("Contention: B waits until A releases", &script, [a, b]).await)
}

/// A dies while it holds the lock.
pub(crate) async fn dead(provider: &Arc<dyn Provider>) -> Played {
    let (script, a, b) = cast(provider, "dead")?;
    let lease = a.acquire().await?;
    script.write("A ->> A: Crash!");
    // Like a killed process, A does nothing any more; it does not even release the lease.
    std::mem::forget(lease);
    let lease = b.acquire().await?;
    script.write("B ->> B: Do synchronized work");
    lease.release().await?;
    Ok(scene(
        "Dead holder: B takes over when A's lease has ended",
        &script,
        [a, b],
    )
    .await)
}

/// A stalls past the end of its lease, and wakes up without noticing.
pub(crate) async fn paused(provider: &Arc<dyn Provider>) -> Played {
    let mut storage = Storage::new()?;
    let (script, a, b) = cast(provider, "paused")?;
    let stalled = a.acquire().await?;
    script.write("A ->> A: Stall");
    let lease = b.acquire().await?;
    write(&mut storage, &script, "B", lease.token())?;
    lease.release().await?;
    script.write("A ->> A: Wake up");
    write(&mut storage, &script, "A", stalled.token())?;
    stalled.release().await?;
    Ok(scene(
        "Paused holder: the storage refuses A's old token",
        &script,
        [a, b],
    )
    .await)
}

/// Two independent clients, on one store and one name.
fn cast(provider: &Arc<dyn Provider>, name: &str) -> Result<(Script, DLock, DLock), Failure> {
    let script = Script::default();
    let client = |who| {
        Client::with_clock(
            Recorder::new(Arc::clone(provider), who, &script),
            Clock::system(),
        )
    };
    let lock = |who: &'static str, duration| {
        DLock::builder()
            .name(format!("diagrams/{name}"))
            .owner(who)
            .duration(duration)
            .provider(client(who))
            .build()
    };
    let (a, b) = (lock("A", D1)?, lock("B", D2)?);
    Ok((script, a, b))
}

/// The scene as recorded when both clients have ended.
async fn scene(title: &'static str, script: &Script, cast: [DLock; 2]) -> Scene {
    for lock in cast {
        lock.client().close().await;
    }
    let lines = script.lines();
    Scene { title, lines }
}

/// Writes to storage that checks fencing tokens.
fn write(
    storage: &mut Storage,
    script: &Script,
    who: &str,
    token: FencingToken,
) -> Result<(), Failure> {
    let label = script.token(token);
    script.write(format!(
        "{who} ->> Storage: Synchronized work (token={label})"
    ));
    let answer = match storage.write(token, &format!("the work of {who}"))? {
        Ok(()) => format!("Storage ->> {who}: Success (token={label})"),
        Err(stale) => {
            let highest = script.token(stale.highest);
            format!("Storage ->> {who}: Failure (token={label} < {highest})")
        }
    };
    script.write(answer);
    Ok(())
}
