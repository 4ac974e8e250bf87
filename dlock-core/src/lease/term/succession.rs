//! A term that continues: when a lease on it has ended, the next waiter of the same client gets its own lease on it,
//! with the next token of its block (the book, "Waiting": Terms that continue inside a client). Sends nothing: to the
//! store there is one holder.

#[cfg(test)]
mod tests;

use std::{
    any::Any,
    sync::{Arc, Mutex, OnceLock, atomic::AtomicI64},
    time::Duration,
};

use tokio::{runtime::Handle, sync::Notify};
use uuid::Uuid;

use super::{Belief, QueueKey, Term, believed};
use crate::{
    Clock, EndCause, FencingToken, Record, lease::Settings, names::GoesOn, provider::Tokens,
    testing::Event, time::HolderInstant,
};

/// The state that the leases of one term share (T1).
pub(super) struct Block {
    /// The lock of the first one.
    lock: Arc<Settings>,
    tokens: Tokens,
    /// `sent` of the grant.
    began: HolderInstant,
}

impl Block {
    pub(super) fn new(lock: &Arc<Settings>, tokens: Tokens, began: HolderInstant) -> Arc<Self> {
        Arc::new(Self {
            lock: Arc::clone(lock),
            tokens,
            began,
        })
    }
}

impl Term {
    /// Begins the next lease on a term that is on offer.
    pub(crate) fn follow(
        giver: &dyn GoesOn,
        lock: &Arc<Settings>,
        highest_elsewhere: u64,
    ) -> Option<Arc<Self>> {
        let giver: &dyn Any = giver;
        let giver = giver.downcast_ref::<Self>();
        giver
            .filter(|giver| giver.is_for(lock))?
            .succeed(lock, highest_elsewhere)
    }

    /// Whether a lease of this lock may follow on the term.
    fn is_for(&self, lock: &Settings) -> bool {
        let block = self.block.as_ref();
        block.is_some_and(|block| lock.shares_terms_with(&block.lock))
    }

    /// Begins the next lease on this term, for a waiter whose lock shares terms with the giver's. `highest_elsewhere`:
    /// the highest token that the client has seen apart from those of this block (T6).
    ///
    /// The giver's lease has ended. The term is checked again in the same step that begins the next lease: from then
    /// on the new lease learns what an answer to an earlier request says of the *term* ([`Term::refused`]). It does
    /// not learn of an extension by such an answer: that counts for the request's own lease, which has ended.
    fn succeed(&self, lock: &Arc<Settings>, highest_elsewhere: u64) -> Option<Arc<Self>> {
        if lock.store.is_closed() {
            return None;
        }
        let token = self
            .next_token()
            .filter(|token| token.get() > highest_elsewhere)?;
        let mut belief = self.belief();
        if !self.goes_on(&belief) {
            return None;
        }
        let Settings {
            store,
            state,
            name,
            plan,
            ..
        } = &**lock;
        let sent = belief.credited;
        let (valid_until, unsure_from) = (sent + plan.validity(), sent + plan.unsure_after());
        let successor = Arc::new(Self {
            store: Arc::clone(store),
            state: Arc::clone(state),
            name: name.clone(),
            plan: Arc::clone(plan),
            uuid: self.uuid,
            token,
            block: self.block.clone(),
            answered: self.answered,
            home: Handle::current(),
            shard: self.shard,
            renewer: OnceLock::new(),
            queue_key: QueueKey::default(),
            valid_until: AtomicI64::new(valid_until.to_bits()),
            unsure_from: AtomicI64::new(unsure_from.to_bits()),
            belief: Mutex::new(Belief::following(&belief, store.clock.now(), plan.at_least)),
            changed: Notify::new(),
        });
        let believed = || believed(sent, valid_until, unsure_from);
        successor.record(|uuid, token| Event::Granted(uuid, token, believed()));
        belief.successor = Some(Arc::clone(&successor));
        Some(successor)
    }

    /// The store answered R3: the term has ended there, also for the lease that continues it.
    pub(crate) fn refused(&self, record: Option<&Record>) {
        self.emit(Event::RenewalRefused);
        let mut refused = self.refuse(record);
        while let Some(successor) = refused {
            refused = successor.refuse(record);
        }
    }

    /// Ends this lease, and returns the one that has followed it on its term.
    fn refuse(&self, record: Option<&Record>) -> Option<Arc<Self>> {
        let successor = {
            let mut belief = self.belief();
            belief.refused = true;
            belief.successor.clone()
        };
        self.end(EndCause::Refused {
            record: record.cloned().map(Box::new),
            term: (self.uuid, self.last_token()),
        });
        successor
    }

    /// Passes news of the term, which an answer brought, to the leases that have followed on it.
    pub(super) fn tell_successors(&self, news: impl Fn(&mut Belief)) {
        let successor = |term: &Self| term.belief().successor.clone();
        let mut next = successor(self);
        while let Some(term) = next {
            news(&mut term.belief());
            term.changed.notify_waiters();
            next = successor(&term);
        }
    }

    /// Until when the term may stay with its client after this lease. It is not renewed until then: it keeps most of
    /// its validity, and an answer would come too late to matter.
    pub(crate) fn goes_on_until(&self) -> Option<HolderInstant> {
        let block = self.block.as_ref()?;
        Some(block.began + self.plan.succession_time())
    }

    /// The last of the tokens that came with the term, which the record shows.
    fn last_token(&self) -> FencingToken {
        let block = self.block.as_ref();
        block.map_or(self.token, |block| block.tokens.last())
    }

    /// The token after this lease's, if the block has one.
    fn next_token(&self) -> Option<FencingToken> {
        FencingToken::new(self.token.get() + 1).filter(|token| *token <= self.last_token())
    }

    fn goes_on(&self, belief: &Belief) -> bool {
        let now = self.store.clock.now();
        let young = self.goes_on_until().is_some_and(|until| now < until);
        let given_back = matches!(belief.ended, Some(EndCause::Released));
        young
            && given_back
            && !belief.refused
            && !belief.asked
            && belief.successor.is_none()
            && self.next_token().is_some()
    }
}

impl GoesOn for Term {
    fn uuid(&self) -> Uuid {
        self.uuid
    }

    fn duration(&self) -> Duration {
        self.plan.duration
    }

    fn clock(&self) -> &Clock {
        &self.store.clock
    }

    /// This lease must have been released in time, and no ticket drawn on it; a token must be left; no client may
    /// have asked for the lock; and the term must be young, so that its deadline is far away and others wait for it
    /// no longer than they would poll.
    fn may_go_on(&self) -> bool {
        self.goes_on(&self.belief())
    }

    fn is_used_up(&self) -> bool {
        self.next_token().is_none()
    }
}
