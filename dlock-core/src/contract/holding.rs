//! Calls of holders that their requests do not show.

tokio::task_local! {
    static HOLDER: ();
}

/// Makes every call of a provider, or of a store of tasks, that `calls` polls a holder's: a store that keeps connections, or
/// turns, for renewals and releases gives them to these calls, too. For programs that keep a lease on behalf of its holder and
/// have to read for it, such as a server. A task that `calls` spawns is not meant.
///
/// # Cancel safety
/// As `calls`.
pub async fn for_holder<F: Future>(calls: F) -> F::Output {
    HOLDER.scope((), calls).await
}

/// Whether the future that is polled now is within [`for_holder`]. For stores.
#[must_use]
pub fn is_for_holder() -> bool {
    HOLDER.try_with(|()| ()).is_ok()
}
