//! The bucket: how it is created, and the flaws of one that was created in another way.

use async_nats::jetstream::{
    ErrorCode,
    response::Response,
    stream::{Config, DiscardPolicy, Info, PersistenceMode, RetentionPolicy, StorageType},
};
use serde_json::json;

use crate::{error::BucketError, stream::Stream};

/// The longest record has some 7 KB.
const RECORD: i32 = 8 * 1024;

impl Stream {
    /// Checks the bucket's settings.
    pub(crate) async fn verify(&self, in_memory: bool) -> Result<(), BucketError> {
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        if self.bucket.is_empty() || self.bucket.len() > 128 || !self.bucket.chars().all(is_name) {
            let bucket = self.bucket.clone();
            return Err(BucketError::Name { bucket });
        }
        let bucket = || self.bucket.clone();
        match self.ask::<Info>("STREAM.INFO", &json!({})).await? {
            Response::Ok(Info { config, .. }) => {
                match flaw(&config, &self.subject(">"), in_memory) {
                    None => Ok(()),
                    Some(flaw) => Err(BucketError::Unfit {
                        bucket: bucket(),
                        flaw,
                    }),
                }
            }
            Response::Err { error } if error.error_code() == ErrorCode::STREAM_NOT_FOUND => {
                Err(BucketError::Missing { bucket: bucket() })
            }
            Response::Err { error } => Err(self.refused(error).into()),
        }
    }

    /// Creates the bucket if it is missing, and checks it.
    pub(crate) async fn set_up(&self, replicas: usize, in_memory: bool) -> Result<(), BucketError> {
        match self.verify(in_memory).await {
            Err(BucketError::Missing { .. }) => {}
            other => return other,
        }
        let config = Config {
            name: self.name(),
            subjects: vec![self.subject(">")],
            storage: if in_memory {
                StorageType::Memory
            } else {
                StorageType::File
            },
            num_replicas: replicas,
            max_messages_per_subject: 1,
            max_messages: -1,
            max_bytes: -1,
            max_consumers: -1,
            discard: DiscardPolicy::New,
            ..Config::default()
        };
        match self.ask::<Info>("STREAM.CREATE", &config).await? {
            // Another client was quicker, with other settings.
            Response::Err { error } if error.error_code() != ErrorCode::STREAM_NAME_EXIST => {
                Err(self.refused(error).into())
            }
            Response::Ok(_) | Response::Err { .. } => self.verify(in_memory).await,
        }
    }
}

/// How a bucket with these settings can lose a lock, or why none can be written; and what to do. Direct reads, which
/// may be outdated, are no flaw: this crate never makes one.
fn flaw(config: &Config, subjects: &str, in_memory: bool) -> Option<&'static str> {
    let flaws = [
        (
            config.subjects != [subjects] || config.subject_transform.is_some(),
            "takes other subjects than a bucket does: make another one with set_up",
        ),
        (
            config.mirror.is_some() || config.sources.is_some(),
            "is a copy of another one: name that",
        ),
        (
            config.sealed || config.no_ack,
            "takes no writes, or does not confirm them (sealed, no_ack): make another one with set_up",
        ),
        (
            config.retention != RetentionPolicy::Limits,
            "drops what was read (its retention is not `limits`): make another one with set_up",
        ),
        (
            !config.max_age.is_zero(),
            "drops records by their age, and with them locks that are held: set its TTL (max_age) to 0",
        ),
        (
            config.discard == DiscardPolicy::Old
                && (config.max_messages > 0 || config.max_bytes > 0),
            "drops the oldest records when it is full, and with them locks that are held: set `discard` to new, or take its limits away",
        ),
        (
            config.discard_new_per_subject,
            "refuses every second write of a key (discard_new_per_subject): set that to false",
        ),
        (
            config.max_messages_per_subject != 1,
            "keeps old records of a lock, which a purge would bring back: set its history to 1",
        ),
        (
            config.max_message_size > 0 && config.max_message_size < RECORD,
            "has no room for a record: let its largest message (max_msg_size) have 8192 bytes at least",
        ),
        (
            config.storage == StorageType::Memory && !in_memory,
            "forgets all locks when its server restarts: make one on disk with set_up, or say that it may be in memory",
        ),
        (
            config.persist_mode == Some(PersistenceMode::Async) && !in_memory,
            "confirms what is not written yet (persist_mode async): make another one with set_up",
        ),
    ];
    flaws.into_iter().find(|(is, _)| *is).map(|(_, flaw)| flaw)
}
