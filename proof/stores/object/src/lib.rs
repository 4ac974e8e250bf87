//! Object stores for tests: a SeaweedFS, which speaks S3 and keeps everything that it has acknowledged, and an Azurite,
//! which speaks Azure's protocol. Their tests are the published suites, and the cases that only an object store can
//! cause for a lock.
//!
//! The programs come from packages that `scripts/object-stores` fetches; it prints the variables that the tests read.

mod azurite;
mod seaweed;

use std::{env, ffi::OsString, net::SocketAddr, sync::Arc, time::Duration};

use dlock_object_store::{ObjectProvider, Objects};
use dlock_test_servers::must;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, RetryConfig, aws::AmazonS3};

pub use self::{
    azurite::Azurite,
    seaweed::{BUCKET, Server, User},
};

/// Long enough for every call on a busy machine.
pub const LIMIT: Duration = Duration::from_secs(20);

/// A provider of the bucket of the server at this address, whose calls end within this limit.
///
/// # Panics
/// If it cannot be created.
#[must_use]
pub fn provider(address: SocketAddr, limit: Duration) -> ObjectProvider {
    over(bucket(address, limit))
}

/// The bucket of the server at this address, whose calls end within this limit.
///
/// # Panics
/// If it cannot be created.
#[must_use]
pub fn bucket(address: SocketAddr, limit: Duration) -> AmazonS3 {
    seaweed::bucket(address, limit, User::LOCKER)
}

/// A provider over these objects, with the prefix that the suites expect. Their client repeats nothing.
///
/// # Panics
/// If it cannot be created.
#[must_use]
pub fn over(bucket: impl ObjectStore) -> ObjectProvider {
    let objects = Objects::new(Arc::new(bucket)).sent_once();
    must(
        "no provider",
        ObjectProvider::new(objects).with_prefix("dlock"),
    )
}

/// The options of a client of a service: no request is repeated, and every request ends.
fn client(limit: Duration) -> (ClientOptions, RetryConfig) {
    cryptography();
    let options = ClientOptions::new()
        .with_allow_http(true)
        .with_timeout(limit)
        .with_connect_timeout(limit);
    let never = RetryConfig {
        backoff: BackoffConfig::default(),
        max_retries: 0,
        retry_timeout: limit,
    };
    (options, never)
}

/// Clients take the process's default.
fn cryptography() {
    // Another thread may have installed the same provider first.
    drop(rustls::crypto::ring::default_provider().install_default());
}

/// The path of the program in this variable.
fn program(variable: &str) -> OsString {
    must(
        &format!("{variable} is not set: run scripts/object-stores, and set what it prints"),
        env::var_os(variable).ok_or(()),
    )
}
