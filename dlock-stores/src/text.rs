//! Text that is shown to people: what others have chosen, and what may have a password in it.

/// Text that somebody else has chosen, harmless to a terminal.
#[must_use]
pub fn harmless(text: &str) -> String {
    text.escape_debug().to_string()
}

/// Text without the user and the password of any URL in it. What is shown of a store has none in
/// the first place; this is for what people put where no store belongs, and for what drivers say.
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

#[cfg(test)]
mod tests {
    use super::*;

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
