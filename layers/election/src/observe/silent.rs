//! `observe` for builds without the feature `metrics`: it reports and keeps nothing.

use std::time::Duration;

use crate::{Leadership, Transition, label::Label};

pub(crate) struct Run;

pub(crate) const fn takes_part(_election: &Label, _lease: Option<Duration>) {}

pub(crate) const fn knows(_election: &Label, _work: &'static str, _period: Option<Duration>) {}

pub(crate) fn watch(_election: &Label, _leadership: &Leadership) -> std::future::Pending<()> {
    std::future::pending()
}

pub(crate) const fn leads_no_more(_election: &Label) {}

pub(crate) const fn changed(_election: &Label, _transition: &Transition) {}

impl Run {
    pub(crate) const fn begin(_election: &Label, _task: &'static str) -> Self {
        Self
    }

    pub(crate) const fn end(self, _finished: bool) {}
}
