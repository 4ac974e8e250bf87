//! Why a lock is not enough: a holder is paused after it has looked whether it still holds, and
//! writes when it wakes up. Another one has taken over and written since, so the storage, which
//! checks the fencing token in the same atomic write, refuses.
//!
//! ```sh
//! cargo run -p dlock-examples --bin fencing
//! cargo run -p dlock-examples --bin fencing --features redis -- --store redis://localhost
//! ```

use std::time::Duration;

use dlock::{Client, Clock, DLock, FencingToken};
use dlock_examples::{
    Failure,
    store::{Storage, Store},
};

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let store = dlock_examples::store()?;
    let mut storage = Storage::new()?;
    let a = process(&store, "A", Duration::from_secs(8)).await?;
    let b = process(&store, "B", Duration::from_secs(30)).await?;

    println!("A ->> Lock: acquire");
    let lease_of_a = a.acquire().await?;
    println!("Lock ->> A: acquired, token {}", lease_of_a.token());
    admitted(write(&mut storage, "A", lease_of_a.token())?)?;

    // What `is_valid` says is true when it says it, and nothing holds a process to that instant. A
    // paused process renews nothing either; here nobody renews A's lease in the first place.
    println!("A ->> A: do I hold the lock? {}", lease_of_a.is_valid());
    println!("A ->> A: (paused)");

    println!("B ->> Lock: acquire");
    let lease_of_b = b.acquire().await?;
    println!(
        "Lock ->> B: acquired when A's lease was over, token {}",
        lease_of_b.token()
    );
    admitted(write(&mut storage, "B", lease_of_b.token())?)?;

    println!("A ->> A: (awake, and about to do what it had decided)");
    if write(&mut storage, "A", lease_of_a.token())? {
        return Err(Failure::new("the storage admitted a stale token"));
    }
    println!("A ->> A: do I hold the lock? {}", lease_of_a.is_valid());
    println!("A ->> Lock: release");
    println!("Lock ->> A: {}", ended(&lease_of_a.release().await?));
    println!("B ->> Lock: release");
    println!("Lock ->> B: {}", ended(&lease_of_b.release().await?));

    let page = storage.read()?.unwrap_or_default();
    println!("Storage: \"{page}\"");
    for process in [a, b] {
        process.client().close().await;
    }
    Ok(())
}

/// The lock as a process of its own has it: nothing is shared with others but the store.
async fn process(store: &Store, owner: &str, duration: Duration) -> Result<DLock, Failure> {
    let client = Client::with_clock(store.provider().await?, Clock::system());
    Ok(DLock::builder()
        .name("fencing")
        .owner(owner)
        .duration(duration)
        .provider(client)
        .build()?)
}

/// Whether the storage admitted it.
fn write(storage: &mut Storage, who: &str, token: FencingToken) -> Result<bool, Failure> {
    println!("{who} ->> Storage: write with token {token}");
    let verdict = storage.write(token, &format!("written by {who}"))?;
    match &verdict {
        Ok(()) => println!("Storage ->> {who}: written"),
        // A holder that learns this stops. It can tell its lock with `DLock::raise_floor`, so that
        // its next token is above `stale.highest` whatever became of the lock's store.
        Err(stale) => println!("Storage ->> {who}: refused, {stale}"),
    }
    Ok(verdict.is_ok())
}

fn admitted(admitted: bool) -> Result<(), Failure> {
    if admitted {
        return Ok(());
    }
    Err(Failure::new("the storage refused the holder"))
}

fn ended(ended: &dlock::ReleaseEnd) -> &'static str {
    match ended {
        dlock::ReleaseEnd::Released => "released",
        dlock::ReleaseEnd::NotHeld(_) => "it is somebody else's by now",
        _ => "no answer; the lease ends by itself",
    }
}
