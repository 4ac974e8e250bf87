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
    systems::{Entry, Places, SYSTEMS, Store, System},
};

/// A run under way.
pub(crate) struct Bench {
    pub(crate) servers: Servers,
    pub(crate) sizes: Sizes,
    pub(crate) stores: Vec<Store>,
    pub(crate) progress: ProgressBar,
    samples: RefCell<Vec<Sample>>,
    failures: RefCell<Vec<String>>,
    opened: RefCell<HashMap<(Store, &'static str), Arc<dyn System>>>,
    names: AtomicU64,
}

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

    pub(crate) fn note(&self, at: At<'_>, entry: &Entry, figures: Figures) {
        self.samples.borrow_mut().push(Sample {
            run: at.run,
            experiment: at.experiment.to_owned(),
            store: entry.store,
            system: entry.name.to_owned(),
            case: at.case.to_owned(),
            figures,
        });
    }

    /// Notes what was measured, or that it failed: one system that fails does not end the run.
    pub(crate) fn settle(&self, at: At<'_>, entry: &Entry, measured: Result<Figures>) {
        match measured {
            Ok(figures) => self.note(at, entry, figures),
            Err(error) => {
                let At {
                    run,
                    experiment,
                    case,
                } = at;
                let failure = format!(
                    "run {run}, {experiment} {case}: {} on {}: {error:#}",
                    entry.name, entry.store
                );
                self.progress.suspend(|| eprintln!("failed: {failure}"));
                self.failures.borrow_mut().push(failure);
            }
        }
    }

    pub(crate) fn finish(self) -> (Vec<Sample>, Vec<String>) {
        (self.samples.into_inner(), self.failures.into_inner())
    }
}
