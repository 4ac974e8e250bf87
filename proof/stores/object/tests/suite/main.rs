//! The provider for object stores on real servers: the published suites, and what only object stores can do to a lock.

#![expect(
    clippy::unwrap_used,
    reason = "what is unwrapped here is a failed test"
)]

mod azure;
mod broken;
mod cancelling;
mod conformance;
mod election;
mod examples;
mod fence;
mod objects;
#[path = "../../../open.rs"]
mod open;
mod outage;
mod rights;
mod tls;
mod urls;
mod verify;
mod wire;

use dlock_object_proof::Server;
use tokio::sync::OnceCell;
use uuid::Uuid;

/// One for all tests that do nothing to it. It starts slowly.
async fn server() -> &'static Server {
    static SERVER: OnceCell<Server> = OnceCell::const_new();
    SERVER.get_or_init(Server::start).await
}

/// A prefix, or a name, that nobody else has.
fn fresh(label: &str) -> String {
    format!("{label}-{}", Uuid::new_v4().simple())
}
