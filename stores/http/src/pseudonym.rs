//! The pseudonym that a server stores and shows of a uuid that its client drew.

use sha2::{Digest, Sha256};
use uuid::{Builder, Uuid};

/// The uuid that a server stores for one that a client sent: as the term of an acquire, a renewal or a release, of a
/// claim of tasks, of a closing, and as the uuid that a revocation leaves.
///
/// A request with a term's uuid can renew and release it, and records show uuids to all clients that may read. So the
/// uuid stays with the client that drew it, and records show this one, from which the uuid cannot be derived.
///
/// The first 16 bytes of SHA-256 over the ASCII text `dlock` and the 16 bytes of the uuid, with the variant of RFC 9562
/// and with the version of the uuid if that is 8 (closings, B4), and 4 otherwise.
#[must_use]
pub fn pseudonym(uuid: Uuid) -> Uuid {
    let mut hash = Sha256::new();
    hash.update(b"dlock");
    hash.update(uuid.as_bytes());
    let mut first = [0; 16];
    first.copy_from_slice(&hash.finalize()[..16]);
    match uuid.get_version_num() {
        8 => Builder::from_custom_bytes(first).into_uuid(),
        _ => Builder::from_random_bytes(first).into_uuid(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clients in other languages compute it, too.
    #[test]
    fn pseudonym_is_the_documented_one() {
        for (uuid, expected) in [
            (
                "00000000-0000-4000-8000-000000000001",
                "9a0578c4-88fe-45c1-b528-7aca96f034e4",
            ),
            (
                "00000000-0000-8000-8000-000000000001",
                "b7838b62-144e-8b38-b321-74647ec7e473",
            ),
        ] {
            let uuid: Uuid = uuid.parse().unwrap();
            assert_eq!(pseudonym(uuid).to_string(), expected);
        }
    }
}
