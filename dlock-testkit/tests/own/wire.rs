//! The wire suite on a driver that passes it, and on one that automatically repeats calls that got no answer.

mod plain {
    use crate::tcp::Tcp;

    dlock_testkit::wire_conformance!(Tcp);
}

mod repeating {
    use std::{net::SocketAddr, time::Duration};

    use dlock_testkit::wire::{Wired, run_all_but};

    use crate::tcp::{Bug, Tcp, TcpProvider};

    struct Repeating(Tcp);

    impl Wired for Repeating {
        type Provider = TcpProvider;

        const HANDSHAKE: usize = Tcp::HANDSHAKE;

        async fn start() -> Self {
            Self(Tcp::with(Some(Bug::Repeats)).await)
        }

        fn server(&self) -> SocketAddr {
            self.0.server()
        }

        async fn provider(&self, address: SocketAddr, limit: Duration) -> TcpProvider {
            self.0.provider(address, limit).await
        }
    }

    /// A repeated release finds the next holder and reports "not held": that is a bug, and the only one of this driver.
    #[test]
    fn cases_but_that_of_a_repeated_release_pass() {
        run_all_but::<Repeating>(&["release_that_let_the_next_holder_in_is_not_denied"]);
    }
}
