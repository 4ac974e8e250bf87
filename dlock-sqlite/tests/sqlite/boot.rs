//! Records that another boot of a machine left. (The clock set by hand: unit tests of the crate.)

use std::time::Duration;

use dlock_core::{
    ErrorKind, Provider,
    provider::{Acquire, AcquireOutcome, Renew, RenewOutcome, Version},
};
use uuid::Uuid;

use crate::support::{Scratch, block_on, name, refused, request, take};

const LONG: Duration = Duration::from_secs(3600);

/// A lease of an hour, whose record then says that it began under another boot.
async fn left_by(scratch: &Scratch, boot: &str) -> (Uuid, dlock_core::FencingToken) {
    let taken = take(&scratch.provider(), "a", LONG).await;
    assert_eq!(
        scratch
            .raw()
            .execute(
                "UPDATE lock SET boot = ?1, expiry = 9000000000000000000",
                [boot]
            )
            .unwrap(),
        1
    );
    taken
}

#[test]
fn a_lease_of_an_earlier_boot_is_over_however_late_its_expiry() {
    let scratch = Scratch::new();
    block_on(async {
        let (uuid, first) = left_by(&scratch, &Uuid::new_v4().to_string()).await;
        let provider = scratch.provider();
        let read = provider.read(&name("a")).await.unwrap().unwrap();
        assert_eq!(
            (read.released, read.remaining),
            (false, Some(Duration::ZERO))
        );
        // A late request of its own holder is refused, or spent.
        assert!(matches!(
            provider.renew(&Renew::new(name("a"), uuid, 1)).await,
            Ok(RenewOutcome::Lost(Some(_)))
        ));
        let duplicate = Acquire::new(name("a"), uuid, LONG);
        assert_eq!(
            provider.acquire(&duplicate).await.unwrap(),
            AcquireOutcome::Spent
        );
        let (_, second) = take(&provider, "a", LONG).await;
        assert!(second > first);
        assert!(
            refused(&provider, "a").await.remaining.unwrap() > Duration::from_secs(3500),
            "on this boot's clock again"
        );
    });
}

#[test]
fn a_lease_on_a_strange_clock_is_never_called_over() {
    for boot in [format!("private:{}", Uuid::new_v4()), "wall".to_owned()] {
        let scratch = Scratch::new();
        block_on(async {
            let (uuid, _) = left_by(&scratch, &boot).await;
            scratch
                .raw()
                .execute("UPDATE lock SET expiry = 0", [])
                .unwrap();
            let provider = scratch.provider();
            assert_eq!(refused(&provider, "a").await.remaining, Some(LONG));
            let claim = request("a", LONG).prev(Some(Version { uuid, renewals: 0 }));
            assert!(matches!(
                provider.acquire(&claim).await,
                Ok(AcquireOutcome::Acquired(_))
            ));
        });
    }
}

#[test]
fn a_boot_that_is_none_is_an_error() {
    let scratch = Scratch::new();
    block_on(async {
        left_by(&scratch, "yesterday").await;
        let error = scratch
            .provider()
            .acquire(&request("a", LONG))
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Fatal);
    });
}
