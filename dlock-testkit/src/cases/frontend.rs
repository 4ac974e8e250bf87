//! The rules of the frontend, run over every provider through the fault wrapper: what a holder
//! believes, how a waiter waits, what is left behind when somebody goes away.
//!
//! Most cases move the client's clock by hand, so that a whole lease passes in no time and to the
//! nanosecond, on a store whose own time goes on as usual.

/// The modules whose cases check the frontend.
pub(super) const MODULES: &[&str] = &[
    "at_least",
    "batching",
    "cancelling",
    "closing",
    "fairness",
    "ghosts",
    "handing",
    "letting",
    "limits",
    "looking",
    "observing",
    "outages",
    "outliving",
    "polling",
    "queueing",
    "releasing",
    "renewing",
    "scoped",
    "sharing",
    "stories",
    "tickets",
    "tries",
    "validity",
];

mod bed;
mod meddler;

pub(super) mod at_least;
pub(super) mod batching;
pub(super) mod cancelling;
pub(super) mod closing;
pub(super) mod fairness;
pub(super) mod ghosts;
pub(super) mod handing;
pub(super) mod letting;
pub(super) mod limits;
pub(super) mod looking;
pub(super) mod observing;
pub(super) mod outages;
pub(super) mod outliving;
pub(super) mod polling;
pub(super) mod queueing;
pub(super) mod releasing;
pub(super) mod renewing;
pub(super) mod scoped;
pub(super) mod sharing;
pub(super) mod stories;
pub(super) mod tickets;
pub(super) mod tries;
pub(super) mod validity;
