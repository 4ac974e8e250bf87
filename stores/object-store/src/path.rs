//! The object of a lock's key, and back.
//!
//! The key of an object may be any text, but [`Path`] refuses `a//b`, Azure reads `\` as `/`, and not every service
//! takes control characters or sorts text beyond ASCII by its bytes. So each byte has its own form:
//!
//! | byte | written |
//! |---|---|
//! | `-`, and `0` to `}` without `\` and `]` | as it is |
//! | `.` and `/` | `.0` and `.1` |
//! | `\` and `]` | `]0` and `]1` |
//! | those below `-` | `%` and two digits: `%20` |
//! | those above `}` | `~` and two digits: `~C3` |
//!
//! Different texts have different forms, which sort as the texts do. Services that keep objects as files limit the
//! names of files to 255 bytes: a longer text continues in a folder, whose name ends in `~`, as no other does.

use dlock_core::ProviderError;
use object_store::path::Path;

/// The limit of S3 and Google in bytes, of Azure in characters.
const LONGEST: usize = 1024;

/// How much of a text one folder or file has in its name.
const SEGMENT: usize = 250;

/// The object of a key `prefix/name`.
///
/// # Errors
/// `Fatal` if it is too long for an object.
pub(crate) fn of_key(key: &str) -> Result<Path, ProviderError> {
    let (prefix, name) = split(key);
    of_name(&folder_of_key(prefix)?, name)
}

/// The two parts of a key: the first `/` ends its prefix.
pub(crate) fn split(key: &str) -> (&str, &str) {
    key.split_once('/').unwrap_or(("", key))
}

/// The folder of a prefix; the root if it is empty.
///
/// # Errors
/// As [`of_key`].
pub(crate) fn folder(prefix: &str) -> Result<Path, ProviderError> {
    parsed(&in_segments(&written(prefix)))
}

/// The same where the prefix is written as in a key, with `%2F` and `%25` for its `/` and `%`.
///
/// # Errors
/// As [`of_key`].
pub(crate) fn folder_of_key(prefix: &str) -> Result<Path, ProviderError> {
    folder(&prefix.replace("%2F", "/").replace("%25", "%"))
}

/// The object of a name in a folder.
///
/// # Errors
/// As [`of_key`].
pub(crate) fn of_name(folder: &Path, name: &str) -> Result<Path, ProviderError> {
    in_folder(folder, &in_segments(&written(name)))
}

/// The object of this written form in a folder.
///
/// # Errors
/// As [`of_key`].
pub(crate) fn in_folder(folder: &Path, name: &str) -> Result<Path, ProviderError> {
    parsed(&format!("{folder}/{name}"))
}

/// The name of a lock's object in a folder; `None` if it is no lock's.
pub(crate) fn name(folder: &Path, object: &Path) -> Option<String> {
    let segments: Vec<_> = object.prefix_match(folder)?.collect();
    let (last, before) = segments.split_last()?;
    let mut whole = String::new();
    for segment in before {
        whole.push_str(segment.as_ref().strip_suffix('~')?);
    }
    whole.push_str(last.as_ref());
    let name = read(&whole)?;
    // There is one way to write it.
    (of_name(folder, &name).ok()? == *object).then_some(name)
}

fn parsed(text: &str) -> Result<Path, ProviderError> {
    let path = Path::parse(text)
        .map_err(|error| ProviderError::fatal("it is no object's key").with_source(error))?;
    let length = path.as_ref().len();
    if length > LONGEST {
        return Err(ProviderError::fatal(format!(
            "the object's key would have {length} bytes, and {LONGEST} are the most: choose a shorter name"
        )));
    }
    Ok(path)
}

fn written(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'.' => written.push_str(".0"),
            b'/' => written.push_str(".1"),
            b'\\' => written.push_str("]0"),
            b']' => written.push_str("]1"),
            b'-' | b'0'..=b'}' => written.push(char::from(byte)),
            _ => {
                let sign = if byte < b'-' { '%' } else { '~' };
                written.push_str(&format!("{sign}{byte:02X}"));
            }
        }
    }
    written
}

fn in_segments(written: &str) -> String {
    // All of it is ASCII.
    let mut rest = written;
    let mut segments = String::with_capacity(written.len());
    while rest.len() > SEGMENT {
        let (segment, after) = rest.split_at(SEGMENT);
        segments.push_str(segment);
        segments.push_str("~/");
        rest = after;
    }
    segments + rest
}

/// The text with this written form; `None` if no text has it.
fn read(written: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(written.len());
    let mut rest = written.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'.' => *b"./".get(digit(rest.next()?)?)?,
            b']' => *b"\\]".get(digit(rest.next()?)?)?,
            b'%' | b'~' => {
                let value = 16 * digit(rest.next()?)? + digit(rest.next()?)?;
                u8::try_from(value).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

fn digit(byte: u8) -> Option<usize> {
    let value = char::from(byte).to_digit(16)?;
    usize::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// With every byte that a text can begin with, and paths that are known to be merged.
    fn texts() -> Vec<String> {
        let mut texts: Vec<String> = (1..=u8::MAX).map(|byte| char::from(byte).into()).collect();
        for one in ["", "a", ".", "/", "-", "\u{7f}", "\u{10ffff}"] {
            for two in [
                "a", "a.0", "%41", "~41", "]0", "\\", "0", "..", "//", "\u{ffff}",
            ] {
                for last in ["", "b", "/", "."] {
                    texts.push(format!("{one}{two}{last}"));
                }
            }
        }
        for length in SEGMENT - 1..=SEGMENT + 1 {
            for (one, last) in [
                ("a", ""),
                ("a", "."),
                ("a", "~"),
                ("a", "b"),
                (".", "0"),
                ("\u{e4}", "-"),
            ] {
                texts.push(one.repeat(length / written(one).len()) + last);
            }
        }
        texts.sort();
        texts.dedup();
        texts
    }

    #[test]
    fn texts_sort_as_their_objects_and_none_are_merged() {
        let texts = texts();
        let objects: Vec<Path> = texts
            .iter()
            .map(|text| of_key(&format!("p/{text}")).unwrap())
            .collect();
        let folder = folder("p").unwrap();
        for (text, object) in texts.iter().zip(&objects) {
            assert_eq!(name(&folder, object).as_ref(), Some(text), "{object}");
            assert!(
                object
                    .as_ref()
                    .bytes()
                    .all(|byte| (b'%'..=b'~').contains(&byte))
            );
            let mut segments = object.as_ref().split('/');
            assert!(segments.all(|segment| segment.len() <= 255), "{object}");
        }
        assert!(objects.is_sorted_by(|one, two| one.as_ref() < two.as_ref()));
    }

    #[test]
    fn prefixes_and_names_are_told_apart() {
        let mut seen = BTreeMap::new();
        // As `dlock-cas` escapes them.
        for prefix in ["", "a", "a%2Fb", "a%252Fb", "a%2F", "%2E", ".", "..", "%25"] {
            for name in ["a", "b/c", "/b", "a/b/c", "..", "a.1b"] {
                let key = format!("{prefix}/{name}");
                let path = of_key(&key).unwrap();
                if let Some(other) = seen.insert(path.clone(), key.clone()) {
                    panic!("{key} and {other} are both {path}");
                }
            }
        }
        assert_eq!(of_key("a%2Fb/c d").unwrap().as_ref(), "a.1b/c%20d");
        assert_eq!(of_key("/c").unwrap().as_ref(), "c");
    }

    #[test]
    fn objects_of_nobody_are_no_names() {
        let folder = folder("p").unwrap();
        for foreign in [
            "p",
            "p0/a",
            "q/a",
            "a",
            "p/a/b",
            "p/a~/b",
            "p/~/a",
            "p/.x",
            "p/.",
            "p/a.",
            "p/]",
            "p/%2",
            "p/%zz",
            "p/%41",
            "p/~2D",
            "p/~FF",
            "p/.verify-1",
            "p/\u{e4}",
            "p/a b",
        ] {
            // Some are no paths, so no objects.
            if let Ok(path) = Path::parse(foreign) {
                assert_eq!(name(&folder, &path), None, "{foreign}");
            }
        }
        assert_eq!(
            name(&Path::ROOT, &Path::parse("a").unwrap()).as_deref(),
            Some("a")
        );
        assert_eq!(name(&Path::ROOT, &Path::parse("a/b").unwrap()), None);
    }

    #[test]
    fn key_that_is_too_long_is_refused() {
        // Five segments.
        let fits = "x".repeat(LONGEST - "p/".len() - 4 * "~/".len());
        assert!(of_key(&format!("p/{fits}")).is_ok());
        let error = of_key(&format!("p/{fits}x")).unwrap_err();
        assert_eq!(error.kind(), dlock_core::ErrorKind::Fatal);
    }
}
