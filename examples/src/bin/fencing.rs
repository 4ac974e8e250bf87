//! Why a lock is not enough: a holder is paused after it has checked that it still holds the lock, and writes when it
//! wakes up. Another holder has taken over and written since, so the storage, which checks the fencing token in the
//! same atomic write, refuses.
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

    // The answer of `is_valid` holds at that instant, and the process may act much later. A paused process renews
    // nothing either; here A's lease is not renewed in the first place.
    println!("A ->> A: do I hold the lock? {}", lease_of_a.is_valid());
    println!("A ->> A: (paused)");

    println!("B ->> Lock: acquire");
    let lease_of_b = b.acquire().await?;
    println!(
        "Lock ->> B: acquired when A's lease had ended, token {}",
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

/// The lock as a separate process has it: it shares only the store with others.
async fn process(store: &Store, owner: &str, duration: Duration) -> Result<DLock, Failure> {
    let client = Client::with_clock(store.provider().await?, Clock::system());
    Ok(DLock::builder()
        .name("fencing")
        .owner(owner)
        .duration(duration)
        .provider(client)
        .build()?)
}

/// Returns whether the storage admitted the write.
fn write(storage: &mut Storage, who: &str, token: FencingToken) -> Result<bool, Failure> {
    println!("{who} ->> Storage: write with token {token}");
    let verdict = storage.write(token, &format!("written by {who}"))?;
    match &verdict {
        Ok(()) => println!("Storage ->> {who}: written"),
        // A holder that is refused stops. It can call `DLock::raise_floor` on its lock, so that its next token is above
        // `stale.highest`, whatever happened to the lock's store.
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
        dlock::ReleaseEnd::NotHeld(_) => "another holder has it by now",
        _ => "no answer; the lease will expire",
    }
}
