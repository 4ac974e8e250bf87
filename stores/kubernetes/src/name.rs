//! The name of a Lease: the key of a lock in lower-case letters and digits, which is all that Kubernetes takes.

use data_encoding::BASE32_DNSSEC;
use dlock_core::ProviderError;

/// How many bytes of a key fit into the 253 letters of a name: five bits a letter.
pub(crate) const LONGEST: usize = 157;

/// The name of the Lease of this key. It keeps the order of keys, and no two keys have one name: base32 with the
/// "extended hex" alphabet of RFC 4648, in lower case and without padding.
///
/// # Errors
/// `Fatal` if the key is longer than [`LONGEST`].
pub(crate) fn encoded(key: &str) -> Result<String, ProviderError> {
    if key.len() > LONGEST {
        return Err(ProviderError::fatal(format!(
            "the name of a Lease has no room for {} bytes: use a lock whose name and prefix have at most {} together",
            key.len(),
            LONGEST - 1
        )));
    }
    Ok(BASE32_DNSSEC.encode(key.as_bytes()))
}

/// The key of the Lease with this name, if it is the name of a key.
pub(crate) fn decoded(name: &str) -> Option<String> {
    String::from_utf8(BASE32_DNSSEC.decode(name.as_bytes()).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_their_order_and_are_read_back() {
        let mut keys = vec![
            "/a".to_owned(),
            "/a\u{1}".into(),
            "/a b".into(),
            "/a/".into(),
            "/a//b".into(),
            "/a/b".into(),
            "/A".into(),
            "/ä".into(),
            "/b".into(),
            "a%2Fb/c".into(),
            format!("/{}", "\u{10ffff}".repeat(39)),
        ];
        assert_eq!(keys.last().unwrap().len(), LONGEST);
        keys.sort();
        let names: Vec<_> = keys.iter().map(|key| encoded(key).unwrap()).collect();
        assert!(names.is_sorted_by(|one, next| one < next), "{names:?}");
        for (key, name) in keys.iter().zip(&names) {
            assert_eq!(decoded(name).as_ref(), Some(key));
            assert!(name.len() <= 253, "{name}");
            let is_plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
            assert!(name.chars().all(is_plain), "{name}");
        }
    }

    /// Every key has one name: no object of another program is taken for a lock.
    #[test]
    fn names_that_no_key_has_are_no_keys() {
        // Letters between those of the alphabet; a last letter with bits that no byte has; a length that no number of
        // bytes has; bytes that are not text.
        for name in ["kube-scheduler", "zz", "5s", "5t", "5s0", "vvvvvvvv"] {
            assert_eq!(
                decoded(name).map(|key| encoded(&key).unwrap()),
                match name {
                    "5s" => Some("5s".into()),
                    _ => None,
                },
                "{name}"
            );
        }
    }

    #[test]
    fn key_that_is_too_long_is_refused() {
        assert!(encoded(&"a".repeat(LONGEST)).is_ok());
        assert!(encoded(&"a".repeat(LONGEST + 1)).is_err());
    }
}
