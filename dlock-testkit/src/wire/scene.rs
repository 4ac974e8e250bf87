//! One call of a provider, with the conditions that must hold before, during and after it.

use std::sync::Arc;

use dlock_core::{
    ErrorKind, Provider, ProviderError,
    provider::{Acquire, AcquireOutcome, Release, ReleaseOutcome, Renew, RenewOutcome},
};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::wiring::{Wiring, ok};
use crate::{faults::Op, slow::in_time};

/// The operations that holders and contenders use.
pub(super) const OPS: [Op; 5] = [Op::Acquire, Op::Renew, Op::RenewMany, Op::Release, Op::Read];

/// A call that is about to be made, on its own names.
#[derive(Clone)]
pub(super) struct Scene {
    pub(super) op: Op,
    terms: Vec<Acquire>,
    direct: Arc<dyn Provider>,
    wiring: Wiring,
}

/// An answer for each of the scene's terms.
pub(super) type Answers = Vec<Result<(), ProviderError>>;

impl Scene {
    /// Prepares what the call needs, such as a lease to renew.
    pub(super) async fn set(wiring: &Wiring, op: Op, direct: &Arc<dyn Provider>) -> Self {
        let terms = match op {
            Op::RenewMany => 3,
            _ => 1,
        };
        let scene = Self {
            op,
            terms: (0..terms)
                .map(|_| wiring.term(Uuid::new_v4().simple()))
                .collect(),
            direct: Arc::clone(direct),
            wiring: wiring.clone(),
        };
        if op != Op::Acquire {
            for term in &scene.terms {
                ok(direct.acquire(term).await);
            }
        }
        scene
    }

    pub(super) fn term(&self) -> &Acquire {
        &self.terms[0]
    }

    /// Makes the call. A wrong answer fails the case.
    pub(super) async fn ask(&self, provider: &dyn Provider) -> Answers {
        let term = self.term();
        let renew = |term: &Acquire| Renew::new(term.name.clone(), term.new, 1);
        let release = Release::new(term.name.clone(), term.new, None);
        match self.op {
            Op::Acquire => match provider.acquire(term).await {
                Ok(AcquireOutcome::Acquired(tokens)) => {
                    let record = ok(self.direct.read(&term.name).await);
                    let stored = record.map(|record| record.token);
                    assert_eq!(
                        stored,
                        Some(tokens.last()),
                        "not the token that the store has"
                    );
                    vec![Ok(())]
                }
                Ok(other) => panic!("acquire should have been granted, not {other:?}"),
                Err(error) => vec![Err(error)],
            },
            Op::Renew => vec![
                provider
                    .renew(&renew(term))
                    .await
                    .map(|outcome| renewed(&outcome)),
            ],
            Op::RenewMany => {
                let requests: Vec<Renew> = self.terms.iter().map(renew).collect();
                let answers = provider.renew_many(&requests).await;
                assert_eq!(answers.len(), requests.len(), "as many answers as requests");
                let checked = answers
                    .into_iter()
                    .map(|answer| answer.map(|outcome| renewed(&outcome)));
                checked.collect()
            }
            Op::Release => vec![provider.release(&release).await.map(|outcome| {
                assert_eq!(
                    outcome,
                    ReleaseOutcome::Released { wanted: false },
                    "asking twice is success"
                );
            })],
            _ => vec![provider.read(&term.name).await.map(|record| {
                let uuid = record.map(|record| record.uuid);
                assert_eq!(uuid, Some(term.new), "that answers another question");
            })],
        }
    }

    /// Whether the store has applied the call, for each term. A read counts as applied.
    pub(super) async fn applied(&self) -> Vec<bool> {
        let mut applied = Vec::new();
        for term in &self.terms {
            let record = ok(self.direct.read(&term.name).await);
            applied.push(record.is_some_and(|record| {
                assert_eq!(record.uuid, term.new, "a stranger's term");
                match self.op {
                    Op::Renew | Op::RenewMany => record.renewals == 1,
                    Op::Release => record.released,
                    _ => true,
                }
            }));
        }
        applied
    }

    /// Checks the answers against the store: a call with `Ok` was applied, one with `NotApplied` was not, and no fault
    /// of a wire is `Fatal`.
    pub(super) async fn is_true(&self, answers: &Answers) {
        for (answer, applied) in answers.iter().zip(self.applied().await) {
            match answer.as_ref().map_err(ProviderError::kind) {
                Ok(()) => assert!(applied, "{:?} was answered and not applied", self.op),
                Err(ErrorKind::NotApplied) if self.op != Op::Read => {
                    assert!(!applied, "{:?}: applied, and denied: {answer:?}", self.op);
                }
                Err(ErrorKind::NotApplied | ErrorKind::Unknown) => {}
                Err(ErrorKind::Fatal) => panic!("{:?}: asking again helps: {answer:?}", self.op),
            }
        }
    }

    /// Repeats the same request: it is answered, at once or as soon as a shared connection is restored, and there is
    /// still one term (A2, R2, L2).
    pub(super) async fn repeat(&self, provider: &dyn Provider, after: &str) {
        let patience = self.wiring.patience();
        let began = Instant::now();
        loop {
            let asked = Instant::now();
            let answers = self.ask(provider).await;
            let error = answers.into_iter().find_map(Result::err);
            match error {
                None => break,
                Some(error) if error.kind() != ErrorKind::Fatal && began.elapsed() < patience => {
                    sleep(patience / 100).await;
                }
                Some(error) => {
                    let late = self.wiring.is_late(asked);
                    let what = format!("{:?} after {after}: {error:?}", self.op);
                    in_time(!late, &what);
                    panic!("the broken connection again: {what}");
                }
            }
        }
        assert!(self.applied().await.into_iter().all(|applied| applied));
    }
}

fn renewed(outcome: &RenewOutcome) {
    assert!(
        matches!(outcome, RenewOutcome::Renewed { .. }),
        "the term is ours: {outcome:?}"
    );
}
