//! The provider for object stores on real servers: the published suites, and what only object stores can do to a lock.

#![expect(
    clippy::unwrap_used,
    reason = "what is unwrapped here is a failed test"
)]

mod azure;
mod broken;
mod cancelling;
mod conformance;
mod creation;
mod election;
mod examples;
mod fence;
mod objects;
mod outage;
mod rights;
mod tls;
mod urls;
mod verify;
mod wire;

use dlock_core::{Name, provider::Acquire};
use dlock_object_proof::Server;
use std::time::Duration;
use tokio::sync::OnceCell;
use uuid::Uuid;

/// One for all tests that do nothing to it. It starts slowly.
async fn server() -> &'static Server {
    static SERVER: OnceCell<Server> = OnceCell::const_new();
    SERVER.get_or_init(Server::start).await
}

/// A try that holds for a minute.
fn term(name: &str) -> Acquire {
    let name = Name::new(name).unwrap();
    Acquire::new(name, Uuid::new_v4(), Duration::from_secs(60))
}

/// A prefix, or a name, that nobody else has.
fn fresh(label: &str) -> String {
    format!("{label}-{}", Uuid::new_v4().simple())
}
