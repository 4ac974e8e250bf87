//! The number of requests to a store: the table of the crate's page.

use dlock_cas::CasProvider;
use dlock_core::{
    Provider,
    provider::{AcquireOutcome, Release, ReleaseOutcome, Renew, RenewOutcome},
};

use crate::support::{
    Asked::{Get, Put},
    Scripted, term,
};

const RENEWED: RenewOutcome = RenewOutcome::Renewed { asked: false };

#[tokio::test]
async fn renewals_and_the_release_are_one_request_each() {
    let store = Scripted::default();
    let provider = CasProvider::new(store.clone());
    let a = term("door");
    provider.acquire(&a).await.unwrap();
    assert_eq!(store.asked(), [Get, Put]);
    for n in 1..=3 {
        let renew = Renew::new(a.name.clone(), a.new, n);
        assert_eq!(provider.renew(&renew).await.unwrap(), RENEWED);
        assert_eq!(store.asked(), [Put]);
    }
    let release = Release::new(a.name.clone(), a.new, None);
    let released = provider.release(&release).await.unwrap();
    assert_eq!(released, ReleaseOutcome::Released { wanted: false });
    assert_eq!(store.asked(), [Put]);
    provider.acquire(&term("door")).await.unwrap();
    assert_eq!(store.asked(), [Put]);
}

#[tokio::test]
async fn refusal_is_a_look_and_a_takeover_after_it_is_one_write() {
    let store = Scripted::default();
    let a = term("door");
    CasProvider::new(store.clone()).acquire(&a).await.unwrap();
    let provider = CasProvider::new(store.clone());
    store.asked();
    let b = term("door");
    for _ in 0..2 {
        let AcquireOutcome::Held(seen) = provider.acquire(&b).await.unwrap() else {
            panic!("another term holds it");
        };
        assert_eq!((seen.uuid, store.asked()), (a.new, vec![Get]));
    }
    // The first mark of a term is one more write, also from the cache, and the second a read.
    for asked in [vec![Put], vec![Get]] {
        let held = provider.acquire(&b.clone().marks(7)).await.unwrap();
        assert!(matches!(held, AcquireOutcome::Held(record) if record.wanted == 7));
        assert_eq!(store.asked(), asked);
    }
    let seen = provider.read(&a.name).await.unwrap().unwrap();
    store.asked();
    let taken = provider.acquire(&b.prev(Some(seen.version()))).await;
    assert!(matches!(taken, Ok(AcquireOutcome::Acquired(tokens)) if tokens.first() > seen.token));
    assert_eq!(store.asked(), [Put]);
}

/// The mark is another client's write, which costs the holder one more request, once.
#[tokio::test]
async fn marked_term_is_renewed_after_a_look_and_its_release_is_wanted() {
    let store = Scripted::default();
    let here = CasProvider::new(store.clone());
    let a = term("door");
    here.acquire(&a).await.unwrap();
    let marking = term("door").marks(7);
    let held = CasProvider::new(store.clone()).acquire(&marking).await;
    assert!(matches!(held, Ok(AcquireOutcome::Held(_))), "{held:?}");
    store.asked();
    for (n, asked) in [(1, vec![Put, Get, Put]), (2, vec![Put])] {
        let renew = Renew::new(a.name.clone(), a.new, n);
        assert_eq!(here.renew(&renew).await.unwrap(), RENEWED);
        assert_eq!(store.asked(), asked);
    }
    let release = Release::new(a.name.clone(), a.new, None);
    let released = here.release(&release).await.unwrap();
    assert_eq!(released, ReleaseOutcome::Released { wanted: true });
    assert_eq!(store.asked(), [Put]);
}

/// Every record of the cache is outdated here, and no answer follows it.
#[tokio::test]
async fn outdated_records_cost_a_request_and_decide_nothing() {
    let store = Scripted::default();
    let (here, there) = (
        CasProvider::new(store.clone()),
        CasProvider::new(store.clone()),
    );
    let (a, b) = (term("door"), term("door"));
    let released = |of: &dlock_core::provider::Acquire| Release::new(of.name.clone(), of.new, None);
    here.acquire(&a).await.unwrap();
    there.read(&a.name).await.unwrap();
    here.release(&released(&a)).await.unwrap();
    store.asked();

    // Held, as far as it knows: it reads.
    assert!(matches!(
        there.acquire(&b).await,
        Ok(AcquireOutcome::Acquired(_))
    ));
    assert_eq!(store.asked(), [Get, Put]);
    // Released, as far as it knows: it writes, is refused, and reads.
    let held = here.acquire(&term("door")).await;
    assert!(matches!(held, Ok(AcquireOutcome::Held(record)) if record.uuid == b.new));
    assert_eq!(store.asked(), [Put, Get]);
    // Of another term, as far as it knows: it reads.
    there.release(&released(&b)).await.unwrap();
    store.asked();
    let renewed = here.renew(&Renew::new(b.name.clone(), b.new, 1)).await;
    assert!(matches!(renewed, Ok(RenewOutcome::Lost(Some(record))) if record.released));
    assert_eq!(store.asked(), [Put, Get]);
    // Held by that term, as far as it knows, and gone.
    let c = term("door");
    here.acquire(&c).await.unwrap();
    there.read(&c.name).await.unwrap();
    here.release(&released(&c)).await.unwrap();
    here.acquire(&term("door")).await.unwrap();
    store.asked();
    let not_held = there.release(&released(&c)).await;
    assert_eq!(store.asked(), [Put, Get]);
    // This store may repeat writes automatically: perhaps a repeat released it.
    assert_eq!(not_held.unwrap_err().kind(), dlock_core::ErrorKind::Unknown);
    let not_held = there.release(&released(&c)).await;
    assert!(matches!(not_held, Ok(ReleaseOutcome::NotHeld(Some(_)))));
}
