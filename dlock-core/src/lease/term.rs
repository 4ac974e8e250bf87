//! A lease on a term as its holder believes in it: until when it is valid, what its renewals reported, how it ended
//! (the book, "Time": Validity and loss). That is why leases of one name are never valid at the same time, and why
//! nothing revives a lost one. Sends nothing; `renewal` and `release` do.

mod belief;
mod handover;
mod renewer;
mod succession;
#[cfg(test)]
pub(crate) mod tests;
mod watching;

use std::{
    num::NonZeroU8,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use tokio::{runtime::Handle, sync::Notify};
use uuid::Uuid;

use self::belief::{Belief, believed};
use self::succession::Block;
pub(crate) use self::{
    belief::RenewalAttempt,
    renewer::{QueueKey, Renewer},
};
use crate::{
    End, EndCause, ErrorKind, FencingToken, Name, ProviderError, State,
    lease::Settings,
    names::NameState,
    provider::Tokens,
    store::Store,
    testing::Event,
    time::{HolderInstant, Plan},
};

/// The state that a lease's handle, its renewals and its watchers share.
pub(crate) struct Term {
    pub(crate) store: Arc<Store>,
    pub(crate) state: Arc<NameState>,
    pub(crate) name: Name,
    /// Shared with its lock, and with all other leases of that lock's settings.
    pub(crate) plan: Arc<Plan>,
    pub(crate) uuid: Uuid,
    /// The lease's own token.
    pub(crate) token: FencingToken,
    /// Shared by the leases of the term, if there may be more than one. Most terms have none.
    block: Option<Arc<Block>>,
    /// Every attempt of its try was answered: no late one is in flight.
    pub(crate) answered: bool,
    /// The runtime that acquired the lease. Its renewals and its release run there: the
    /// connections of another runtime's pool live elsewhere, and a plain thread has none.
    pub(crate) home: Handle,
    /// The part of the store that the name lives in.
    pub(crate) shard: u64,
    /// The renewer of the lease, if it is a guard's, and its key in the timer queue there.
    renewer: OnceLock<Weak<dyn Renewer>>,
    pub(crate) queue_key: QueueKey,
    /// The holder may act before this instant. [`HolderInstant::NEVER`] once the lease has ended.
    valid_until: AtomicI64,
    /// Without a newer success the lease is unsure from here on.
    unsure_from: AtomicI64,
    belief: Mutex<Belief>,
    /// Rung when any of the above changes.
    changed: Notify,
}

impl Term {
    /// The first lease of a term that was granted to a try sent at `sent`.
    pub(crate) fn new(
        lock: &Arc<Settings>,
        uuid: Uuid,
        tokens: Tokens,
        sent: HolderInstant,
        answered: bool,
    ) -> Arc<Self> {
        let Settings {
            store,
            state,
            name,
            plan,
            ..
        } = &**lock;
        state.granted(uuid, tokens.last());
        let home = Handle::current();
        let block = (tokens.count() > NonZeroU8::MIN).then(|| {
            state.has_block(home.id(), &store.clock);
            Block::new(lock, tokens, sent)
        });
        let token = tokens.first();
        let (valid_until, unsure_from) = (sent + plan.validity(), sent + plan.unsure_after());
        let believed = || believed(sent, valid_until, unsure_from);
        store.record(name, || Event::Granted(uuid, token, believed()));
        let belief = Belief::new(sent, plan.at_least);
        Arc::new(Self {
            shard: store.provider.shard(name),
            renewer: OnceLock::new(),
            queue_key: QueueKey::default(),
            store: Arc::clone(store),
            state: Arc::clone(state),
            name: name.clone(),
            plan: Arc::clone(plan),
            uuid,
            token,
            block,
            answered,
            home,
            valid_until: AtomicI64::new(valid_until.to_bits()),
            unsure_from: AtomicI64::new(unsure_from.to_bits()),
            belief: Mutex::new(belief),
            changed: Notify::new(),
        })
    }

    /// Computed from the clock at every call. A deadline once seen in the past is replaced by [`HolderInstant::NEVER`],
    /// so that no later answer, and no reading of the clock that was taken earlier, can bring the lease back.
    pub(crate) fn is_valid(&self) -> bool {
        loop {
            let deadline = self.valid_until.load(Ordering::SeqCst);
            if deadline == HolderInstant::NEVER.to_bits() {
                return false;
            }
            if self.store.clock.now() < HolderInstant::from_bits(deadline) {
                return true;
            }
            if self.close_at(deadline) {
                return false;
            }
        }
    }

    /// The remainder of the lease: zero once it has ended.
    pub(crate) fn remaining(&self) -> Duration {
        if self.is_valid() {
            self.deadline().since(self.store.clock.now())
        } else {
            Duration::ZERO
        }
    }

    /// Valid, unsure or lost.
    pub(crate) fn state(&self) -> State {
        if let Some(loss) = self.over() {
            return State::Ended(loss);
        }
        let late = self.store.clock.now() >= self.unsure_from();
        if late || self.belief().fatal {
            State::Unsure
        } else {
            State::Valid
        }
    }

    /// As [`Store::emit`].
    pub(crate) fn emit(&self, event: impl FnOnce(Uuid, FencingToken) -> Event) {
        let event = || event(self.uuid, self.token);
        self.store.emit(&self.name, &self.plan, event);
    }

    /// As [`Store::record`].
    pub(crate) fn record(&self, event: impl FnOnce(Uuid, FencingToken) -> Event) {
        let event = || event(self.uuid, self.token);
        self.store.record(&self.name, event);
    }

    /// This renewer renews the lease from now on.
    pub(crate) fn renewed_by(&self, renewer: Weak<dyn Renewer>) {
        self.renewer.get_or_init(|| renewer);
    }

    /// How the lease ended, once it has.
    pub(crate) fn over(&self) -> Option<End> {
        if self.is_valid() {
            return None;
        }
        let cause = self.end_with(self.belief(), Belief::expired);
        Some(End {
            token: self.token,
            cause,
            work_finished: false,
        })
    }

    /// `sent` of the newest attempt that is known to have succeeded.
    pub(crate) fn credited(&self) -> HolderInstant {
        self.belief().credited
    }

    pub(crate) fn since_success(&self) -> Duration {
        self.store.clock.now().since(self.credited())
    }

    /// Another client asked for the lock (B3).
    pub(crate) fn asked(&self) -> bool {
        self.belief().asked
    }

    /// Resolves at any change of the lease. The caller checks again.
    pub(crate) fn changed(&self) -> tokio::sync::futures::Notified<'_> {
        self.changed.notified()
    }

    /// When the next renewal is due: never earlier than `renew_every` after the `sent` of the grant or of the last
    /// success.
    pub(crate) fn renewal_due(&self) -> HolderInstant {
        self.belief().credited + self.plan.renew_every
    }

    /// When renewals stop because the lease was held for the longest time allowed.
    pub(crate) fn renewals_end(&self) -> Option<HolderInstant> {
        let limit = self.plan.max_hold?;
        Some(self.belief().granted + limit)
    }

    /// Renewals have stopped for that reason: the remainder of the lease runs out.
    pub(crate) fn held_too_long(&self) {
        self.belief().held_too_long = true;
    }

    /// The number and the `sent` of a new renewal attempt; `None` once the lease has ended or its release has begun.
    ///
    /// Both are drawn under one lock: a larger number never has an earlier `sent`, and only that makes R2 sound.
    pub(crate) fn next_attempt(&self) -> Option<RenewalAttempt> {
        if !self.is_valid() {
            return None;
        }
        let mut belief = self.belief();
        if belief.ended.is_some() {
            return None;
        }
        belief.n += 1;
        let sent = self.store.clock.now();
        belief.last_sent = sent;
        Some(RenewalAttempt { n: belief.n, sent })
    }

    /// The time for one attempt: D/6, and never more than the remainder of the lease.
    pub(crate) fn attempt_limit(&self) -> Duration {
        self.plan.attempt().min(self.remaining())
    }

    /// The store answered `Renewed` to this attempt. Returns false if that came too late: a success at or after the
    /// deadline does not count.
    pub(crate) fn renewed(&self, attempt: RenewalAttempt, asked: bool) -> bool {
        let in_time = self.extend(attempt, asked);
        if asked {
            self.tell_successors(|belief| belief.asked = true);
        }
        if !in_time {
            self.emit(Event::RenewedLate);
        }
        in_time
    }

    /// Moves the deadline, unless it had passed.
    fn extend(&self, RenewalAttempt { n, sent }: RenewalAttempt, asked: bool) -> bool {
        let mut belief = self.belief();
        belief.asked |= asked;
        belief.confirmed = belief.confirmed.max(n);
        let extended = sent + self.plan.validity();
        let (before, later) = loop {
            let deadline = self.valid_until.load(Ordering::SeqCst);
            if deadline == HolderInstant::NEVER.to_bits()
                || (self.store.clock.now() >= HolderInstant::from_bits(deadline)
                    && self.close_at(deadline))
            {
                return false;
            }
            // It never moves back: an older attempt may be answered after a newer one.
            let later = deadline.max(extended.to_bits());
            if self
                .valid_until
                .compare_exchange(deadline, later, Ordering::SeqCst, Ordering::SeqCst)
                .is_ok()
            {
                break (HolderInstant::from_bits(deadline), later);
            }
        };
        if sent >= belief.credited {
            belief.credited = sent;
            belief.fatal = false;
            belief.last_error = None;
            let unsure_from = (sent + self.plan.unsure_after()).to_bits();
            self.unsure_from.store(unsure_from, Ordering::SeqCst);
        }
        let left = || before.since(self.store.clock.now()).as_secs_f64();
        let renewed = || Event::Renewed {
            uuid: self.uuid,
            token: self.token,
            n,
            left: left() / self.plan.duration.as_secs_f64(),
            believed: believed(sent, HolderInstant::from_bits(later), self.unsure_from()),
        };
        self.store.record(&self.name, renewed);
        drop(belief);
        self.changed.notify_waiters();
        self.store.measure(&self.plan, renewed);
        true
    }

    /// An attempt got no answer. That is no loss, and it delays nothing.
    pub(crate) fn unanswered(&self, error: ProviderError) {
        self.emit(|uuid, token| Event::RenewalFailed(uuid, token, error.clone()));
        let ended = !self.is_valid();
        let mut belief = self.belief();
        let fatal = error.kind() == ErrorKind::Fatal;
        belief.fatal |= fatal;
        // An attempt that the end of the lease cut short says nothing of the cause; the one before it may have.
        if !ended || belief.last_error.is_none() {
            belief.last_error = Some(error);
        }
        drop(belief);
        self.changed.notify_waiters();
        if fatal {
            self.tell_successors(|belief| belief.fatal = true);
        }
    }

    /// The store itself has answered that the term has ended: there is nothing to release.
    pub(crate) fn was_refused(&self) -> bool {
        matches!(self.belief().ended, Some(EndCause::Refused { .. }))
    }

    /// Ends the lease; the first cause stays.
    fn end(&self, cause: EndCause) {
        // If the deadline has passed already, that came first.
        let valid = self.is_valid();
        let belief = self.belief();
        let cause = if valid { cause } else { belief.expired() };
        // Before the end is emitted: a task that then queries the cause waits for the lock.
        self.valid_until
            .store(HolderInstant::NEVER.to_bits(), Ordering::SeqCst);
        self.end_with(belief, |_| cause);
        if let Some(renewer) = self.renewer.get().and_then(Weak::upgrade) {
            renewer.remove(self);
        }
        self.changed.notify_waiters();
    }

    /// The cause of the end. When it is first set, the recorder gets it at once, and metrics once no lock is held any
    /// more.
    fn end_with(
        &self,
        mut belief: MutexGuard<'_, Belief>,
        cause: impl FnOnce(&Belief) -> EndCause,
    ) -> EndCause {
        let first = belief.ended.is_none();
        let cause = belief.end_with(cause);
        let (granted, deadline) = (belief.granted, belief.credited + self.plan.validity());
        let ended = || Event::Ended {
            uuid: self.uuid,
            token: self.token,
            // To its deadline, if that has passed.
            held: deadline.min(self.store.clock.now()).since(granted),
            cause: cause.clone(),
        };
        if first {
            self.store.record(&self.name, ended);
        }
        drop(belief);
        if first {
            self.store.measure(&self.plan, ended);
        }
        cause
    }

    /// Ends the lease if this is still its deadline.
    fn close_at(&self, deadline: i64) -> bool {
        let never = HolderInstant::NEVER.to_bits();
        let closed = self
            .valid_until
            .compare_exchange(deadline, never, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok();
        if closed {
            self.changed.notify_waiters();
        }
        closed
    }

    /// Until when the lease is valid; long past once it is known to have ended.
    pub(crate) fn deadline(&self) -> HolderInstant {
        HolderInstant::from_bits(self.valid_until.load(Ordering::SeqCst))
    }

    fn unsure_from(&self) -> HolderInstant {
        HolderInstant::from_bits(self.unsure_from.load(Ordering::SeqCst))
    }

    fn belief(&self) -> MutexGuard<'_, Belief> {
        self.belief.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
