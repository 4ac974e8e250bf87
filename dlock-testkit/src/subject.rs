//! A provider under test, called with an expectation: each method panics unless the answer meets it, and shows the
//! answer.

use std::{sync::Arc, time::Duration};

use dlock_core::{
    ErrorKind, FencingToken, Name, Provider, Record,
    provider::{
        Acquire, AcquireOutcome, Admin, Ask, AskOutcome, Closing, Discipline, List, Page, Release,
        ReleaseOutcome, Renew, RenewOutcome, Revoke, RevokeOutcome, Tokens,
    },
};

use tokio::time::Instant;

use crate::{answers::Answers, slow::in_time};

/// The first answer within a few attempts; every request may be repeated (A2, A3, R2, L2).
macro_rules! answer {
    ($self:ident, $what:literal, $ask:expr) => {{
        let mut tries = 0;
        loop {
            tries += 1;
            let asked = Instant::now();
            match $ask.await {
                Ok(answer) => {
                    $self.answers.answered();
                    break answer;
                }
                Err(error) => $self.answers.failed($what, tries, asked.elapsed(), &error),
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }};
}

/// A provider under test.
#[derive(Clone)]
pub struct Subject {
    provider: Arc<dyn Provider>,
    discipline: Discipline,
    answers: Arc<Answers>,
}

#[expect(
    clippy::missing_panics_doc,
    reason = "an unexpected answer is a panic everywhere here; the module says so"
)]
impl Subject {
    pub(crate) fn new(
        provider: Arc<dyn Provider>,
        discipline: Discipline,
        answers: Arc<Answers>,
    ) -> Self {
        Self {
            provider,
            discipline,
            answers,
        }
    }

    /// The provider itself.
    #[must_use]
    pub fn provider(&self) -> &Arc<dyn Provider> {
        &self.provider
    }

    /// The answer to an acquire, whichever it is; a `Held` must fit rule A7.
    pub async fn acquire(&self, request: &Acquire) -> AcquireOutcome {
        let outcome = answer!(self, "acquire", self.provider.acquire(request));
        match &outcome {
            AcquireOutcome::Held(record) => self.refusal_fits(request, record),
            AcquireOutcome::Acquired(tokens) => assert!(
                tokens.count() <= request.tokens,
                "more tokens than the {} asked for: {tokens:?}",
                request.tokens
            ),
            AcquireOutcome::Spent => {}
        }
        outcome
    }

    /// A1, A2, A4, A5 or A6: the token that the record shows.
    pub async fn grants(&self, request: &Acquire) -> FencingToken {
        self.mints(request).await.last()
    }

    /// A1, A2, A4, A5 or A6: all the tokens.
    pub async fn mints(&self, request: &Acquire) -> Tokens {
        match self.acquire(request).await {
            AcquireOutcome::Acquired(tokens) => tokens,
            other => panic!("acquire should have been granted, but was answered {other:?}"),
        }
    }

    /// A7, by a term whose lease outlasts the case: the record that refused.
    pub async fn refuses(&self, request: &Acquire) -> Record {
        refused(self.acquire(request).await)
    }

    /// A7, by a lease or a closing that lasts until `end`: the record that refused.
    pub async fn refuses_until(&self, end: Instant, request: &Acquire) -> Record {
        let outcome = self.acquire(request).await;
        in_time(Instant::now() < end, "the lease may have ended");
        refused(outcome)
    }

    /// A3.
    pub async fn spends(&self, request: &Acquire) {
        let outcome = self.acquire(request).await;
        assert_eq!(
            outcome,
            AcquireOutcome::Spent,
            "a late duplicate resurrects nothing (A3)"
        );
    }

    /// A page of records.
    pub async fn list(&self, admin: &dyn Admin, request: &List) -> Page {
        answer!(self, "list", admin.list(request))
    }

    /// The outcome of a revocation; one that was applied without an answer is repeated, with the same outcome (B1).
    pub async fn revoke(&self, admin: &dyn Admin, request: &Revoke) -> RevokeOutcome {
        answer!(self, "revoke", admin.revoke(request))
    }

    /// The outcome of asking a term for its lock (B3).
    pub async fn ask(&self, admin: &dyn Admin, request: &Ask) -> AskOutcome {
        answer!(self, "ask", admin.ask(request))
    }

    /// The outcome of ending the term that was seen (B2).
    pub async fn force(&self, admin: &dyn Admin, name: &Name, seen: &Record) -> ReleaseOutcome {
        answer!(self, "force_release", admin.force_release(name, seen))
    }

    /// How many old records were deleted, not counting those of an attempt without an answer.
    pub async fn purge(&self, admin: &dyn Admin, limit: usize) -> u64 {
        answer!(self, "purge", admin.purge(limit))
    }

    /// An acquire that fails with `Fatal`.
    pub async fn fails(&self, request: &Acquire) {
        match self.provider.acquire(request).await {
            Err(error) if error.kind() == ErrorKind::Fatal => {}
            other => {
                panic!("acquire should have failed with a fatal error, but was answered {other:?}")
            }
        }
    }

    /// The answer to a renewal of this term, whichever it is; a `Lost` must fit rule R3.
    pub async fn renew(&self, term: &Acquire, n: u64) -> RenewOutcome {
        let request = Renew::new(term.name.clone(), term.new, n);
        let outcome = answer!(self, "renew", self.provider.renew(&request));
        if let RenewOutcome::Lost(Some(record)) = &outcome {
            let ours = record.uuid == term.new && !record.released;
            let expired = self.discipline == Discipline::StoreClock
                && record.remaining == Some(Duration::ZERO);
            assert!(
                !ours || (record.renewals < n && expired),
                "Lost shows a record that fits R1 or R2: {record:?}"
            );
        }
        outcome
    }

    /// R1 or R2: whether the lock was asked for (B3).
    pub async fn renews(&self, term: &Acquire, n: u64) -> bool {
        match self.renew(term, n).await {
            RenewOutcome::Renewed { asked } => asked,
            other @ RenewOutcome::Lost(_) => {
                panic!("renewal {n} should have succeeded, but was answered {other:?}")
            }
        }
    }

    /// R3: the record that shows it.
    pub async fn loses(&self, term: &Acquire, n: u64) -> Option<Record> {
        match self.renew(term, n).await {
            RenewOutcome::Lost(record) => record,
            other @ RenewOutcome::Renewed { .. } => {
                panic!("renewal {n} should have been lost, but was {other:?}")
            }
        }
    }

    /// L1 or L2: whether the term was marked (N3).
    pub async fn releases(&self, term: &Acquire, token: Option<FencingToken>) -> bool {
        match self.release(term, token).await {
            ReleaseOutcome::Released { wanted } => wanted,
            other @ ReleaseOutcome::NotHeld(_) => {
                panic!("the term's release should have succeeded, but was answered {other:?}")
            }
        }
    }

    /// L3: the record that shows it.
    pub async fn holds_not(&self, term: &Acquire) -> Option<Record> {
        match self.release(term, None).await {
            ReleaseOutcome::NotHeld(record) => {
                let ours = record
                    .as_ref()
                    .is_some_and(|record| record.uuid == term.new);
                assert!(
                    !ours,
                    "NotHeld shows a record that fits L1 or L2: {record:?}"
                );
                record
            }
            ReleaseOutcome::Released { .. } => {
                panic!("a release of a term that is not in the store was answered Released")
            }
        }
    }

    /// The answer to a release that closes the name (B4).
    pub async fn close(
        &self,
        term: &Acquire,
        token: Option<FencingToken>,
        closing: Closing,
    ) -> ReleaseOutcome {
        let request = Release::new(term.name.clone(), term.new, token).closing(Some(closing));
        answer!(self, "release", self.provider.release(&request))
    }

    /// The record, which must be there.
    pub async fn record(&self, name: &Name) -> Record {
        match self.read(name).await {
            Some(record) => record,
            None => panic!("the record should be in the store, but read shows none"),
        }
    }

    /// The record, if one exists.
    pub async fn read(&self, name: &Name) -> Option<Record> {
        answer!(self, "read", self.provider.read(name))
    }

    async fn release(&self, term: &Acquire, token: Option<FencingToken>) -> ReleaseOutcome {
        let request = Release::new(term.name.clone(), term.new, token);
        answer!(self, "release", self.provider.release(&request))
    }

    /// The store may answer `Held` only with a record that fits A7, read in a single look.
    fn refusal_fits(&self, request: &Acquire, record: &Record) {
        assert_ne!(
            record.uuid, request.new,
            "Held shows the asker's own term: A2 or A3"
        );
        assert!(
            !record.released,
            "Held shows a released record, which fits A4: an answer from two looks"
        );
        assert_ne!(
            request.prev,
            Some(record.version()),
            "Held shows the claimed version, which fits A6"
        );
        match self.discipline {
            Discipline::StoreClock => {
                let remaining = record
                    .remaining
                    .unwrap_or_else(|| panic!("Held without what remains: {record:?}"));
                assert!(
                    remaining <= record.duration,
                    "more remains than the lease lasts: {record:?}"
                );
            }
            Discipline::Observer => {
                assert_eq!(
                    record.remaining, None,
                    "this store's clock decides nothing, so nothing remains"
                );
            }
        }
    }
}

/// Two readings of a record with no write in between. Only the remaining time may differ, and it may only shrink.
///
/// # Panics
/// If anything else differs.
#[track_caller]
pub fn unchanged(before: &Record, after: &Record) {
    assert!(
        after.remaining.unwrap_or(Duration::ZERO) <= before.remaining.unwrap_or(Duration::ZERO),
        "the lease was extended: {before:?} became {after:?}"
    );
    assert_eq!(still(before), still(after), "the record changed");
}

/// The record of a term that this request has just begun: *take it* writes every field.
///
/// # Panics
/// If a field is not the new term's.
#[track_caller]
pub fn began(record: &Record, request: &Acquire, token: FencingToken) {
    let mut expected = Record::new(
        request.new,
        &request.owner,
        record.since,
        token,
        request.duration,
    );
    expected.data.clone_from(&request.data);
    assert_eq!(
        still(record),
        expected,
        "the record is not wholly the new term's"
    );
}

/// The record without the fields that change with time alone.
fn still(record: &Record) -> Record {
    let mut record = record.clone();
    record.remaining = None;
    record
}

impl std::fmt::Debug for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subject")
            .field("discipline", &self.discipline)
            .finish_non_exhaustive()
    }
}

#[track_caller]
fn refused(outcome: AcquireOutcome) -> Record {
    match outcome {
        AcquireOutcome::Held(record) => record,
        other => panic!("acquire should have been refused as held, but was answered {other:?}"),
    }
}
