//! The provider for object stores on real servers: the published suites, and the cases that only object stores can
//! cause for a lock.

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

/// One server for all tests that do it no harm. It starts slowly.
async fn server() -> &'static Server {
    static SERVER: OnceCell<Server> = OnceCell::const_new();
    SERVER.get_or_init(Server::start).await
}

/// A prefix, or a name, that no other test has.
fn fresh(label: &str) -> String {
    format!("{label}-{}", Uuid::new_v4().simple())
}
