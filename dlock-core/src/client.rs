//! What one process shares over one provider.
/// The shared part of a client.
pub(crate) struct Shared;
