//! Users and their rights.

use dlock_core::{
    ErrorKind, Provider,
    provider::{Admin, List},
};
use dlock_object_proof::{User, over};
use dlock_object_store::ObjectProvider;
use dlock_proof::stores::{granted, released, renewed, term};

use crate::fresh;

#[tokio::test]
async fn reading_writing_and_listing_are_enough_and_less_is_fatal() {
    let server = crate::server().await;
    let prefix = fresh("rights");
    let of = |user| over(server.bucket(user)).with_prefix(&prefix).unwrap();
    let locker = of(User::LOCKER);
    let a = term("door");
    granted(&locker, &a).await;
    renewed(&locker, &a, 1).await;
    assert_eq!(locker.list(&List::new("")).await.unwrap().records.len(), 1);

    let reader = of(User::READER);
    assert_eq!(reader.read(&a.name).await.unwrap().unwrap().uuid, a.new);
    let refused = reader.acquire(&term("gate")).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Fatal, "{refused:?}");
    for provider in [of(User::NOBODY), of(User::STRANGER)] {
        for error in [
            provider.acquire(&a).await.unwrap_err(),
            provider.read(&a.name).await.unwrap_err(),
            provider.read(&term("gate").name).await.unwrap_err(),
            provider.list(&List::new("")).await.unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
            assert!(error.to_string().contains("s3:ListBucket"), "{error}");
        }
    }
    released(&locker, &a).await;
}

#[tokio::test]
async fn bucket_that_is_not_there_is_said_so() {
    is_not_there(&over(crate::server().await.bucket_named("none"))).await;
}

/// Each call reports that there is no such bucket.
pub(crate) async fn is_not_there(provider: &ObjectProvider) {
    let a = term("door");
    for error in [
        provider.read(&a.name).await.unwrap_err(),
        provider.acquire(&a).await.unwrap_err(),
        provider.list(&List::new("")).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
        assert!(error.to_string().contains("no such bucket"), "{error}");
    }
}
