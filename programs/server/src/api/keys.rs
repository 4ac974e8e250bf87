//! The identity by which a repeated request is recognised as the same request.

use axum::{
    extract::FromRequestParts,
    http::{HeaderName, request::Parts},
};
use dlock_http::{Code, pseudonym};
use sha2::{Digest, Sha256};
use uuid::{Builder, Uuid};

use crate::{Service, origin::Origin, problem::Refusal};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The header `Idempotency-Key`, if the request has one, with its sender: clients may choose the same key.
#[derive(Clone, Debug)]
pub(super) struct Key {
    key: Option<Vec<u8>>,
    sender: String,
}

impl Key {
    /// The identity of a term in the store: the pseudonym of the one that the request names, as records show it to
    /// every client that may read; or one derived from its key and from what it requests, or a new one.
    pub(super) fn uuid(&self, named: Option<Uuid>, wanted: &[&str]) -> Uuid {
        if let Some(named) = named {
            return pseudonym(named);
        }
        let Some(key) = &self.key else {
            return Uuid::new_v4();
        };
        let mut hash = Sha256::new();
        let own = [key.as_slice(), self.sender.as_bytes()];
        for part in own
            .into_iter()
            .chain(wanted.iter().map(|part| part.as_bytes()))
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
        named.is_some() || self.key.is_some()
    }
}

impl FromRequestParts<Service> for Key {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &Service) -> Result<Self, Refusal> {
        let sender = parts.extensions.get::<Origin>();
        let sender = sender.map(Origin::name).unwrap_or_default();
        match parts.headers.get(IDEMPOTENCY_KEY) {
            Some(key) if key.is_empty() => Err(Refusal::new(
                Code::BadRequest,
                "the Idempotency-Key is empty",
            )),
            key => Ok(Self {
                key: key.map(|key| key.as_bytes().to_owned()),
                sender: sender.to_owned(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_is_the_same_identity_for_the_same_request_alone() {
        let of = |sender: &str, key: &str| Key {
            key: (!key.is_empty()).then(|| key.into()),
            sender: sender.to_owned(),
        };
        let key = of("ci", "k");
        let first = key.uuid(None, &["door", "anna"]);
        assert_eq!(first.get_version_num(), 4);
        assert_eq!(key.uuid(None, &["door", "anna"]), first);
        for other in [
            key.uuid(None, &["door", "bert"]),
            key.uuid(None, &["dooran", "na"]),
            of("ci", "l").uuid(None, &["door", "anna"]),
            of("web", "k").uuid(None, &["door", "anna"]),
            of("ci", "").uuid(None, &["door", "anna"]),
        ] {
            assert_ne!(other, first);
        }
        let named = key.uuid(Some(Uuid::nil()), &["door"]);
        assert_eq!(named, pseudonym(Uuid::nil()));
    }
}
