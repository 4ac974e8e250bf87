//! Requests to the stream behind a bucket, and the signs that it may be another stream by now.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use async_nats::{
    Client, HeaderMap, Request,
    connection::State,
    header::{NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, NATS_EXPECTED_STREAM, NATS_MARKER_REASON},
    jetstream::{
        self, ErrorCode, message::StreamMessage, publish::PublishAck, response::Response,
        stream::RawMessage,
    },
};
use dlock_core::{ErrorKind, ProviderError};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::json;

use crate::{calls::Calls, error, refusals::Refusals};

/// How often it checks whether a connection exists, or is still the same: the client does not report it.
const LOOK: Duration = Duration::from_millis(20);

/// How long a request waits for a connection. The client makes a new one at once when one breaks.
const PATIENCE: Duration = Duration::from_millis(300);

/// The stream `KV_bucket`.
pub(crate) struct Stream {
    pub(crate) client: Client,
    pub(crate) bucket: String,
    pub(crate) refusals: Refusals,
    pub(crate) calls: Calls,
    doubts: AtomicU64,
}

/// The result of a write.
pub(crate) enum Written {
    /// It is the message with this sequence.
    At(u64),
    /// The subject's last message had this sequence.
    Passed(u64),
    /// Another write of the subject was in progress.
    Crossed,
}

/// A message of the stream.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) sequence: u64,
    pub(crate) headers: HeaderMap,
    /// The contents that were put; `None` if a tool of NATS has deleted the key, which leaves a message that says so.
    pub(crate) bytes: Option<Vec<u8>>,
}

impl Stream {
    pub(crate) fn new(client: Client, bucket: String, refusals: Refusals) -> Self {
        Self {
            client,
            bucket,
            refusals,
            calls: Calls::default(),
            doubts: AtomicU64::new(0),
        }
    }

    /// The stream's name.
    pub(crate) fn name(&self) -> String {
        format!("KV_{}", self.bucket)
    }

    /// The subject of an entry, or of all that match.
    pub(crate) fn subject(&self, entry: &str) -> String {
        format!("$KV.{}.{entry}", self.bucket)
    }

    /// Changes whenever the stream may have been replaced: with every connection, and with every [doubt](Self::doubt).
    pub(crate) fn generation(&self) -> u64 {
        self.connects() + self.doubts.load(Ordering::Relaxed)
    }

    /// Something was seen that only another stream, or an older state of it, shows.
    pub(crate) fn doubt(&self) {
        self.doubts.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn connects(&self) -> u64 {
        self.client.statistics().connects.load(Ordering::Relaxed)
    }

    /// The last message of a subject.
    pub(crate) async fn last(&self, subject: &str) -> Result<Option<Found>, ProviderError> {
        self.message(&json!({ "last_by_subj": subject })).await
    }

    /// The message with this sequence. It never changes.
    pub(crate) async fn at(&self, sequence: u64) -> Result<Option<Found>, ProviderError> {
        self.message(&json!({ "seq": sequence })).await
    }

    /// A read from the leader: `STREAM.MSG.GET` and not `DIRECT.GET`, which any replica answers.
    async fn message(
        &self,
        which: &(impl Serialize + Sync),
    ) -> Result<Option<Found>, ProviderError> {
        #[derive(Deserialize)]
        struct Shown {
            message: RawMessage,
        }
        match self.ask::<Shown>("STREAM.MSG.GET", which).await? {
            Response::Ok(Shown { message }) => found(message).map(Some),
            Response::Err { error } if error.error_code() == ErrorCode::NO_MESSAGE_FOUND => {
                Ok(None)
            }
            Response::Err { error } => Err(self.refused(error)),
        }
    }

    /// Writes a subject whose last message has this sequence; 0 if it has none.
    pub(crate) async fn write(
        &self,
        subject: &str,
        mut headers: HeaderMap,
        bytes: Vec<u8>,
        last: u64,
    ) -> Result<Written, ProviderError> {
        headers.insert(NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, last.to_string());
        headers.insert(NATS_EXPECTED_STREAM, self.name());
        let answer = self.request(subject, Some(headers), bytes).await?;
        let error = match answer {
            Response::Ok(PublishAck { sequence, .. }) => return Ok(Written::At(sequence)),
            Response::Err { error } => error,
        };
        match error.error_code() {
            ErrorCode::STREAM_WRONG_LAST_SEQUENCE => match passed(&error) {
                Some(sequence) => Ok(Written::Passed(sequence)),
                None => Ok(Written::Crossed),
            },
            ErrorCode::STREAM_WRONG_LAST_SEQUENCE_CONSTANT => Ok(Written::Crossed),
            _ => Err(self.refused(error)),
        }
    }

    /// A request to the interface of JetStream about this stream.
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        verb: &str,
        what: &(impl Serialize + Sync),
    ) -> Result<Response<T>, ProviderError> {
        self.ask_about(verb, "", what).await
    }

    /// The same about a part of it, whose name follows the stream's.
    pub(crate) async fn ask_about<T: DeserializeOwned>(
        &self,
        verb: &str,
        part: &str,
        what: &(impl Serialize + Sync),
    ) -> Result<Response<T>, ProviderError> {
        let body = serde_json::to_vec(what)
            .map_err(|error| ProviderError::fatal("a request without a form").with_source(error))?;
        let subject = format!("$JS.API.{verb}.{}{part}", self.name());
        self.request(&subject, None, body).await
    }

    async fn request<T: DeserializeOwned>(
        &self,
        subject: &str,
        headers: Option<HeaderMap>,
        body: Vec<u8>,
    ) -> Result<Response<T>, ProviderError> {
        // Without a connection the client would keep the request, and send it once there is one again.
        let connected = tokio::time::timeout(PATIENCE, self.connected());
        connected
            .await
            .map_err(|_| ProviderError::not_applied("there is no connection to NATS"))?;
        let connects = self.connects();
        let mut refusal = self.refusals.listen();
        let mut request = Request::new().payload(body.into());
        if let Some(headers) = headers {
            request = request.headers(headers);
        }
        let call = self.calls.begin();
        let answer = tokio::select! {
            biased;
            answer = self.client.send_request(subject.to_owned(), request) => {
                answer.map_err(error::unanswered)
            }
            () = refusal.of(subject) => Err(ProviderError::fatal(format!(
                "the server does not let this user publish to {subject:?}: grant it"
            ))),
            () = self.broken(connects) => {
                Err(ProviderError::unknown("the connection to NATS broke"))
            }
        };
        if !matches!(&answer, Err(error) if error.kind() == ErrorKind::Unknown) {
            call.answered();
        }
        let answer = answer?;
        serde_json::from_slice(&answer.payload).map_err(|error| {
            ProviderError::unknown("NATS gave an answer that is none").with_source(error)
        })
    }

    async fn connected(&self) {
        while self.client.connection_state() != State::Connected {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Resolves once the connection is gone or replaced: the client keeps waiting for answers that will not come any
    /// more.
    async fn broken(&self, connects: u64) {
        while self.connects() == connects && self.client.connection_state() == State::Connected {
            tokio::time::sleep(LOOK).await;
        }
    }

    pub(crate) fn refused(&self, error: jetstream::Error) -> ProviderError {
        if error.error_code() == ErrorCode::STREAM_NOT_FOUND {
            self.doubt();
        }
        error::refused(error)
    }
}

fn found(message: RawMessage) -> Result<Found, ProviderError> {
    let message = StreamMessage::try_from(message).map_err(|error| {
        ProviderError::unknown(format!("NATS gave a message that is none: {error}"))
    })?;
    Ok(Found {
        sequence: message.sequence,
        bytes: (!is_deletion(&message.headers)).then(|| message.payload.to_vec()),
        headers: message.headers,
    })
}

/// Whether a message says that its key is deleted: by a tool of NATS, or by the server.
pub(crate) fn is_deletion(headers: &HeaderMap) -> bool {
    let by_tool = headers.get("KV-Operation");
    by_tool.is_some_and(|operation| matches!(operation.as_str(), "DEL" | "PURGE"))
        || headers.get(NATS_MARKER_REASON).is_some()
}

/// The sequence in `wrong last sequence: 17`; the answer has it nowhere else.
fn passed(error: &jetstream::Error) -> Option<u64> {
    let text = error.to_string();
    let (_, rest) = text.split_once("wrong last sequence: ")?;
    let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_names_the_message_that_was_there() {
        let error = |text| -> jetstream::Error {
            let text = format!(r#"{{"code":400,"err_code":10071,"description":"{text}"}}"#);
            serde_json::from_str(&text).unwrap()
        };
        assert_eq!(passed(&error("wrong last sequence: 17")), Some(17));
        assert_eq!(passed(&error("wrong last sequence: 0")), Some(0));
        assert_eq!(passed(&error("wrong last sequence")), None);
    }
}
