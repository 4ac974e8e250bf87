//! Servers: ours in front of a store, beside the store asked directly, and those of others that keep locks.

pub(crate) mod check;
pub(crate) mod crowd;
pub(crate) mod etcd;
pub(crate) mod keepers;
pub(crate) mod report;
pub(crate) mod server;

/// The loads, as samples call them.
pub(crate) const PAIRS: &str = "http: pairs";
pub(crate) const CROWD: &str = "http: crowd";

/// Ours through one server.
pub(crate) const OURS: &str = "dlock over HTTP";

/// Whether a sample is one of servers.
pub(crate) fn is_of_servers(experiment: &str) -> bool {
    experiment.starts_with("http: ")
}
