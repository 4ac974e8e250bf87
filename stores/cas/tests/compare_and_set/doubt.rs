//! A refused write proves nothing: a read follows, and without one the answer is `Unknown`.

use dlock_cas::{CasProvider, CasStore};
use dlock_core::{
    ErrorKind, Provider, ProviderError,
    provider::{Acquire, AcquireOutcome, Release, ReleaseOutcome, Renew, RenewOutcome},
};

use crate::support::{
    Asked::{Get, Put},
    Fault, Scripted, term,
};

fn failures() -> [ProviderError; 3] {
    [
        ProviderError::not_applied("throttled"),
        ProviderError::unknown("timed out"),
        ProviderError::fatal("no rights"),
    ]
}

/// A held lock, and no fault so far.
async fn held() -> (Scripted, CasProvider<Scripted>, Acquire) {
    let store = Scripted::default();
    let provider = CasProvider::new(store.clone());
    let a = term("door");
    provider.acquire(&a).await.unwrap();
    store.asked();
    (store, provider, a)
}

#[tokio::test]
async fn look_that_fails_after_a_refusal_leaves_it_unknown() {
    for failure in failures() {
        let (store, provider, a) = held().await;
        let renew = Renew::new(a.name.clone(), a.new, 1);
        store.puts([Fault::Twice]);
        store.gets([Fault::Before(failure.clone())]);
        let error = provider.renew(&renew).await.unwrap_err();
        assert_eq!(store.asked(), [Put, Get]);
        assert_eq!(error.kind(), ErrorKind::Unknown, "{failure:?}");
        // The write was made.
        let renewed = provider.renew(&renew).await.unwrap();
        assert_eq!(renewed, RenewOutcome::Renewed { asked: false });
        assert_eq!(store.asked(), [Get]);
    }
}

#[tokio::test]
async fn write_that_fails_after_a_refusal_leaves_it_unknown() {
    for failure in failures() {
        let (store, provider, a) = held().await;
        store.puts([Fault::Lost, Fault::Before(failure.clone())]);
        let renew = Renew::new(a.name.clone(), a.new, 1);
        let error = provider.renew(&renew).await.unwrap_err();
        assert_eq!(store.asked(), [Put, Get, Put]);
        assert_eq!(error.kind(), ErrorKind::Unknown, "{failure:?}");
    }
}

#[tokio::test]
async fn record_that_cannot_be_read_after_a_refusal_leaves_it_unknown() {
    let (store, provider, a) = held().await;
    let key = format!("/{}", a.name);
    let found = store.memory.get(&key).await.unwrap().unwrap();
    let foreign = store
        .memory
        .put_if(&key, b"42".to_vec(), Some(&found.version));
    assert!(matches!(foreign.await, Ok(dlock_cas::Put::Done(_))));
    let renew = Renew::new(a.name.clone(), a.new, 1);
    let error = provider.renew(&renew).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unknown, "{error:?}");
    // Nothing was refused before this read.
    let error = provider.renew(&renew).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
}

#[tokio::test]
async fn errors_before_any_refusal_keep_their_kind() {
    for failure in failures() {
        let (store, provider, a) = held().await;
        store.puts([Fault::Before(failure.clone())]);
        let renew = Renew::new(a.name.clone(), a.new, 1);
        let error = provider.renew(&renew).await.unwrap_err();
        assert_eq!(error.kind(), failure.kind());
        store.gets([Fault::Before(failure.clone())]);
        let error = provider.acquire(&term("window")).await.unwrap_err();
        assert_eq!(error.kind(), failure.kind());
    }
}

#[tokio::test]
async fn three_refusals_are_no_answer() {
    let (store, provider, a) = held().await;
    store.puts([Fault::Lost, Fault::Lost, Fault::Lost]);
    let renew = Renew::new(a.name.clone(), a.new, 1);
    let error = provider.renew(&renew).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unknown);
    assert_eq!(store.asked(), [Put, Get, Put, Get, Put]);
    store.puts([Fault::Lost, Fault::Lost]);
    let renewed = provider.renew(&renew).await.unwrap();
    assert_eq!(renewed, RenewOutcome::Renewed { asked: false });
}

#[tokio::test]
async fn hidden_repeats_and_lost_replies_are_answered_by_what_was_done() {
    let unknown = || Fault::After(ProviderError::unknown("timed out"));
    for hidden in [true, false] {
        let fault = || if hidden { Fault::Twice } else { unknown() };
        let (store, provider, _) = held().await;
        let a = term("window");
        store.puts([fault()]);
        let mut granted = provider.acquire(&a).await;
        if !hidden {
            assert_eq!(granted.unwrap_err().kind(), ErrorKind::Unknown);
            granted = provider.acquire(&a).await;
        }
        let record = provider.read(&a.name).await.unwrap().unwrap();
        assert_eq!(
            granted.unwrap(),
            AcquireOutcome::Acquired(record.token.into())
        );

        store.puts([fault()]);
        let renew = Renew::new(a.name.clone(), a.new, 1);
        let mut renewed = provider.renew(&renew).await;
        if !hidden {
            assert_eq!(renewed.unwrap_err().kind(), ErrorKind::Unknown);
            renewed = provider.renew(&renew).await;
        }
        assert_eq!(renewed.unwrap(), RenewOutcome::Renewed { asked: false });

        store.puts([fault()]);
        let release = Release::new(a.name.clone(), a.new, None);
        let mut released = provider.release(&release).await;
        if !hidden {
            assert_eq!(released.unwrap_err().kind(), ErrorKind::Unknown);
            released = provider.release(&release).await;
        }
        assert_eq!(
            released.unwrap(),
            ReleaseOutcome::Released { wanted: false }
        );
        let token = provider.read(&a.name).await.unwrap().unwrap().token;
        assert_eq!(token, record.token);
    }
}
