//! One term, from its grant to its end: what its holder believes, how it is renewed, how it is given
//! back.

mod failure;
mod holding;
mod release;
pub(crate) mod renewal;
pub(crate) mod term;
mod ticket;

pub use self::{
    failure::Error,
    ticket::{ParseTicketError, Ticket},
};
pub(crate) use self::{
    holding::{Holding, at_home},
    release::{Origin, PendingRelease},
    term::{RenewalAttempt, Renewer, Term},
};
