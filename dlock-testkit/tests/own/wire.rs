//! The wire suite on a driver that keeps it, and on one that repeats by itself what got no answer.

mod plain {
    use crate::tcp::Tcp;

    dlock_testkit::wire_conformance!(Tcp);
}

mod repeating {
    use std::{net::SocketAddr, time::Duration};

    use dlock_testkit::wire::Wired;

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

    dlock_testkit::wire_conformance!(Repeating);
}
