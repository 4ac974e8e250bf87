//! The provider keeps its promises when the wire to its server breaks.

use std::{net::SocketAddr, time::Duration};

use dlock_core::{
    ErrorKind, Provider, ProviderError,
    provider::{Release, ReleaseOutcome, Renew, RenewOutcome},
};
use dlock_object_proof::{LIMIT, Server, provider};
use dlock_object_store::ObjectProvider;
use dlock_testkit::{
    proxy::{Fault, Moment, Proxy},
    wire::{Wired, run_all_but},
};
use tokio::time::timeout;

use crate::{fresh, term};

struct S3(&'static Server);

impl Wired for S3 {
    type Provider = ObjectProvider;

    /// HTTP begins with the question.
    const HANDSHAKE: usize = 0;

    const LEASE: Duration = Duration::from_secs(2);

    async fn start() -> Self {
        Self(crate::server().await)
    }

    fn server(&self) -> SocketAddr {
        self.0.address()
    }

    async fn provider(&self, address: SocketAddr, limit: Duration) -> ObjectProvider {
        provider(address, limit)
    }
}

/// It expects that an acquire is one request, which is its write. Here it looks first. The writes are below.
const LEFT_OUT: &str = "call_cut_at_any_moment_is_told_truly_and_its_repeat_answered";

#[test]
fn cases_of_the_wire_suite_pass() {
    run_all_but::<S3>(&[LEFT_OUT]);
}

/// Of a write: whether it was done, and what it was told.
fn is_true<T>(answer: &Result<T, ProviderError>, done: bool, fault: Fault) {
    match answer {
        Ok(_) => assert!(done, "{fault}: answered, and not done"),
        Err(error) => {
            assert_ne!(error.kind(), ErrorKind::Fatal, "{fault}: {error:?}");
            let denied = error.kind() == ErrorKind::NotApplied;
            assert!(!(denied && done), "{fault}: done, and denied: {error:?}");
            // The proxy's promise, without which this would show nothing.
            assert_eq!(done, fault.executed(), "{fault}: {error:?}");
        }
    }
}

async fn until_answered<T, F: Future<Output = Result<T, ProviderError>>>(
    mut ask: impl FnMut() -> F,
) -> T {
    let answered = async {
        loop {
            match ask().await {
                Ok(outcome) => return outcome,
                Err(error) => assert_ne!(error.kind(), ErrorKind::Fatal, "{error:?}"),
            }
        }
    };
    timeout(LIMIT, answered).await.unwrap()
}

#[tokio::test]
async fn write_cut_at_any_moment_is_told_truly_and_its_repeat_answered() {
    let server = crate::server().await;
    let proxy = Proxy::start(server.address()).await.unwrap();
    let ours = provider(proxy.address(), LIMIT);
    let direct = server.provider();
    let cuts = Moment::ALL
        .map(Fault::Reset)
        .into_iter()
        .chain(Moment::ALL.map(Fault::Close));
    for fault in cuts {
        let a = term(&fresh("door"));
        until_answered(|| ours.acquire(&a)).await;

        let strikes = proxy.struck();
        proxy.next(fault);
        let renew = Renew::new(a.name.clone(), a.new, 1);
        let answer = ours.renew(&renew).await;
        timeout(LIMIT, proxy.until_struck(strikes + 1))
            .await
            .unwrap();
        let record = direct.read(&a.name).await.unwrap().unwrap();
        is_true(&answer, record.renewals == 1, fault);
        let repeated = until_answered(|| ours.renew(&renew)).await;
        assert_eq!(repeated, RenewOutcome::Renewed { asked: false }, "{fault}");

        let strikes = proxy.struck();
        proxy.next(fault);
        let release = Release::new(a.name.clone(), a.new, None);
        let answer = ours.release(&release).await;
        timeout(LIMIT, proxy.until_struck(strikes + 1))
            .await
            .unwrap();
        let record = direct.read(&a.name).await.unwrap().unwrap();
        is_true(&answer, record.released, fault);
        let repeated = until_answered(|| ours.release(&release)).await;
        assert_eq!(repeated, ReleaseOutcome::Released, "{fault}");
    }
}
