//! Work that runs only while its lock is held: the part of `with` that follows the acquire.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::pin,
    task::Poll,
};

use crate::{End, Error, FencingToken, Guard, State};

/// The protection that work runs under: a [`Guard`], or a layer's own guard over several locks.
pub trait Scope: Send + Sync {
    /// The token or tokens that the work gets.
    type Tokens: Send;

    /// The fencing token, or one for each lock.
    fn tokens(&self) -> Self::Tokens;

    /// As [`LeaseView::state`](crate::LeaseView::state): ended if any lock of it has.
    fn state(&self) -> State;

    /// As [`LeaseView::is_valid`](crate::LeaseView::is_valid): checked at each poll of the work.
    fn is_valid(&self) -> bool;

    /// As [`LeaseView::ended`](crate::LeaseView::ended): the first loss.
    fn ended(&self) -> impl Future<Output = End> + Send;

    /// Releases, and waits for the answer for a sixth of the lease at most, and never past its end. After that the
    /// release continues in the background.
    fn give_back(self) -> impl Future<Output = ()> + Send;
}

/// How the work ended.
enum Work<T> {
    Finished(T),
    /// The lease ended first; the work was dropped where it stood.
    Cancelled(End),
    Panicked(Box<dyn Any + Send>),
}

/// Runs the work under the guard, and releases when the work has ended and has been dropped.
/// [`DLock::with`](crate::DLock::with) calls this after it has acquired.
///
/// # Errors
/// [`Error::Lost`] if the lease ended before the work had.
///
/// # Cancel safety
/// Dropping the future drops the work, then the guard.
pub async fn run<S, F, Fut, T>(guard: S, work: F) -> Result<T, Error>
where
    S: Scope,
    F: FnOnce(S::Tokens) -> Fut,
    Fut: Future<Output = T>,
{
    let ended = drive(&guard, work).await;
    // The work no longer exists. Only the clock can say now whether it ended in time.
    let late = match guard.state() {
        State::Ended(loss) => Some(loss),
        _ => None,
    };
    guard.give_back().await;
    match (ended, late) {
        (Work::Panicked(panic), _) => resume_unwind(panic),
        (Work::Cancelled(loss), _) => Err(loss.into()),
        (Work::Finished(_), Some(mut loss)) => {
            loss.work_finished = true;
            Err(loss.into())
        }
        (Work::Finished(value), None) => Ok(value),
    }
}

/// Polls for the loss before the work, each time; drops the work before it returns.
async fn drive<S, F, Fut, T>(guard: &S, work: F) -> Work<T>
where
    S: Scope,
    F: FnOnce(S::Tokens) -> Fut,
    Fut: Future<Output = T>,
{
    let mut lost = pin!(guard.ended());
    if let State::Ended(loss) = guard.state() {
        return Work::Cancelled(loss);
    }
    // A panic must not skip the release, nor let the release overtake the work: it is caught, the work is dropped,
    // the lock is released, and then the panic continues. Nothing of the work is used after that, hence the
    // assertion.
    let work = match catch_unwind(AssertUnwindSafe(|| work(guard.tokens()))) {
        Ok(work) => work,
        Err(panic) => return Work::Panicked(panic),
    };
    let mut work = pin!(work);
    std::future::poll_fn(|context| {
        if let Poll::Ready(loss) = lost.as_mut().poll(context) {
            return Poll::Ready(Work::Cancelled(loss));
        }
        // A timer that is due may not have fired yet; the clock decides.
        if !guard.is_valid()
            && let State::Ended(loss) = guard.state()
        {
            return Poll::Ready(Work::Cancelled(loss));
        }
        match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(value)) => Poll::Ready(Work::Finished(value)),
            Err(panic) => Poll::Ready(Work::Panicked(panic)),
        }
    })
    .await
}

impl Scope for Guard {
    type Tokens = FencingToken;

    fn tokens(&self) -> FencingToken {
        (**self).token()
    }

    fn state(&self) -> State {
        (**self).state()
    }

    fn is_valid(&self) -> bool {
        (**self).is_valid()
    }

    fn ended(&self) -> impl Future<Output = End> + Send {
        (**self).ended()
    }

    /// Normally the lock is free when `with` returns. A store that does not answer must not keep the work's result
    /// from its caller, least of all until another client holds the lock: the release then continues in the
    /// background.
    async fn give_back(self) {
        if self.was_refused() {
            return;
        }
        let patience = self.release_patience();
        tokio::select! {
            biased;
            // Its outcome is logged where it runs.
            _ = self.release() => {}
            () = patience => {}
        }
    }
}
