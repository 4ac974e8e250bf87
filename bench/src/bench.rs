//! The state that all loads of a run share: the servers, the systems of this process, the samples.

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
    cli::Variant,
    loads::Load,
    results::{Figures, Sample},
    servers::Servers,
    systems::{Entry, Kind, Places, SYSTEMS, Store, System},
};

/// A run in progress.
pub(crate) struct Bench {
    pub(crate) servers: Servers,
    pub(crate) stores: Vec<Store>,
    pub(crate) variant: Variant,
    quick: bool,
    progress: ProgressBar,
    samples: RefCell<Vec<Sample>>,
    failures: RefCell<Vec<String>>,
    opened: RefCell<Opened>,
    names: AtomicU64,
}

/// By store and name.
type Opened = HashMap<(Store, &'static str), Arc<dyn System>>;

/// The sample that a figure belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At<'a> {
    pub(crate) run: u32,
    pub(crate) load: Load,
    pub(crate) case: &'a str,
}

/// The system that the figures belong to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Whose {
    pub(crate) store: Store,
    pub(crate) system: &'static str,
    pub(crate) kind: Kind,
}

impl Bench {
    pub(crate) fn new(
        servers: Servers,
        stores: Vec<Store>,
        variant: Variant,
        quick: bool,
        progress: ProgressBar,
    ) -> Self {
        Self {
            servers,
            stores,
            variant,
            quick,
            progress,
            samples: RefCell::default(),
            failures: RefCell::default(),
            opened: RefCell::default(),
            names: AtomicU64::new(0),
        }
    }

    /// A span or a number: the first in a usual run, the second in a quick one.
    pub(crate) fn size<T>(&self, usual: T, quick: T) -> T {
        if self.quick { quick } else { usual }
    }

    pub(crate) fn says(&self, message: String) {
        self.progress.set_message(message);
    }

    pub(crate) fn places(&self) -> &Places {
        &self.servers.places
    }

    /// The systems on a store, in the order of the tables.
    pub(crate) fn systems(&self, store: Store) -> impl Iterator<Item = &'static Entry> {
        SYSTEMS.iter().filter(move |entry| entry.store == store)
    }

    /// Ours in the recommended setting, on each store of the run.
    pub(crate) fn ours(&self) -> impl Iterator<Item = &'static Entry> {
        self.stores.iter().filter_map(|store| store.ours())
    }

    /// All systems that can wait.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &'static Entry> {
        SYSTEMS.iter().filter(|entry| {
            let is_wanted = entry.kind == Kind::Ours || !self.variant.ours;
            entry.waits && is_wanted && self.stores.contains(&entry.store)
        })
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

    /// A name that nothing has used, so that an aborted try of an earlier load cannot be in the way.
    pub(crate) fn name(&self, what: &str) -> String {
        format!("{what}-{}", self.names.fetch_add(1, Ordering::Relaxed))
    }

    /// Keeps the figures, or the failure: the failure of one system does not end the run.
    pub(crate) fn settle(&self, at: At<'_>, whose: impl Into<Whose>, measured: Result<Figures>) {
        let At { run, load, case } = at;
        let Whose {
            store,
            system,
            kind,
        } = whose.into();
        match measured {
            Ok(figures) => self.samples.borrow_mut().push(Sample {
                run,
                load,
                case: case.to_owned(),
                store,
                system: system.to_owned(),
                kind,
                figures,
            }),
            Err(error) => {
                let failure = format!("run {run}, {load:?} {case}: {system} on {store}: {error:#}");
                self.progress.suspend(|| eprintln!("failed: {failure}"));
                self.failures.borrow_mut().push(failure);
            }
        }
    }

    pub(crate) fn finish(self) -> (Vec<Sample>, Vec<String>) {
        (self.samples.into_inner(), self.failures.into_inner())
    }
}

impl From<&Entry> for Whose {
    fn from(entry: &Entry) -> Self {
        Self {
            store: entry.store,
            system: entry.name,
            kind: entry.kind,
        }
    }
}
