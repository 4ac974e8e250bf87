//! The client that only renews.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::{Result, bail};
use tokio::{
    runtime::Builder,
    sync::oneshot,
    task::JoinSet,
    time::{sleep, timeout},
};
use uuid::Uuid;

use super::client::{Connection, Site, Who};
use crate::{clock::Moment, statistics::millis};

/// How many leases it has, for how long, and how often it renews each.
const LEASES: usize = 20;
const LEASE_MS: u64 = 10_000;
const EVERY: Duration = Duration::from_millis(200);

/// How long it waits for the answer to a renewal before it reconnects: as long as a client of dlock does.
const PATIENCE: Duration = Duration::from_millis(LEASE_MS / 6);

/// A client with leases. Clones are the same.
#[derive(Clone)]
pub(super) struct Calm {
    site: Site,
    numbers: Arc<AtomicU64>,
}

/// How its renewals ended.
#[derive(Default)]
pub(super) struct Renewed {
    /// How long each took, including earlier tries that were refused or not answered.
    pub(super) millis: Vec<f64>,
    /// Tries that were refused or not answered.
    pub(super) refused: u64,
    /// Leases that were lost.
    pub(super) lost: u64,
}

impl Calm {
    pub(super) fn new(site: Site) -> Self {
        Self {
            site,
            numbers: Arc::default(),
        }
    }

    /// Takes leases, says `ready`, and renews them until this time has passed.
    pub(super) fn renew(&self, span: Duration, ready: oneshot::Sender<()>) -> Result<Renewed> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let mut leases = Vec::new();
            for _ in 0..LEASES {
                leases.push(self.take().await?);
            }
            // The receiver may have gone; that does not matter here.
            ready.send(()).ok();
            let end = Moment::now().after(span);
            let mut renewing = JoinSet::new();
            for (place, lease) in leases.into_iter().enumerate() {
                let first = EVERY / LEASES as u32 * place as u32;
                renewing.spawn(async move {
                    sleep(first).await;
                    lease.renew_until(end).await
                });
            }
            let mut all = Renewed::default();
            while let Some(renewed) = renewing.join_next().await {
                let Renewed {
                    millis,
                    refused,
                    lost,
                } = renewed?;
                all.millis.extend(millis);
                all.refused += refused;
                all.lost += lost;
            }
            Ok(all)
        })
    }

    async fn take(&self) -> Result<Lease> {
        let name = format!("lease-{}", self.numbers.fetch_add(1, Ordering::Relaxed));
        let uuid = Uuid::new_v4();
        let mut connection = self.site.connect().await?;
        let body = format!(r#"{{"name": "{name}", "uuid": "{uuid}", "duration_ms": {LEASE_MS}}}"#);
        let what = "POST /v1/calm/leases/acquire";
        match connection.call(Who::Calm, what, &body).await? {
            200 => Ok(Lease {
                site: self.site.clone(),
                connection: Some(connection),
                name,
                uuid,
            }),
            status => bail!("a lease was not granted: {status}"),
        }
    }
}

struct Lease {
    site: Site,
    connection: Option<Connection>,
    name: String,
    uuid: Uuid,
}

impl Lease {
    async fn renew_until(mut self, end: Moment) -> Renewed {
        let mut renewed = Renewed::default();
        let mut number = 0;
        while Moment::now() < end && renewed.lost == 0 {
            number += 1;
            let began = Moment::now();
            loop {
                match timeout(PATIENCE, self.renew(number)).await {
                    Ok(Ok(200)) => break renewed.millis.push(millis(Moment::now().since(began))),
                    Ok(Ok(409)) => break renewed.lost += 1,
                    // The connection is of no use while its answer is outstanding.
                    refused => {
                        renewed.refused += 1;
                        if !matches!(refused, Ok(Ok(_))) {
                            self.connection = None;
                        }
                        sleep(Duration::from_millis(50)).await;
                    }
                }
                // The lease would be lost by now.
                if Moment::now().since(began) > Duration::from_millis(LEASE_MS) {
                    break renewed.lost += 1;
                }
            }
            sleep(EVERY).await;
        }
        renewed
    }

    async fn renew(&mut self, number: u64) -> std::io::Result<u16> {
        let (name, uuid) = (&self.name, self.uuid);
        let body = format!(r#"{{"name": "{name}", "uuid": "{uuid}", "n": {number}}}"#);
        let connection = match &mut self.connection {
            Some(connection) => connection,
            closed => closed.insert(self.site.connect().await?),
        };
        let what = "POST /v1/calm/leases/renew";
        connection.call(Who::Calm, what, &body).await
    }
}
