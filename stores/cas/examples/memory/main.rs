//! A lock over a custom store: see `store.rs`.

mod store;

use std::time::Duration;

use dlock_cas::CasProvider;
use dlock_core::DLock;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let lock = DLock::builder()
        .name("nightly-report")
        .duration(Duration::from_secs(10))
        .provider(CasProvider::new(store::Memory::default()))
        .build()?;
    lock.with(|token| async move { println!("working with token {token}") })
        .await?;
    lock.client().close().await;
    Ok(())
}
