//! Which election a metric is about.
//!
//! `label/silent.rs` has the same for builds without the feature: it keeps nothing.

use std::sync::Arc;

use dlock_core::metrics::SharedString;

/// What the metrics of one election are told apart by.
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
