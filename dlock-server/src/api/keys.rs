//! What makes a repeated request the same request.

use axum::{
    extract::FromRequestParts,
    http::{HeaderName, request::Parts},
};
use dlock_http::{Code, pseudonym};
use sha2::{Digest, Sha256};
use uuid::{Builder, Uuid};

use crate::{Service, problem::Refusal};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The header `Idempotency-Key`, if the request has one.
#[derive(Clone, Debug)]
pub(super) struct Key(Option<Vec<u8>>);

impl Key {
    /// The identity of a term in the store: the pseudonym of the one that the request names, as records show it to all who may
    /// read; or one of its key and of what it asks for, or a new one.
    pub(super) fn uuid(&self, named: Option<Uuid>, wanted: &[&str]) -> Uuid {
        if let Some(named) = named {
            return pseudonym(named);
        }
        let Some(key) = &self.0 else {
            return Uuid::new_v4();
        };
        let mut hash = Sha256::new();
        for part in std::iter::once(key.as_slice()).chain(wanted.iter().map(|part| part.as_bytes()))
        {
            hash.update(part.len().to_be_bytes());
            hash.update(part);
        }
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hash.finalize()[..16]);
        Builder::from_random_bytes(bytes).into_uuid()
    }

    /// Whether the request may be the repeat of an earlier one.
    pub(super) fn may_repeat(&self, named: Option<Uuid>) -> bool {
        named.is_some() || self.0.is_some()
    }
}

impl FromRequestParts<Service> for Key {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &Service) -> Result<Self, Refusal> {
        match parts.headers.get(IDEMPOTENCY_KEY) {
            Some(key) if key.is_empty() => Err(Refusal::new(
                Code::BadRequest,
                "the Idempotency-Key is empty",
            )),
            key => Ok(Self(key.map(|key| key.as_bytes().to_owned()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_is_the_same_identity_for_the_same_request_alone() {
        let key = Key(Some(b"k".to_vec()));
        let first = key.uuid(None, &["door", "anna"]);
        assert_eq!(first.get_version_num(), 4);
        assert_eq!(key.uuid(None, &["door", "anna"]), first);
        for other in [
            key.uuid(None, &["door", "bert"]),
            key.uuid(None, &["dooran", "na"]),
            Key(Some(b"l".to_vec())).uuid(None, &["door", "anna"]),
            Key(None).uuid(None, &["door", "anna"]),
        ] {
            assert_ne!(other, first);
        }
        let named = key.uuid(Some(Uuid::nil()), &["door"]);
        assert_eq!(named, pseudonym(Uuid::nil()));
    }
}
