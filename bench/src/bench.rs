//! What all experiments of a run share: the servers, the systems of this process, the samples.

use std::{
    cell::RefCell,
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use anyhow::Result;
use indicatif::ProgressBar;

use crate::{
    results::{Figures, Sample},
    servers::Servers,
    sizes::Sizes,
    systems::{Entry, Kind, Places, SYSTEMS, Store, System},
    tasks::{self, QUEUES},
};

/// A run under way.
pub(crate) struct Bench {
    pub(crate) servers: Servers,
    pub(crate) sizes: Sizes,
    pub(crate) stores: Vec<Store>,
    /// Names of queues; all if empty.
    pub(crate) queues: Vec<String>,
    /// Those of others that can be run, by name.
    pub(crate) queue_peers: Vec<&'static str>,
    pub(crate) progress: ProgressBar,
    samples: RefCell<Vec<Sample>>,
    failures: RefCell<Vec<String>>,
    opened: RefCell<Opened>,
    names: AtomicU64,
}

/// By store and name.
type Opened = HashMap<(Store, &'static str), Arc<dyn System>>;

/// Which sample a figure belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At<'a> {
    pub(crate) run: u32,
    pub(crate) experiment: &'a str,
    pub(crate) case: &'a str,
}

impl Bench {
    pub(crate) fn new(
        servers: Servers,
        sizes: Sizes,
        stores: Vec<Store>,
        progress: ProgressBar,
    ) -> Self {
        Self {
            servers,
            sizes,
            stores,
            queues: Vec::new(),
            queue_peers: Vec::new(),
            progress,
            samples: RefCell::default(),
            failures: RefCell::default(),
            opened: RefCell::default(),
            names: AtomicU64::new(0),
        }
    }

    pub(crate) fn places(&self) -> &Places {
        &self.servers.places
    }

    /// The systems on a store, in the order of the tables.
    pub(crate) fn systems(&self, store: Store) -> impl Iterator<Item = &'static Entry> {
        SYSTEMS.iter().filter(move |entry| entry.store == store)
    }

    /// The queues to measure, in the order of the tables.
    pub(crate) fn queues(&self) -> impl Iterator<Item = &'static tasks::Entry> {
        QUEUES.iter().filter(|queue| {
            self.stores.contains(&queue.store)
                && (self.queues.is_empty() || self.queues.iter().any(|name| name == queue.name))
                && (queue.kind != Kind::Peer || self.queue_peers.contains(&queue.name))
        })
    }

    /// All systems that can wait.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &'static Entry> {
        let stores = self.stores.clone();
        SYSTEMS
            .iter()
            .filter(move |entry| entry.waits && stores.contains(&entry.store))
    }

    /// A system in this process, connected once.
    pub(crate) async fn open(&self, entry: &'static Entry) -> Result<Arc<dyn System>> {
        let key = (entry.store, entry.name);
        if let Some(system) = self.opened.borrow().get(&key) {
            return Ok(Arc::clone(system));
        }
        let system = entry.open(self.places()).await?;
        self.opened.borrow_mut().insert(key, Arc::clone(&system));
        Ok(system)
    }

    /// A name that nothing has used: a cut-off try of an earlier load cannot be in the way.
    pub(crate) fn name(&self, what: &str) -> String {
        format!("{what}-{}", self.names.fetch_add(1, Ordering::Relaxed))
    }

    fn keep(&self, at: At<'_>, store: Store, system: &str, figures: Figures) {
        self.samples.borrow_mut().push(Sample {
            run: at.run,
            experiment: at.experiment.to_owned(),
            store,
            system: system.to_owned(),
            case: at.case.to_owned(),
            figures,
        });
    }

    /// Notes what was measured, or that it failed: one system that fails does not end the run.
    pub(crate) fn settle(&self, at: At<'_>, entry: &Entry, measured: Result<Figures>) {
        self.settle_as(at, entry.store, entry.name, measured);
    }

    /// The same for a queue.
    pub(crate) fn settle_queue(&self, at: At<'_>, entry: &tasks::Entry, measured: Result<Figures>) {
        self.settle_as(at, entry.store, entry.name, measured);
    }

    /// The same for what is in none of the lists.
    pub(crate) fn settle_as(
        &self,
        at: At<'_>,
        store: Store,
        system: &str,
        measured: Result<Figures>,
    ) {
        match measured {
            Ok(figures) => self.keep(at, store, system, figures),
            Err(error) => {
                let At {
                    run,
                    experiment,
                    case,
                } = at;
                self.fail(format!(
                    "run {run}, {experiment} {case}: {system} on {store}: {error:#}"
                ));
            }
        }
    }

    /// Notes that something could not be measured.
    pub(crate) fn fail(&self, failure: String) {
        self.progress.suspend(|| eprintln!("failed: {failure}"));
        self.failures.borrow_mut().push(failure);
    }

    pub(crate) fn finish(self) -> (Vec<Sample>, Vec<String>) {
        (self.samples.into_inner(), self.failures.into_inner())
    }
}
