//! Very many leases of one process that renew themselves; and what renewing a thousand costs, one at
//! a time and in one batch.

use std::{sync::Arc, time::Duration};

use anyhow::{Result, anyhow, bail, ensure};
use dlock_core::{
    Name, Provider,
    provider::{Acquire, AcquireOutcome, Renew, RenewOutcome},
};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use uuid::Uuid;

use crate::{
    bench::{At, Bench},
    clock::Moment,
    results::{Figures, figures},
    statistics::{median, micros},
    systems::{
        Entry, LEASE, Store,
        ours::{self, Waiting},
    },
    worker::{Answer, Lease, Order, Worker},
};

/// Terms of the batch, and how often it is renewed.
const BATCH: u64 = 1_000;
const ROUNDS: u64 = 9;

pub(super) async fn measure(bench: &Bench) -> Result<()> {
    for entry in bench.stores.iter().filter_map(|store| store.ours()) {
        bench
            .progress
            .set_message(format!("renewing a thousand leases on {}", entry.store));
        for (case, figures) in match batches(bench, entry).await {
            Ok(both) => Vec::from(both.map(|(case, figures)| (case, Ok(figures)))),
            Err(error) => vec![("", Err(error))],
        } {
            let at = At {
                run: 0,
                experiment: "renewing 1,000 leases",
                case,
            };
            bench.settle(at, entry, figures);
        }
        for &leases in &bench.sizes.leases {
            if leases > most(entry.store) {
                continue;
            }
            bench
                .progress
                .set_message(format!("{leases} leases on {}", entry.store));
            let at = At {
                run: 0,
                experiment: "renewals",
                case: &leases.to_string(),
            };
            bench.settle(at, entry, keep(bench, entry, leases).await);
        }
    }
    Ok(())
}

/// A file and an emulator are no stores for a hundred thousand leases.
const fn most(store: Store) -> usize {
    match store {
        Store::Redis | Store::Postgres => usize::MAX,
        Store::SQLite => 10_000,
        Store::DynamoDb => 1_000,
        Store::Etcd => 0,
    }
}

/// Leases in a process of their own, so that its time and memory are theirs.
async fn keep(bench: &Bench, entry: &Entry, leases: usize) -> Result<Figures> {
    let lease = Lease {
        store: entry.store,
        places: bench.places().clone(),
        name: bench.name("renewed"),
        duration: LEASE,
        waiting: Waiting::Called,
    };
    let mut worker = Worker::start()?;
    let order = Order::Renew {
        lease,
        leases,
        watch: bench.sizes.renewals,
    };
    let Answer::Ready = worker.ask(&order).await? else {
        bail!("the worker did not take the leases");
    };
    let used = bench.servers.processor_time(entry.store);
    let Answer::Renewed(mut renewed) = worker.hear().await? else {
        bail!("the worker did not renew");
    };
    let used = bench
        .servers
        .processor_time(entry.store)
        .saturating_sub(used);
    // Quicker than giving so many leases back; they run out.
    worker.kill().await?;
    let per = |figure: &str| used.as_secs_f64() / renewed.get(figure).copied().unwrap_or(f64::NAN);
    let stores = figures([
        ("cores_of_the_store", per("span_s")),
        ("us_of_the_store_per_renewal", per("renewals") * 1e6),
    ]);
    renewed.extend(stores);
    Ok(renewed)
}

/// Through the provider alone.
async fn batches(bench: &Bench, entry: &Entry) -> Result<[(&'static str, Figures); 2]> {
    let provider: Arc<dyn Provider> = ours::provider(entry.store, bench.places(), Waiting::Called)?;
    let name = bench.name("batch");
    let terms = stream::iter(0..BATCH).map(|number| {
        let (provider, name) = (Arc::clone(&provider), Name::new(format!("{name}-{number}")));
        async move {
            let request = Acquire::new(name?, Uuid::new_v4(), Duration::from_secs(600));
            match provider.acquire(&request).await? {
                AcquireOutcome::Acquired(_) => Ok((request.name, request.new)),
                other => Err(anyhow!("a new lock was answered {other:?}")),
            }
        }
    });
    let terms: Vec<(Name, Uuid)> = terms.buffer_unordered(16).try_collect().await?;
    let requests = move |n| -> Vec<Renew> {
        let requests = terms.iter();
        requests
            .map(|(name, uuid)| Renew::new(name.clone(), *uuid, n))
            .collect()
    };

    // In a task, as for `uncontended`.
    let measured = tokio::spawn(async move {
        let mut together = Vec::new();
        for n in 1..=ROUNDS {
            let requests = requests(n);
            let begin = Moment::now();
            let answers = provider.renew_many(&requests).await;
            together.push(micros(Moment::now().since(begin)) / BATCH as f64);
            for answer in answers {
                renewed(&answer?)?;
            }
        }
        let mut alone = Vec::new();
        for request in requests(ROUNDS + 1) {
            let begin = Moment::now();
            let answer = provider.renew(&request).await?;
            alone.push(micros(Moment::now().since(begin)));
            renewed(&answer)?;
        }
        Ok::<_, anyhow::Error>((alone, together))
    });
    let (mut alone, mut together) = measured.await??;
    Ok([
        (
            "one at a time",
            figures([("us_per_lease", median(&mut alone))]),
        ),
        (
            "in one batch",
            figures([("us_per_lease", median(&mut together))]),
        ),
    ])
}

fn renewed(answer: &RenewOutcome) -> Result<()> {
    ensure!(
        matches!(answer, RenewOutcome::Renewed { .. }),
        "a renewal was refused"
    );
    Ok(())
}
