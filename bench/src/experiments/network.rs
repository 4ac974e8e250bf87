//! Acquire and release with nobody else there, through a network: what counts is how often a system asks.

use std::time::Duration;

use anyhow::Result;

use super::uncontended;
use crate::{
    bench::{At, Bench},
    relay::Relay,
};

/// What a segment takes each way: a quick network of one data centre.
const ONE_WAY: Duration = Duration::from_micros(250);

pub(super) async fn measure(bench: &Bench, run: u32) -> Result<()> {
    let at = At {
        run,
        experiment: "network",
        case: "",
    };
    for &store in &bench.stores {
        let mut places = bench.places().clone();
        // SQLite is asked without one.
        let Some(port) = places.port(store) else {
            continue;
        };
        bench
            .progress
            .set_message(format!("through a network, on {store}"));
        *port = Relay::start(*port, ONE_WAY)?.port;
        uncontended::in_turns(bench, at, store, &places).await?;
    }
    Ok(())
}
