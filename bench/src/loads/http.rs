//! Acquire and release by clients of one server, next to direct calls to the store.

use std::{sync::Arc, time::Duration};

use anyhow::{Context as _, Result};
use dlock_test_servers::Service;

use super::{
    Line, Load, Page,
    throughput::{COLUMNS, WARM, crowd},
};
use crate::{
    bench::{At, Bench, Whose},
    check::{Bound::LeastOfRaw, goal},
    dlock_server,
    systems::{Kind, OURS, Store, System, ours},
};

const CLIENTS: &str = "64 clients";
const FIGURE: &str = "pairs_per_second";

pub(super) const PAGE: Page = Page {
    title: "Acquire and release over HTTP, on names of their own",
    columns: COLUMNS,
    lines: &[Line {
        what: "64 clients over HTTP, next to the store asked directly: pairs/s",
        case: CLIENTS,
        figure: FIGURE,
        more: true,
    }],
    goals: &[
        goal(Store::Postgres, CLIENTS, FIGURE, LeastOfRaw(0.6)),
        goal(Store::SQLite, CLIENTS, FIGURE, LeastOfRaw(0.6)),
    ],
};

pub(super) async fn measure(bench: &Bench, run: u32) -> Result<()> {
    for store in [Store::Postgres, Store::SQLite] {
        if !bench.stores.contains(&store) {
            continue;
        }
        bench.says(format!("a server on {store}"));
        let over = Whose {
            store,
            system: OURS,
            kind: Kind::Ours,
        };
        let direct = Whose {
            system: "dlock, asked directly",
            kind: Kind::Raw,
            ..over
        };
        // The server ends when this is dropped.
        let opened = open(bench, store).await;
        for clients in [1, 64] {
            let at = At {
                run,
                load: Load::Http,
                case: if clients == 1 { "1 client" } else { CLIENTS },
            };
            let (system, _server) = match &opened {
                Ok(opened) => opened,
                Err(error) => {
                    bench.settle(at, over, Err(anyhow::anyhow!("{error:#}")));
                    continue;
                }
            };
            let span = bench.size(Duration::from_secs(2), Duration::from_millis(250));
            let entry = store.ours().context("no lock of ours")?;
            let ours = bench.open(entry).await?;
            for (whose, system) in [(direct, &ours), (over, system)] {
                let name = bench.name("http");
                bench.settle(
                    at,
                    whose,
                    crowd(&**system, &name, clients, WARM, span).await,
                );
            }
        }
    }
    Ok(())
}

async fn open(bench: &Bench, store: Store) -> Result<(Arc<dyn System>, Service)> {
    let server = dlock_server::start(store, bench.places(), &[]).await?;
    let system = ours::over_http(server.place().port()).await?;
    Ok((system, server))
}
