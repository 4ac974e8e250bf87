//! The output of each program.

/// Runs the function once for each kind of store that is compiled in, with a place of that kind.
macro_rules! on_every_store {
    ($test:ident) => {
        #[tokio::test]
        async fn sqlite() {
            $test(crate::place::sqlite()).await;
        }

        #[cfg(feature = "postgres")]
        #[tokio::test]
        async fn postgres() {
            $test(crate::place::postgres().await).await;
        }

        #[cfg(feature = "redis")]
        #[tokio::test]
        async fn redis() {
            $test(crate::place::redis().await).await;
        }

        #[cfg(feature = "dynamodb")]
        #[tokio::test]
        async fn dynamodb() {
            $test(crate::place::dynamodb()).await;
        }

        #[cfg(feature = "etcd")]
        #[tokio::test]
        #[ignore = "takes an etcd: scripts/proof"]
        async fn etcd() {
            $test(crate::place::etcd().await).await;
        }
    };
}

mod cron;
mod diagrams;
mod fencing;
#[cfg(feature = "tasks")]
mod generator;
mod leader;
#[cfg(feature = "metrics")]
mod metrics;
mod quickstart;
#[cfg(feature = "tasks")]
mod tasks;
#[cfg(feature = "web")]
mod web;
