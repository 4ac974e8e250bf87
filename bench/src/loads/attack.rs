//! Renewals of one client while another attacks the same server.

mod calm;
mod client;
mod ways;

use std::{fs, time::Duration};

use anyhow::{Context as _, Result, anyhow};
use dlock_test_servers::{Service, certificates::Certificates};
use tempfile::TempDir;
use tokio::{sync::oneshot, task::JoinSet, time::sleep};

use self::{
    calm::{Calm, Renewed},
    client::Site,
    ways::Way,
};
use super::{Load, Page};
use crate::{
    bench::{At, Bench, Whose},
    dlock_server,
    results::{Figures, figures},
    statistics::percentile,
    systems::{Kind, OURS, Places, Store},
};

/// The bound for the 99th percentile of the renewals.
const BOUND: Duration = Duration::from_secs(1);

/// How many connections the server accepts: one attack takes them all.
const CONNECTIONS: &str = "400";

/// How long attackers have to connect. After that, those that are connected begin.
const CONNECTED: Duration = Duration::from_secs(10);

/// The pause between two attacks, in which calls in flight end.
const PAUSE: Duration = Duration::from_secs(6);

pub(super) const PAGE: Page = Page {
    title: "Renewals of 20 leases of 10 s while another client attacks the server",
    columns: &[
        ("renewals", "renewals"),
        ("p50, ms", "p50_ms"),
        ("p99, ms", "p99_ms"),
        ("worst, ms", "max_ms"),
        ("refused", "refused"),
        ("lost leases", "lost"),
        ("calls of the attacker", "attacks"),
    ],
    lines: &[],
    goals: &[],
};

pub(super) async fn measure(bench: &Bench, run: u32) -> Result<()> {
    for store in [Store::Postgres, Store::SQLite] {
        if !bench.stores.contains(&store) {
            continue;
        }
        let whose = Whose {
            store,
            system: OURS,
            kind: Kind::Ours,
        };
        let at = |case| At {
            run,
            load: Load::Attack,
            case,
        };
        match Attacked::start(store, bench.places()).await {
            Err(error) => bench.settle(at("start"), whose, Err(error)),
            Ok(attacked) => {
                let span = bench.size(Duration::from_secs(10), Duration::from_secs(2));
                for way in Way::ALL {
                    bench.says(format!("{} on {store}", way.name()));
                    let renewed = attacked.renew_during(way, span).await;
                    let broken = renewed.as_ref().ok().and_then(broken);
                    bench.settle(at(way.name()), whose, renewed);
                    if let Some(broken) = broken {
                        bench.settle(at(way.name()), whose, Err(anyhow!(broken)));
                    }
                }
            }
        }
    }
    Ok(())
}

/// The harm that the attack has done, if any.
fn broken(figures: &Figures) -> Option<String> {
    let figure = |name: &str| figures.get(name).copied().unwrap_or(f64::INFINITY);
    let (p99, lost) = (figure("p99_ms"), figure("lost"));
    let holds = p99 < BOUND.as_secs_f64() * 1e3 && lost == 0.0;
    (!holds).then(|| format!("p99 of renewals is {p99} ms, and {lost} leases were lost"))
}

/// A server, and both of its clients.
struct Attacked {
    site: Site,
    calm: Calm,
    _server: Service,
    _folder: TempDir,
}

impl Attacked {
    async fn start(store: Store, places: &Places) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let certificates = Certificates::new(folder.path(), client::HOST)?;
        let tokens = folder.path().join("tokens.toml");
        fs::write(&tokens, client::TOKENS)?;
        let options = [
            "--tls-cert".as_ref(),
            certificates.certificate.as_os_str(),
            "--tls-key".as_ref(),
            certificates.key.as_os_str(),
            "--tokens".as_ref(),
            tokens.as_os_str(),
            "--max-connections".as_ref(),
            CONNECTIONS.as_ref(),
        ];
        let server = dlock_server::start(store, places, &options).await?;
        let site = Site::new(server.place().port(), &certificates.authority)?;
        ways::prepare(&site)
            .await
            .context("preparing the attacks")?;
        Ok(Self {
            calm: Calm::new(site.clone()),
            site,
            _server: server,
            _folder: folder,
        })
    }

    /// The calm client renews in a separate thread, which no task of the attacker delays.
    async fn renew_during(&self, way: Way, span: Duration) -> Result<Figures> {
        let (site, mut attackers) = (self.site.anew(), JoinSet::new());
        way.attack(&site, &mut attackers);
        site.all_connected(attackers.len(), CONNECTED).await;
        let (ready, is_ready) = oneshot::channel();
        let calm = self.calm.clone();
        let renewing = tokio::task::spawn_blocking(move || calm.renew(span, ready));
        if is_ready.await.is_ok() {
            site.begin();
        }
        let renewed = renewing.await?;
        attackers.shutdown().await;
        sleep(PAUSE).await;
        let attacks = site.calls();
        let Renewed {
            mut millis,
            refused,
            lost,
        } = renewed?;
        Ok(figures([
            ("renewals", millis.len() as f64),
            ("p50_ms", percentile(&mut millis, 0.5)),
            ("p99_ms", percentile(&mut millis, 0.99)),
            ("max_ms", percentile(&mut millis, 1.0)),
            ("refused", refused as f64),
            ("lost", lost as f64),
            ("attacks", attacks as f64),
        ]))
    }
}
