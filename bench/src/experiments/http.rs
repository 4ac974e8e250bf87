//! Acquire and release by many clients on names of their own: stores asked directly, the same stores behind a server
//! of ours, and etcd.

use std::{sync::Arc, time::Duration};

use anyhow::{Result, anyhow};
use dlock_test_servers::Service;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use tokio::task::JoinSet;

use crate::{
    account::family_time,
    bench::{At, Bench},
    clock::{Moment, process_time},
    http::{
        OURS, PAIRS,
        etcd::{self, Way},
        server,
    },
    results::{Figures, figures},
    statistics::{micros, percentile},
    systems::{Kind, Lock, Store, System, ours},
};

pub(super) async fn measure(bench: &Bench, run: u32) -> Result<()> {
    let rivals = Rivals::start(bench, run).await;
    for &clients in &bench.sizes.http.clients {
        let case = clients.to_string();
        let at = At {
            run,
            experiment: PAIRS,
            case: &case,
        };
        let mut tallies: Vec<Result<Tally>> = rivals
            .systems
            .iter()
            .map(|_| Ok(Tally::default()))
            .collect();
        for turn in 1..=bench.sizes.http.turns {
            for (rival, tally) in rivals.systems.iter().zip(&mut tallies) {
                bench.progress.set_message(format!(
                    "{clients} clients, turn {turn}: {} on {}",
                    rival.name, rival.store
                ));
                if let Ok(sum) = tally
                    && let Err(error) = rival.turn(bench, clients, sum).await
                {
                    *tally = Err(error);
                }
            }
        }
        settle(bench, at, &rivals.systems, tallies);
    }
    Ok(())
}

/// Notes what each did, and how many pairs that is for each of the store asked directly.
fn settle(bench: &Bench, at: At<'_>, rivals: &[Rival], tallies: Vec<Result<Tally>>) {
    let rates: Vec<Option<f64>> = tallies
        .iter()
        .map(|tally| tally.as_ref().ok().map(Tally::rate))
        .collect();
    for (rival, tally) in rivals.iter().zip(tallies) {
        let direct = rivals.iter().zip(&rates).find_map(|(other, rate)| {
            let is_direct = other.store == rival.store && other.is_direct();
            rate.filter(|_| is_direct)
        });
        let measured = tally.map(|tally| {
            let rate = tally.rate();
            let mut measured = tally.figures();
            if let Some(direct) = direct.filter(|_| !rival.is_direct()) {
                measured.extend(figures([("of_direct", rate / direct)]));
            }
            measured
        });
        bench.settle_as(at, rival.store, rival.name, measured);
    }
}

/// One of those that take turns.
struct Rival {
    store: Store,
    name: &'static str,
    system: Arc<dyn System>,
    /// The process between this one and the store.
    server: Option<u32>,
}

impl Rival {
    /// Ours in the recommended setting, without a server.
    fn is_direct(&self) -> bool {
        let ours = self.store.ours();
        ours.is_some_and(|ours| ours.name == self.name)
    }

    async fn turn(&self, bench: &Bench, clients: usize, sum: &mut Tally) -> Result<()> {
        let name = bench.name("http");
        let locks = (0..clients).map(|client| self.system.lock(&format!("{name}-{client}")));
        let locks: Vec<Box<dyn Lock>> = locks.collect::<Result<_>>()?;
        // Connected, and the names are there.
        let warm = locks
            .iter()
            .map(|lock| async move { lock.acquire().await?.release().await });
        let () = stream::iter(warm)
            .buffer_unordered(clients)
            .try_collect()
            .await?;
        let span = bench.sizes.http.turn;
        let server = || self.server.map_or(Duration::ZERO, family_time);
        let (of_server, of_client) = (server(), process_time());
        let end = Moment::now().after(span);
        let mut crowd = JoinSet::new();
        for lock in locks {
            crowd.spawn(async move {
                let mut took = Vec::new();
                loop {
                    let begin = Moment::now();
                    if begin >= end {
                        return Ok::<_, anyhow::Error>(took);
                    }
                    lock.acquire().await?.release().await?;
                    let now = Moment::now();
                    took.push((now, now.since(begin)));
                }
            });
        }
        while let Some(done) = crowd.join_next().await {
            for (at, took) in done?? {
                sum.took.push(micros(took));
                // What ended after the end is not of this span.
                sum.inside += u32::from(at < end);
            }
        }
        sum.span += span;
        sum.of_server += server().saturating_sub(of_server);
        sum.of_client += process_time().saturating_sub(of_client);
        Ok(())
    }
}

/// What one did in all its turns.
#[derive(Default)]
struct Tally {
    /// Microseconds of each pair.
    took: Vec<f64>,
    inside: u32,
    span: Duration,
    of_server: Duration,
    of_client: Duration,
}

impl Tally {
    fn rate(&self) -> f64 {
        f64::from(self.inside) / self.span.as_secs_f64()
    }

    fn figures(mut self) -> Figures {
        let pairs = self.took.len() as f64;
        let mut measured = figures([
            ("pairs_per_second", self.rate()),
            ("p50_us", percentile(&mut self.took, 0.5)),
            ("p99_us", percentile(&mut self.took, 0.99)),
            ("client_us_per_pair", micros(self.of_client) / pairs),
        ]);
        if !self.of_server.is_zero() {
            measured.extend(figures([(
                "server_us_per_pair",
                micros(self.of_server) / pairs,
            )]));
        }
        measured
    }
}

/// All that take turns, and their servers, which end with this.
struct Rivals {
    systems: Vec<Rival>,
    _servers: Vec<Service>,
}

impl Rivals {
    /// What cannot be started is noted and left out.
    async fn start(bench: &Bench, run: u32) -> Self {
        let (mut systems, mut servers) = (Vec::new(), Vec::new());
        let fail = |store, name, error| {
            let at = At {
                run,
                experiment: PAIRS,
                case: "",
            };
            bench.settle_as(at, store, name, Err(error));
        };
        for store in [Store::Postgres, Store::SQLite] {
            if !bench.stores.contains(&store) {
                continue;
            }
            for entry in bench.systems(store).filter(|one| one.kind == Kind::Ours) {
                match bench.open(entry).await {
                    Ok(system) => systems.push(Rival {
                        store,
                        name: entry.name,
                        system,
                        server: None,
                    }),
                    Err(error) => fail(store, entry.name, error),
                }
            }
            bench
                .progress
                .set_message(format!("starting a server on {store}"));
            let started = async {
                let server = server::start(store, bench.places(), None).await?;
                let system = ours::over_http(server.place().port()).await?;
                Ok((system, server))
            };
            match started.await {
                Ok((system, server)) => {
                    systems.push(Rival {
                        store,
                        name: OURS,
                        system,
                        server: server.place().pid(),
                    });
                    servers.push(server);
                }
                Err(error) => fail(store, OURS, error),
            }
        }
        if !etcd::is_installed() {
            bench.progress.suspend(|| eprintln!("{}", etcd::PACKAGE));
            return Self {
                systems,
                _servers: servers,
            };
        }
        bench.progress.set_message("starting etcd");
        let server = etcd::start().await;
        for way in Way::ALL {
            let opened = match &server {
                Ok(server) => etcd::open(server.place().port(), way).await,
                Err(error) => Err(anyhow!("{error:#}")),
            };
            match opened {
                Ok(system) => systems.push(Rival {
                    store: Store::Etcd,
                    name: way.name(),
                    system,
                    server: server.as_ref().ok().and_then(|one| one.place().pid()),
                }),
                Err(error) => fail(Store::Etcd, way.name(), error),
            }
        }
        servers.extend(server);
        Self {
            systems,
            _servers: servers,
        }
    }
}
