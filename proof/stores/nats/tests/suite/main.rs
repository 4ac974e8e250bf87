//! The provider for NATS on a real server: the published suites, and the cases that only NATS can cause for a lock.

#![expect(
    clippy::unwrap_used,
    reason = "what is unwrapped here is a failed test"
)]

mod broken;
mod bucket;
mod cancelling;
mod conformance;
mod election;
mod fence;
mod keys;
mod one_way;
#[path = "../../../open.rs"]
mod open;
mod outage;
mod restored;
mod rights;
mod tls;
mod urls;
mod wire;

use std::sync::Arc;

use async_nats::{Client, HeaderMap};
use serde_json::{Value, json};

/// Sends JetStream a request behind the provider's back.
async fn ask(client: &Client, what: &str, body: Value) -> Value {
    let subject = format!("$JS.API.{what}");
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let answer = client.request(subject, body.into()).await;
    serde_json::from_slice(&answer.unwrap().payload).unwrap()
}

/// Creates a stream with these settings in addition to those of a bucket; returns the server's answer.
async fn create(client: &Client, bucket: &str, settings: Value) -> Value {
    let mut config = json!({
        "name": format!("KV_{bucket}"), "subjects": [format!("$KV.{bucket}.>")], "max_msgs_per_subject": 1,
        "storage": "file", "num_replicas": 1, "retention": "limits", "discard": "new", "max_age": 0,
    });
    for (name, value) in settings.as_object().unwrap() {
        config[name] = value.clone();
    }
    ask(client, &format!("STREAM.CREATE.KV_{bucket}"), config).await
}

/// Puts a message behind the provider's back; returns its sequence.
async fn put(client: &Client, subject: &str, headers: &[(&str, &str)], body: &str) -> u64 {
    let mut all = HeaderMap::new();
    for (name, value) in headers {
        all.insert(*name, *value);
    }
    let body = body.to_owned().into();
    let answer = client
        .request_with_headers(subject.to_owned(), all, body)
        .await;
    let answer: Value = serde_json::from_slice(&answer.unwrap().payload).unwrap();
    answer["seq"]
        .as_u64()
        .filter(|sequence| *sequence > 0)
        .unwrap()
}

/// The number of messages that the client has sent.
fn sent(client: &Client) -> u64 {
    let statistics: Arc<_> = client.statistics();
    statistics
        .out_messages
        .load(std::sync::atomic::Ordering::Relaxed)
}

/// The number of connections that the client has had.
fn connects(client: &Client) -> u64 {
    let statistics: Arc<_> = client.statistics();
    statistics
        .connects
        .load(std::sync::atomic::Ordering::Relaxed)
}
