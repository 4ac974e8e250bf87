//! `observe` for builds without the feature `metrics`: nothing is told, nothing is measured, nothing is
//! kept.

use std::marker::PhantomData;

use crate::{
    Ended, Error, LossCause, ProviderError,
    attempt::TryEnd,
    client::Shared,
    clock::Tick,
    lock::Settings,
    plan::Plan,
    term::Term,
    waiting::{Acquired, Wait},
};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Group;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Acquire,
    Renew,
    RenewMany,
    Release,
    Read,
    Watch,
}

pub(crate) struct Asking<'a>(PhantomData<&'a Settings>);

pub(crate) struct StoreCall<'a>(PhantomData<&'a Shared>);

impl Group {
    pub(crate) const NONE: Self = Self;

    pub(crate) fn new(_name: Option<String>) -> Self {
        Self
    }
}

impl<'a> Asking<'a> {
    pub(crate) const fn begin(_lock: &'a Settings, _wait: Wait) -> Self {
        Self(PhantomData)
    }

    pub(crate) fn end(self, _answer: &Result<Acquired, Error>) {}
}

impl<'a> StoreCall<'a> {
    pub(crate) const fn begin(
        _shared: &'a Shared,
        _operation: Operation,
        _group: &'a Group,
    ) -> Self {
        Self(PhantomData)
    }

    pub(crate) fn end<T>(self, _answer: &Result<T, ProviderError>) {}
}

pub(crate) const fn built(_lock: &Settings) {}

pub(crate) const fn tried(_lock: &Settings, _end: &TryEnd) {}

pub(crate) fn asks(_question: impl FnOnce() -> bool) -> bool {
    false
}

pub(crate) const fn took_over(_lock: &Settings) {}

pub(crate) const fn renewed(_term: &Term, _before: Option<Tick>) {}

pub(crate) const fn refused(_term: &Term) {}

pub(crate) const fn renewal_failed(_term: &Term, _error: &ProviderError) {}

pub(crate) const fn ended(_term: &Term, _granted: Tick, _deadline: Tick, _cause: &LossCause) {}

pub(crate) const fn handed_on(_shared: &Shared, _plan: &Plan) {}

pub(crate) const fn released(
    _shared: &Shared,
    _plan: &Plan,
    _answer: &Result<Ended, ProviderError>,
) {
}
