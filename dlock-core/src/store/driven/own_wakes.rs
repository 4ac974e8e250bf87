//! A caller that drives work and waits for its result wakes itself: the work wakes the answer, and taking the answer
//! wakes the work, all in one poll of one task. If the runtime learned of that, it would poll the task once more, and
//! with several threads wake another worker for it, which takes the task's connections along. So wakes that come
//! while the caller polls only make it check again.

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Wake, Waker},
};

/// How often the caller checks again in one poll. Anything that is ready more often gets its next turn from the
/// runtime.
pub(super) const ROUNDS: usize = 4;

/// The waker for everything that a caller polls.
#[derive(Default)]
pub(super) struct OwnWakes(Mutex<State>);

#[derive(Default)]
enum State {
    /// The caller is polling.
    #[default]
    Polling,
    /// The caller is polling, and was woken meanwhile.
    Woken,
    /// The caller is not polling, and this waker wakes it; `None` if it has been woken.
    Resting(Option<Waker>),
}

impl OwnWakes {
    /// A round begins.
    pub(super) fn begin(&self) {
        let before = mem::replace(&mut *self.state(), State::Polling);
        // Without the lock: a waker may run any code.
        drop(before);
    }

    /// A round has ended, and the caller is about to rest. Returns false if it was woken meanwhile.
    pub(super) fn rest(&self, caller: &Waker) -> bool {
        let caller = caller.clone();
        let mut state = self.state();
        let rests = !matches!(*state, State::Woken);
        if rests {
            *state = State::Resting(Some(caller));
        }
        rests
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for OwnWakes {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let caller = match &mut *self.state() {
            State::Resting(caller) => caller.take(),
            state => {
                *state = State::Woken;
                None
            }
        };
        // Without the lock, too.
        if let Some(caller) = caller {
            caller.wake();
        }
    }
}
