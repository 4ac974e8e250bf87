//! Each fault does what its documentation says, and every call is recorded.

#![expect(
    clippy::unwrap_used,
    reason = "what is unwrapped here is a failed test"
)]

use std::{future::Future, sync::Arc, time::Duration};

use dlock_core::{
    ErrorKind, Name, Provider,
    provider::{
        Acquire, AcquireOutcome, List, Release, ReleaseOutcome, Renew, RenewOutcome, Wakeup,
    },
};
use dlock_testkit::{
    faults::{Fault, Faulty, Op, Outcome},
    memory::{MemoryProvider, MemoryStore},
};
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

const LONG: Duration = Duration::from_secs(600);
const SECOND: Duration = Duration::from_secs(1);

type Wrapped = Faulty<MemoryProvider>;

fn faulty() -> Wrapped {
    Faulty::new(MemoryProvider::new(&MemoryStore::store_clock()))
}

fn try_for(name: &str) -> Acquire {
    Acquire::new(Name::new(name).unwrap(), Uuid::new_v4(), LONG)
}

async fn holder(faulty: &Wrapped, name: &str) -> Option<Uuid> {
    let record = faulty
        .inner()
        .read(&Name::new(name).unwrap())
        .await
        .unwrap()?;
    (!record.released).then_some(record.uuid)
}

async fn renewals(faulty: &Wrapped, term: &Acquire) -> u64 {
    let record = faulty.inner().read(&term.name).await.unwrap();
    record.unwrap().renewals
}

/// Whether the call was still waiting after a long time.
async fn hangs(call: impl Future) -> bool {
    timeout(LONG, call).await.is_err()
}

#[tokio::test(start_paused = true)]
async fn lost_request_never_arrives() {
    let faulty = faulty();
    faulty.next(Op::Acquire, Fault::LoseRequest);
    let a = try_for("a");
    assert!(hangs(faulty.acquire(&a)).await);
    assert_eq!(holder(&faulty, "a").await, None);
    // Only one call is struck.
    assert!(matches!(
        faulty.acquire(&a).await,
        Ok(AcquireOutcome::Acquired(_))
    ));
}

#[tokio::test(start_paused = true)]
async fn lost_reply_was_applied() {
    let faulty = faulty();
    faulty.next(Op::Acquire, Fault::LoseReply);
    let a = try_for("a");
    assert!(hangs(faulty.acquire(&a)).await);
    assert_eq!(holder(&faulty, "a").await, Some(a.new));
    let calls = faulty.calls();
    assert!(calls[0].answer.is_none() && calls[0].acquire() == Some(&a));
}

#[tokio::test(start_paused = true)]
async fn errors_come_before_or_after_the_store() {
    for (fault, kind, applied) in [
        (Fault::THROTTLED, ErrorKind::NotApplied, false),
        (Fault::FATAL, ErrorKind::Fatal, false),
        (Fault::UNKNOWN_BEFORE, ErrorKind::Unknown, false),
        (Fault::UNKNOWN_AFTER, ErrorKind::Unknown, true),
    ] {
        let faulty = faulty();
        faulty.next(Op::Acquire, fault);
        let a = try_for("a");
        assert_eq!(faulty.acquire(&a).await.unwrap_err().kind(), kind);
        assert_eq!(holder(&faulty, "a").await.is_some(), applied, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn delayed_request_arrives_although_nobody_waits() {
    let faulty = faulty();
    faulty.next(Op::Acquire, Fault::DelayRequest(10 * SECOND));
    let a = try_for("a");
    assert!(timeout(SECOND, faulty.acquire(&a)).await.is_err());
    assert_eq!(holder(&faulty, "a").await, None);
    sleep(10 * SECOND).await;
    assert_eq!(holder(&faulty, "a").await, Some(a.new));
}

#[tokio::test(start_paused = true)]
async fn delayed_reply_is_applied_at_once() {
    let faulty = Arc::new(faulty());
    faulty.next(Op::Acquire, Fault::DelayReply(10 * SECOND));
    let a = try_for("a");
    let asked = Instant::now();
    let call = tokio::spawn({
        let (faulty, a) = (Arc::clone(&faulty), a.clone());
        async move { faulty.acquire(&a).await }
    });
    sleep(SECOND).await;
    assert_eq!(holder(&faulty, "a").await, Some(a.new));
    assert!(call.await.unwrap().is_ok());
    assert_eq!(asked.elapsed(), 10 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn duplicate_arrives_later_or_when_told() {
    let faulty = faulty();
    faulty.next(Op::Renew, Fault::DuplicateAfter(10 * SECOND));
    faulty.next(Op::Renew, Fault::HoldCopy);
    let a = try_for("a");
    faulty.acquire(&a).await.unwrap();
    for n in [1, 2] {
        let renewal = faulty
            .renew(&Renew::new(a.name.clone(), a.new, n))
            .await
            .unwrap();
        assert_eq!(renewal, RenewOutcome::Renewed { asked: false });
    }
    assert_eq!((faulty.held(), faulty.count(Op::Renew)), (1, 2));
    // A store that checked renewal numbers would hide what arrives; this one shows the number alone.
    faulty.inner().store().wipe();
    faulty.inner().acquire(&a).await.unwrap();
    sleep(9 * SECOND).await;
    assert_eq!(renewals(&faulty, &a).await, 0);
    sleep(2 * SECOND).await;
    assert_eq!(renewals(&faulty, &a).await, 1);
    faulty.deliver().await;
    assert_eq!(renewals(&faulty, &a).await, 2);
    assert_eq!(faulty.held(), 0);
}

#[tokio::test(start_paused = true)]
async fn held_request_is_answered_when_delivered() {
    let faulty = faulty();
    faulty.next(Op::Acquire, Fault::HoldRequest);
    let a = try_for("a");
    let call = tokio::spawn({
        let (faulty, a) = (faulty.clone(), a.clone());
        async move { faulty.acquire(&a).await }
    });
    sleep(LONG).await;
    assert_eq!(holder(&faulty, "a").await, None);
    faulty.deliver().await;
    assert!(matches!(
        call.await.unwrap(),
        Ok(AcquireOutcome::Acquired(_))
    ));
}

#[tokio::test(start_paused = true)]
async fn faults_of_the_next_call_come_before_those_of_every_call() {
    let faulty = faulty();
    faulty.always(Op::Read, Fault::THROTTLED);
    faulty.next(Op::Read, Fault::FATAL);
    let name = Name::new("a").unwrap();
    let mut kinds = Vec::new();
    for _ in 0..3 {
        kinds.push(faulty.read(&name).await.unwrap_err().kind());
    }
    assert_eq!(
        kinds,
        [
            ErrorKind::Fatal,
            ErrorKind::NotApplied,
            ErrorKind::NotApplied
        ]
    );
    faulty.clear();
    assert_eq!(faulty.read(&name).await.unwrap(), None);
    faulty.everything(Fault::THROTTLED);
    assert!(
        faulty
            .release(&Release::new(name, Uuid::nil(), None))
            .await
            .is_err()
    );
    assert!(
        dlock_core::provider::Admin::list(&faulty, &List::new(""))
            .await
            .is_err()
    );
}

#[tokio::test(start_paused = true)]
async fn items_of_a_batch_meet_faults_of_their_own() {
    let faulty = faulty();
    let terms = ["a", "b", "c"].map(try_for);
    for term in &terms {
        faulty.acquire(term).await.unwrap();
    }
    faulty.forget_calls();
    let batch: Vec<Renew> = terms
        .iter()
        .map(|term| Renew::new(term.name.clone(), term.new, 1))
        .collect();
    faulty.next(Op::Renew, Fault::THROTTLED);
    faulty.next(Op::Renew, Fault::UNKNOWN_AFTER);
    let answers = faulty.renew_many(&batch).await;
    let kinds: Vec<_> = answers
        .iter()
        .map(|answer| answer.as_ref().err().map(dlock_core::ProviderError::kind))
        .collect();
    assert_eq!(
        kinds,
        [Some(ErrorKind::NotApplied), Some(ErrorKind::Unknown), None]
    );
    let mut numbers = Vec::new();
    for term in &terms {
        numbers.push(
            faulty
                .inner()
                .read(&term.name)
                .await
                .unwrap()
                .unwrap()
                .renewals,
        );
    }
    assert_eq!(numbers, [0, 1, 1]);
    assert_eq!(
        (faulty.count(Op::RenewMany), faulty.count(Op::Renew)),
        (1, 3)
    );

    faulty.next(Op::RenewMany, Fault::THROTTLED);
    assert!(faulty.renew_many(&batch).await.iter().all(Result::is_err));
}

#[tokio::test(start_paused = true)]
async fn wake_ups_can_be_muted_and_broken() {
    let faulty = faulty();
    let mut stream = faulty.watch().await.unwrap().unwrap();
    let a = try_for("a");
    let release = Release::new(a.name.clone(), a.new, None);
    faulty.acquire(&a).await.unwrap();
    faulty.acquire(&try_for("a").marks(1)).await.unwrap();
    faulty.release(&release).await.unwrap();
    assert_eq!(stream.next().await, Some(Wakeup::Name(a.name.clone())));
    faulty.mute_wakeups(true);
    faulty.release(&release).await.unwrap();
    assert!(hangs(stream.next()).await);
    faulty.mute_wakeups(false);
    faulty.release(&release).await.unwrap();
    assert_eq!(stream.next().await, Some(Wakeup::Name(a.name.clone())));
    faulty.break_watches();
    assert_eq!(stream.next().await, None);

    faulty.next(Op::Watch, Fault::THROTTLED);
    assert!(faulty.watch().await.is_err());
    faulty.next(Op::Watch, Fault::LoseReply);
    assert!(hangs(faulty.watch()).await);
    faulty.next(Op::Watch, Fault::DelayReply(SECOND));
    assert!(faulty.watch().await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn every_call_is_on_record() {
    let faulty = faulty();
    let a = try_for("a").owner("worker-7").floor(9);
    faulty.acquire(&a).await.unwrap();
    sleep(SECOND).await;
    faulty
        .release(&Release::new(a.name.clone(), a.new, None))
        .await
        .unwrap();
    let calls = faulty.calls();
    assert_eq!(
        calls.iter().map(|call| call.op).collect::<Vec<_>>(),
        [Op::Acquire, Op::Release]
    );
    assert_eq!(calls[0].acquire(), Some(&a));
    assert_eq!(calls[1].began - calls[0].began, SECOND);
    assert!(matches!(
        calls[0].answer,
        Some(Ok(Outcome::Acquire(AcquireOutcome::Acquired(_))))
    ));
    assert!(matches!(
        calls[1].answer,
        Some(Ok(Outcome::Release(ReleaseOutcome::Released {
            wanted: false
        })))
    ));
    faulty.forget_calls();
    assert!(faulty.calls().is_empty());
}

#[tokio::test]
async fn wrapper_is_the_provider_but_for_sharing() {
    let inside = MemoryProvider::new(&MemoryStore::observer());
    let faulty = Faulty::new(inside.clone());
    assert_eq!(faulty.capabilities(), inside.capabilities());
    assert!(inside.sharing().is_some());
    assert!(
        faulty.sharing().is_none(),
        "a client found through the wrapper would go past its faults"
    );
}

/// Without a script, the wrapper behaves exactly as the provider inside.
mod conformance {
    use std::{sync::Arc, time::Duration};

    use dlock_core::{
        Name,
        provider::{Admin, Capabilities, Discipline, Durability},
    };
    use dlock_testkit::{
        Fixture,
        faults::Faulty,
        memory::{MemoryProvider, MemoryStore},
    };

    struct Wrapped(MemoryStore);

    impl Fixture for Wrapped {
        type Provider = Faulty<MemoryProvider>;

        const CAPABILITIES: Capabilities = Capabilities::new("memory", Discipline::StoreClock)
            .closing(true)
            .marks(true)
            .watch(true)
            .batch(true)
            .durability(Durability::Volatile);
        const PAUSED: bool = true;

        async fn start() -> Self {
            Self(MemoryStore::store_clock())
        }

        async fn provider(&self) -> Self::Provider {
            Faulty::new(MemoryProvider::new(&self.0))
        }

        fn admin(provider: &Self::Provider) -> Option<Arc<dyn Admin>> {
            Some(Arc::new(provider.clone()))
        }

        async fn prefixed(&self, prefix: &str) -> Option<Self::Provider> {
            Some(Faulty::new(MemoryProvider::new(&self.0).prefix(prefix)))
        }

        async fn age(&self, name: &Name, by: Duration) -> bool {
            self.0.age(name, by)
        }
    }

    dlock_testkit::conformance!(Wrapped, without[sharing]);
}
