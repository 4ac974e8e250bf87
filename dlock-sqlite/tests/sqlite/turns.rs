//! The call that comes first while the file is busy: that of a holder.

use std::{fmt::Debug, time::Duration};

use dlock_core::{
    Provider,
    provider::{Admin, List, Release, Renew, Revoke, Version},
};
use dlock_sqlite::SqliteProvider;
use uuid::Uuid;

use crate::support::{Scratch, name, request, take};

const LONG: Duration = Duration::from_secs(600);

/// The answer to a holder's call. It was made after the call that took its lease away, while another program was
/// writing and another call waited for that. Meanwhile lists are answered.
#[expect(clippy::future_not_send, reason = "a test runs it where it is")]
async fn late<T: Debug>(call: impl AsyncFnOnce(&SqliteProvider, Uuid) -> T) -> String {
    let scratch = Scratch::new();
    let provider = scratch.provider();
    let (uuid, _) = take(&provider, "door", LONG).await;
    let version = Version { uuid, renewals: 0 };
    let revoke = Revoke::new(name("door"), version).unwrap();
    let other = request("window", LONG);
    let writer = scratch.raw();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (acquired, revoked, answer, ()) = tokio::join!(
        biased;
        provider.acquire(&other),
        provider.revoke(&revoke),
        call(&provider, uuid),
        async {
            let page = provider.list(&List::new("").limit(10)).await.unwrap();
            assert_eq!(page.records.len(), 1);
            writer.execute_batch("COMMIT").unwrap();
        },
    );
    acquired.unwrap();
    revoked.unwrap();
    format!("{answer:?}")
}

#[tokio::test]
async fn calls_of_holders_come_before_those_that_wait_longer() {
    let renewed = late(async |provider, uuid| {
        let renewal = Renew::new(name("door"), uuid, 1);
        provider.renew(&renewal).await
    });
    assert_eq!(renewed.await, "Ok(Renewed { asked: false })");
    let many = late(async |provider, uuid| {
        let renewal = Renew::new(name("door"), uuid, 1);
        provider.renew_many(&[renewal]).await
    });
    assert_eq!(many.await, "[Ok(Renewed { asked: false })]");
    let released = late(async |provider, uuid| {
        let release = Release::new(name("door"), uuid, None);
        provider.release(&release).await
    });
    assert_eq!(released.await, "Ok(Released { wanted: false })");
}

/// A list refuses to open a file that is not the one in use.
#[tokio::test]
async fn list_of_a_file_that_was_replaced_is_refused() {
    let scratch = Scratch::new();
    let provider = scratch.provider();
    take(&provider, "door", LONG).await;
    std::fs::rename(scratch.path(), scratch.directory().join("old.db")).unwrap();
    let listed = provider.list(&List::new("").limit(10)).await;
    let error = listed.unwrap_err();
    assert_eq!(error.kind(), dlock_core::ErrorKind::Fatal, "{error}");
    assert!(!scratch.path().exists());
}
