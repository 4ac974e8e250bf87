//! Trying out on the service itself whether it can carry locks.

use dlock_core::ErrorKind;
use dlock_object_proof::{User, over};
use dlock_object_store::Objects;
use futures_util::TryStreamExt;
use object_store::{ObjectStore, path::Path};
use std::sync::Arc;

use crate::fresh;

#[tokio::test]
async fn conditions_are_kept_and_nothing_stays_behind() {
    let bucket = crate::server().await.bucket(User::LOCKER);
    let prefix = fresh("verify");
    let objects = Objects::new(Arc::new(bucket.clone()));
    objects.verify(&prefix).await.unwrap();
    let left = bucket.list(Some(&Path::from(prefix)));
    let left: Vec<_> = left.try_collect().await.unwrap();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn bucket_that_refuses_or_is_not_there_is_said_so() {
    let server = crate::server().await;
    for (bucket, says) in [
        (server.bucket(User::READER), "grant"),
        (server.bucket(User::STRANGER), "grant"),
        (server.bucket_named("none"), "no such bucket"),
    ] {
        let error = over(bucket).store().verify("dlock").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
        assert!(error.to_string().contains(says), "{error}");
    }
}
