//! Acquire and release of a free lock through a network: the number of round trips counts.

use std::time::Duration;

use anyhow::Result;

use super::{
    Line, Load, Page,
    pair::{COLUMNS, FIGURE, in_turns},
};
use crate::{
    bench::{At, Bench},
    check::{
        Bound::{MostOfRaw, NotAbove},
        goal,
    },
    relay::Relay,
    systems::Store,
};

/// The delay of a segment each way: a fast network of one data centre.
const ONE_WAY: Duration = Duration::from_micros(250);

pub(super) const PAGE: Page = Page {
    title: "The same through a network of 0.25 ms each way (µs)",
    columns: COLUMNS,
    lines: &[Line {
        what: "the same, 0.25 ms away, µs",
        case: "",
        figure: FIGURE,
        more: false,
    }],
    goals: &[
        goal(Store::Redis, "", FIGURE, MostOfRaw(1.05)).open(),
        goal(Store::Postgres, "", FIGURE, MostOfRaw(1.05)).open(),
        goal(Store::DynamoDb, "", FIGURE, MostOfRaw(1.05)).open(),
        // Ours needs more round trips.
        goal(
            Store::Postgres,
            "",
            FIGURE,
            NotAbove("SELECT FOR UPDATE, by hand"),
        ),
    ],
};

pub(super) async fn measure(bench: &Bench, run: u32) -> Result<()> {
    let at = At {
        run,
        load: Load::Network,
        case: "",
    };
    for &store in &bench.stores {
        let mut places = bench.places().clone();
        // A file is not reached through a network.
        let Some(port) = places.port(store) else {
            continue;
        };
        bench.says(format!("through a network, on {store}"));
        *port = Relay::start(*port, ONE_WAY)?.port;
        in_turns(bench, at, store, &places).await?;
    }
    Ok(())
}
