//! Leases that are renewed through a server, each by a client with a connection of its own, and how that went.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::Result;
use dlock_core::{
    Client, DLock, Guard, Name,
    testing::{Event, Recorder},
};
use serde::{Deserialize, Serialize};
use tokio::{task::JoinHandle, time::sleep};

use crate::{
    results::{Figures, figures},
    statistics::{millis, percentile},
    systems::ours::http_provider,
};

/// How often all leases are looked at.
const LOOK: Duration = Duration::from_millis(50);

/// Which leases.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Kept {
    pub(crate) port: u16,
    pub(crate) name: String,
    pub(crate) leases: usize,
    pub(crate) duration: Duration,
}

/// The leases, while they are renewed.
pub(crate) struct Keepers {
    took: Took,
    watch: JoinHandle<Watch>,
    /// Ends the watch when it is dropped.
    stop: tokio::sync::oneshot::Sender<()>,
}

/// How long renewals took that were answered with success, in milliseconds.
#[derive(Clone, Default)]
struct Took(Arc<Mutex<Vec<f64>>>);

impl Recorder for Took {
    fn record(&self, _: &Name, now: Duration, event: Event) {
        if let Event::Renewed { believed, .. } = event {
            let took = millis(now.saturating_sub(believed.sent));
            self.0
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(took);
        }
    }
}

/// What was seen of them.
struct Watch {
    lost: usize,
    /// The smallest time that any had left.
    spare: Duration,
}

impl Keepers {
    /// Takes the leases.
    pub(crate) async fn start(kept: Kept) -> Result<Self> {
        let Kept {
            port,
            name,
            leases,
            duration,
        } = kept;
        let took = Took::default();
        let mut guards = Vec::new();
        for number in 0..leases {
            let client = Client::new(http_provider(port).await?).recorded(Arc::new(took.clone()));
            let lock = DLock::builder()
                .name(format!("{name}-{number}"))
                .duration(duration)
                .provider(client)
                .build()?;
            guards.push(lock.hold().await?);
        }
        let (stop, stopped) = tokio::sync::oneshot::channel();
        Ok(Self {
            took,
            watch: tokio::spawn(watch(guards, stopped)),
            stop,
        })
    }

    /// How the renewals went until now.
    pub(crate) async fn end(self) -> Result<Figures> {
        let Self { took, watch, stop } = self;
        drop(stop);
        let Watch { lost, spare } = watch.await?;
        let mut took = took.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(figures([
            ("renewals", took.len() as f64),
            ("renewal_p50_ms", percentile(&mut took, 0.5)),
            ("renewal_p99_ms", percentile(&mut took, 0.99)),
            ("renewal_worst_ms", percentile(&mut took, 1.0)),
            ("least_spare_ms", millis(spare)),
            ("lost", lost as f64),
        ]))
    }
}

async fn watch(guards: Vec<Guard>, mut stopped: tokio::sync::oneshot::Receiver<()>) -> Watch {
    let mut spare = Duration::MAX;
    loop {
        let least = guards.iter().map(Guard::remaining).min();
        spare = spare.min(least.unwrap_or_default());
        tokio::select! {
            _ = &mut stopped => break,
            () = sleep(LOOK) => {}
        }
    }
    let lost = guards.iter().filter(|guard| !guard.is_valid()).count();
    Watch { lost, spare }
}
