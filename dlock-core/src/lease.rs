//! One term, from its grant to its end: what its holder believes, how it is renewed, how it is released.

mod failure;
mod holding;
mod offering;
mod release;
pub(crate) mod renewal;
mod settings;
pub(crate) mod term;
mod ticket;
mod view;

pub use self::{
    failure::Error,
    ticket::{ParseTicketError, Ticket},
    view::LeaseView,
};
pub(crate) use self::{
    holding::{Holding, at_home},
    release::{Origin, PendingRelease},
    settings::{Settings, checked_data, checked_owner},
    term::{RenewalAttempt, Renewer, Term},
};
