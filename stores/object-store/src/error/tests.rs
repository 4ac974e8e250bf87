//! Errors as the client itself makes them, from answers given here.

use async_trait::async_trait;
use dlock_cas::{CasStore, Put};
use object_store::{
    BackoffConfig, ClientOptions, RetryConfig, UpdateVersion,
    aws::AmazonS3Builder,
    client::{HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpService},
};
use std::{sync::Arc, time::Duration};

use super::*;
use crate::Objects;

/// Names of locks, most of which are also words of a service.
const NAMES: [&str; 6] = [
    "door",
    "NoSuchBucket",
    "ContainerNotFound",
    "SlowDown",
    "ServerBusy",
    "RequestTimeout",
];

/// A service that answers everything with this, with the requested path for `{key}`.
#[derive(Clone, Debug)]
struct Service {
    status: u16,
    body: &'static str,
}

#[async_trait]
impl HttpService for Service {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let body = self.body.replace("{key}", request.uri().path());
        let mut answer = HttpResponse::new(body.into());
        *answer.status_mut() = self.status.try_into().unwrap();
        Ok(answer)
    }
}

impl HttpConnector for Service {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

impl Service {
    /// Its objects, over a client that repeats a request this many times.
    fn objects(&self, max_retries: usize) -> Objects {
        let soon = BackoffConfig {
            init_backoff: Duration::from_millis(1),
            ..BackoffConfig::default()
        };
        let bucket = AmazonS3Builder::new()
            .with_bucket_name("locks")
            .with_region("here")
            .with_skip_signature(true)
            .with_retry(RetryConfig {
                max_retries,
                backoff: soon,
                ..RetryConfig::default()
            })
            .with_http_connector(self.clone())
            .build();
        Objects::new(Arc::new(bucket.unwrap()))
    }

    async fn refusal(&self, max_retries: usize, name: &str) -> ErrorKind {
        let key = format!("dlock/{name}");
        let put = self.objects(max_retries).put_if(&key, vec![], None).await;
        put.unwrap_err().kind()
    }
}

#[tokio::test]
async fn answers_of_a_service_have_a_kind_each_whatever_the_name() {
    use ErrorKind::{Fatal, NotApplied, Unknown};
    for (status, body, expected) in [
        (429, "", NotApplied),
        (
            503,
            "<Error><Code>SlowDown</Code><Resource>{key}</Resource>",
            NotApplied,
        ),
        (503, "<Error><Code>ServerBusy</Code>", NotApplied),
        (
            503,
            "<Error><Code>ServiceUnavailable</Code><Resource>{key}</Resource>",
            Unknown,
        ),
        (503, "", Unknown),
        (500, "", Unknown),
        (504, "", Unknown),
        (408, "", Unknown),
        (400, "<Error><Code>RequestTimeout</Code>", Unknown),
        (
            400,
            "<Error><Code>ExpiredToken</Code><Resource>{key}</Resource>",
            Fatal,
        ),
        (404, "<Error><Code>NoSuchBucket</Code>", Fatal),
        (403, "", Fatal),
        (405, "", Fatal),
        (501, "<Error><Code>NotImplemented</Code>", Fatal),
        // A redirect without a target.
        (301, "", Fatal),
    ] {
        let service = Service { status, body };
        for name in NAMES {
            let kind = service.refusal(0, name).await;
            assert_eq!(kind, expected, "{service:?}: {name}");
        }
    }
}

#[tokio::test]
async fn object_that_is_not_there_is_missing_whatever_its_name() {
    for body in ["", "<Error><Code>NoSuchKey</Code><Key>{key}</Key></Error>"] {
        let missing = Service { status: 404, body }.objects(0);
        for name in NAMES {
            let key = format!("dlock/{name}");
            assert!(missing.get(&key).await.unwrap().is_none(), "{name}");
            let seen = UpdateVersion {
                e_tag: Some("1".into()),
                version: None,
            };
            let put = missing.put_if(&key, vec![], Some(&seen)).await.unwrap();
            assert_eq!(put, Put::Lost, "{name}");
        }
    }
}

#[tokio::test]
async fn bucket_that_is_not_there_is_fatal_whatever_the_name() {
    // Of S3 and Google; of Azure.
    for body in [
        "<Error><Code>NoSuchBucket</Code><Resource>{key}</Resource></Error>",
        "<Error><Code>ContainerNotFound</Code></Error>",
    ] {
        let none = Service { status: 404, body }.objects(0);
        for name in NAMES {
            let error = none.get(&format!("dlock/{name}")).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Fatal, "{name}");
            assert!(error.to_string().contains("no such bucket"), "{error}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_repeated_is_not_denied() {
    let busy = Service {
        status: 503,
        body: "<Error><Code>SlowDown</Code>",
    };
    assert_eq!(busy.refusal(2, "door").await, ErrorKind::Unknown);
}

#[test]
fn causes_are_found_wherever_they_are_wrapped() {
    let of = |kind: io::ErrorKind| {
        let source = Box::new(io::Error::other(io::Error::other(io::Error::from(kind))));
        failed(Error::Generic {
            store: "S3",
            source,
        })
        .kind()
    };
    assert_eq!(of(io::ErrorKind::ConnectionRefused), ErrorKind::NotApplied);
    assert_eq!(of(io::ErrorKind::InvalidData), ErrorKind::Fatal);
    assert_eq!(of(io::ErrorKind::ConnectionReset), ErrorKind::Unknown);
    assert_eq!(of(io::ErrorKind::TimedOut), ErrorKind::Unknown);
}
