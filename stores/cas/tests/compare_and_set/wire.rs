//! The wire suite on a store whose server is at the end of a connection, and on two whose errors are of the wrong kind.

mod remote;

use std::{net::SocketAddr, time::Duration};

use dlock_cas::CasProvider;
use dlock_testkit::wire::{CASES, Wired, caught};

use self::remote::{Bug, Remote, serve};

struct Server {
    address: SocketAddr,
    bug: Option<Bug>,
}

impl Server {
    async fn with(bug: Option<Bug>) -> Self {
        Self {
            address: serve().await.unwrap(),
            bug,
        }
    }
}

impl Wired for Server {
    type Provider = CasProvider<Remote>;

    const HANDSHAKE: usize = 0;

    async fn start() -> Self {
        Self::with(None).await
    }

    fn server(&self) -> SocketAddr {
        self.address
    }

    async fn provider(&self, address: SocketAddr, limit: Duration) -> Self::Provider {
        // The way that does not break has no bug either.
        let bug = self.bug.filter(|_| address != self.address);
        CasProvider::new(Remote::new(address, limit, bug))
    }
}

dlock_testkit::wire_conformance!(Server);

/// Plays one case on a store with this bug; it has to fail with these words.
fn is_caught(bug: Bug, by: &str, words: &str) {
    let case = CASES.iter().find(|case| case.name == by).unwrap();
    let complaint = caught(Server::with(Some(bug)), case).unwrap_err();
    assert!(complaint.contains(words), "{complaint}");
}

#[test]
fn lost_reply_told_as_lost_is_caught() {
    is_caught(
        Bug::TellsLost,
        "release_that_let_the_next_holder_in_is_not_denied",
        "a release that had let the next holder in was answered Ok(NotHeld(",
    );
}

#[test]
fn lost_reply_told_as_not_applied_is_caught() {
    is_caught(
        Bug::TellsNotApplied,
        "call_cut_at_any_moment_is_told_truly_and_its_repeat_answered",
        "applied, and denied",
    );
}
