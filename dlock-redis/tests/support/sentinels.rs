//! A primary, a replica, and three Sentinels that watch them.

use dlock_redis::RedisProvider;
use dlock_test_servers::redis::sentinel;
use redis::{
    ConnectionAddr,
    sentinel::{SentinelClient, SentinelClientBuilder, SentinelServerType},
};

use super::{SOON, Server, built, eventually, replicated};

/// The Sentinels' name for the primary that they watch.
pub(crate) const NAME: &str = "locks";

/// Servers that choose another primary themselves when theirs is gone.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) primary: Server,
    pub(crate) replica: Server,
    pub(crate) sentinels: Vec<Server>,
}

impl Watched {
    /// Returns when the Sentinels know of one another and of the replica.
    pub(crate) async fn start() -> Self {
        let (primary, replica) = replicated().await;
        let mut sentinels = Vec::new();
        for _ in 0..3 {
            sentinels.push(watching(&primary).await);
        }
        for sentinel in &sentinels {
            eventually("the Sentinels know all", || async move {
                let known: Vec<String> = sentinel.ask(&format!("SENTINEL MASTER {NAME}")).await;
                let is = |field: &str, value: &str| {
                    let mut pairs = known.chunks(2);
                    pairs.any(|pair| *pair == [field, value])
                };
                is("flags", "master") && is("num-slaves", "1") && is("num-other-sentinels", "2")
            })
            .await;
        }
        Self {
            primary,
            replica,
            sentinels,
        }
    }

    pub(crate) fn client(&self) -> SentinelClient {
        client(&self.sentinels.iter().collect::<Vec<_>>())
    }

    /// A provider that follows the primary.
    pub(crate) fn provider(&self) -> RedisProvider {
        let follows = RedisProvider::builder().sentinel(self.client());
        built(follows.call_timeout(SOON).build())
    }
}

/// A Sentinel that watches this primary.
pub(crate) async fn watching(primary: &Server) -> Server {
    match sentinel(NAME, primary.port(), &[]).await {
        Ok(service) => Server { service },
        Err(error) => panic!("no Sentinel: {error}"),
    }
}

/// The settings for finding the primary through these Sentinels.
pub(crate) fn builder(sentinels: &[&Server]) -> SentinelClientBuilder {
    let addresses = sentinels.iter();
    let addresses = addresses.map(|at| ConnectionAddr::Tcp("127.0.0.1".to_owned(), at.port()));
    match SentinelClientBuilder::new(addresses, NAME, SentinelServerType::Master) {
        Ok(builder) => builder,
        Err(error) => panic!("no client of Sentinels: {error}"),
    }
}

pub(crate) fn client(sentinels: &[&Server]) -> SentinelClient {
    match builder(sentinels).build() {
        Ok(client) => client,
        Err(error) => panic!("no client of Sentinels: {error}"),
    }
}
