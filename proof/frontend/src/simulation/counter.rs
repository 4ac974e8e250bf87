//! The place where holders leave tickets and redeemers find them (H7): as text, which is how they travel.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use dlock_core::Ticket;

use super::plan::Copies;

/// The tickets of a run, by name.
#[derive(Clone, Default)]
pub(super) struct Counter(Arc<Mutex<BTreeMap<String, VecDeque<String>>>>);

impl Counter {
    pub(super) fn leave(&self, ticket: &Ticket) {
        let mut tickets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_name = tickets.entry(ticket.name().as_str().to_owned());
        of_name.or_default().push_back(ticket.to_string());
    }

    /// The oldest ticket for this name; an error says that it could not be read.
    pub(super) fn take(&self, name: &str, copies: Copies) -> Option<Result<Ticket, String>> {
        let mut tickets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = tickets.get_mut(name)?.pop_front()?;
        if copies == Copies::More {
            let of_name = tickets.entry(name.to_owned());
            of_name.or_default().push_back(text.clone());
        }
        Some(text.parse().map_err(|error| format!("{text}: {error}")))
    }
}
