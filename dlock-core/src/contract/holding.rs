//! Marks calls on behalf of a holder, which their requests do not show.

tokio::task_local! {
    static HOLDER: ();
}

/// Treats every call that `calls` makes to a provider, or to a store of tasks, as a holder's call: a store that
/// reserves connections, or turns, for renewals and releases uses them for these calls, too. For programs that keep a
/// lease on behalf of its holder and have to read for it, such as a server. Tasks that `calls` spawns are not
/// included.
///
/// # Cancel safety
/// As `calls`.
pub async fn for_holder<F: Future>(calls: F) -> F::Output {
    HOLDER.scope((), calls).await
}

/// Whether the future that is being polled is within [`for_holder`]. For stores.
#[must_use]
pub fn is_for_holder() -> bool {
    HOLDER.try_with(|()| ()).is_ok()
}
