//! The election that a metric is about.
//!
//! `label/silent.rs` is the version for builds without the feature: it keeps nothing.

use std::sync::Arc;

use dlock_core::metrics::SharedString;

/// The label that distinguishes the metrics of one election.
#[derive(Clone)]
pub(crate) struct Label(Arc<str>);

impl Label {
    pub(crate) fn new(name: &str) -> Self {
        Self(name.into())
    }

    pub(crate) fn word(&self) -> SharedString {
        SharedString::from_shared(Arc::clone(&self.0))
    }
}
