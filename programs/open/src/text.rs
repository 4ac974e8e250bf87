//! Text that is shown to people: text that others have chosen, text that may contain a password, and the causes of an
//! error.

use std::error::Error;

/// Text that another program has chosen, made harmless to a terminal.
#[must_use]
pub fn harmless(text: &str) -> String {
    text.escape_debug().to_string()
}

/// Text without the user and the password of any URL in it. Texts about a store have none in the first place; this is
/// for texts that people put in the wrong place, and for those of drivers.
#[must_use]
pub fn without_credentials(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        shown.push_str(before);
        shown.push_str("://");
        let url = &after[..after.find(char::is_whitespace).unwrap_or(after.len())];
        // A user alone is no secret.
        let hidden = match url.rfind('@') {
            Some(at) if url[..at].contains(':') => at,
            _ => 0,
        };
        if hidden > 0 {
            shown.push_str("***");
        }
        rest = &after[hidden..];
    }
    shown.push_str(rest);
    shown
}

/// A message, and after it the causes, as far down as they are known; a cause that only repeats another is left out.
#[must_use]
pub fn with_causes(message: &str, mut cause: Option<&(dyn Error + 'static)>) -> String {
    let mut whole = message.to_owned();
    let mut last = whole.clone();
    while let Some(error) = cause {
        let text = error.to_string();
        cause = error.source();
        // Transparent errors repeat the text of their source, others end with it, and the driver of
        // Postgres has a text that says nothing without its source.
        let says_nothing = text == "db error" && cause.is_some();
        if !last.ends_with(&text) && !says_nothing {
            if !whole.is_empty() {
                whole.push_str(": ");
            }
            whole.push_str(&text);
            last = text;
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Cause {
        text: &'static str,
        source: Option<Box<Self>>,
    }

    #[test]
    fn what_a_cause_repeats_or_only_announces_is_left_out() {
        let mut cause: Option<Box<Cause>> = None;
        for text in [
            "FATAL: no such user",
            "db error",
            "no such user",
            "refused: no such user",
            "refused: no such user",
        ] {
            let source = cause.take();
            cause = Some(Box::new(Cause { text, source }));
        }
        let cause = *cause.unwrap();
        let whole = "refused: no such user: FATAL: no such user";
        assert_eq!(
            with_causes("can't read", Some(&cause)),
            format!("can't read: {whole}")
        );
        assert_eq!(with_causes("", Some(&cause)), whole);
        let alone = Cause {
            text: "db error",
            source: None,
        };
        assert_eq!(
            with_causes("can't read", Some(&alone)),
            "can't read: db error"
        );
        assert_eq!(with_causes("can't read", None), "can't read");
    }

    #[test]
    fn passwords_in_urls_are_not_shown() {
        for (text, shown) in [
            ("no url", "no url"),
            ("redis://h/0 postgres://me@h", "redis://h/0 postgres://me@h"),
            (
                "'postgres://u:p@h/d' and redis://:a@b@h.",
                "'postgres://***@h/d' and redis://***@h.",
            ),
            ("x://y://u:p@h", "x://***@h"),
            (
                "see https://a.b:1/c, or write to me@x",
                "see https://a.b:1/c, or write to me@x",
            ),
        ] {
            assert_eq!(without_credentials(text), shown);
        }
    }
}
