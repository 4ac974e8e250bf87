//! The subject of a key: the text before its first `/`, a dot, and the rest, so that a filter and a permission can name
//! one prefix: `$KV.bucket.prefix.*`.
//!
//! Letters, digits, `-`, `_` and `/` stand for themselves, since the tools of NATS take them in a key; every other byte
//! is `=` and two hexadecimal digits in upper case. A part without bytes is a single `=`. No two keys have one subject.

use std::fmt::Write;

/// The key as the bucket has it.
pub(crate) fn encoded(key: &str) -> String {
    match key.split_once('/') {
        Some((prefix, rest)) => format!("{}.{}", token(prefix), token(rest)),
        None => token(key),
    }
}

/// The key of an entry; `None` if no key has this form, so that another program made the entry.
pub(crate) fn decoded(entry: &str) -> Option<String> {
    let key = match entry.split_once('.') {
        Some((prefix, rest)) => format!("{}/{}", text(prefix)?, text(rest)?),
        None => text(entry)?,
    };
    // An entry with a longer form than necessary is not the key's own.
    (encoded(&key) == entry).then_some(key)
}

/// The filter that matches the entries of all keys that start with this.
pub(crate) fn filter(start: &str) -> String {
    match start.split_once('/') {
        Some((prefix, _)) => format!("{}.*", token(prefix)),
        None => ">".to_owned(),
    }
}

fn token(text: &str) -> String {
    if text.is_empty() {
        return "=".to_owned();
    }
    let mut token = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_/".contains(&byte) {
            token.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            write!(token, "={byte:02X}").ok();
        }
    }
    token
}

fn text(token: &str) -> Option<String> {
    if token == "=" {
        return Some(String::new());
    }
    let mut pieces = token.split('=');
    let mut bytes = pieces.next()?.as_bytes().to_vec();
    for piece in pieces {
        let (digits, rest) = piece.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_apart_and_read_back() {
        let keys = [
            "dlock/door",
            "dlock/door/",
            "dlock//door",
            "/door",
            "door",
            "dlock/",
            "/",
            "",
            "=",
            "/=",
            "=/",
            "dlock/a.b",
            "dlock/a/b",
            "dlock/a=2Eb",
            "dlock/a=2E",
            "dlock/*",
            "dlock/>",
            "dlock/ ",
            "dlock/\t",
            "dlock/\u{e9}",
            "dlock/\u{1f512}",
            "dlock/\r\n",
            "dl%2Fock/x",
            "dlock/A",
            "dlock/a",
            "dlock/-_",
        ];
        let mut entries: Vec<_> = keys.iter().map(|key| encoded(key)).collect();
        for (key, entry) in keys.iter().zip(&entries) {
            assert_eq!(decoded(entry).as_deref(), Some(*key), "{entry}");
            assert!(
                entry
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-_/=.".contains(&byte)),
                "{entry}"
            );
            assert!(!entry.starts_with('.') && !entry.ends_with('.'), "{entry}");
        }
        entries.sort();
        entries.dedup();
        assert_eq!(entries.len(), keys.len());
        assert_eq!(encoded("dlock/a.b/c"), "dlock.a=2Eb/c");
    }

    #[test]
    fn entries_of_others_are_no_keys() {
        for entry in [
            "", ".", "a.", ".a", "a.b.c", "a.=2e", "a.=61", "a.=", "a.b=", "a.=+1", "a.=C3",
            "a.\u{e9}",
        ] {
            let key = decoded(entry);
            assert!(key.is_none() || entry == "a.=", "{entry}: {key:?}");
        }
        assert_eq!(decoded("a.=").as_deref(), Some("a/"));
    }

    #[test]
    fn filter_takes_the_keys_of_one_prefix() {
        assert_eq!(filter("dlock/"), "dlock.*");
        assert_eq!(filter("dlock/jo"), "dlock.*");
        assert_eq!(filter("/"), "=.*");
        assert_eq!(filter("dl"), ">");
    }
}
