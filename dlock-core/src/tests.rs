//! What unit tests of several modules share.

pub(crate) mod scripted;
pub(crate) mod traced;
