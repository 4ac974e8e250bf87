//! The text after the question mark of a store: NAME=VALUE, joined by &.

use crate::{StoreError, text::harmless};

/// The parameters of one store, to be taken one by one.
pub(crate) struct Query<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Query<'a> {
    /// Accepts only these names. An error repeats no value, and a name only where it looks like one: the rest may be a
    /// secret in the wrong place.
    pub(crate) fn parse(text: &'a str, known: &[&str]) -> Result<Self, StoreError> {
        let mut parameters = Vec::new();
        for parameter in text.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter.split_once('=') {
                Some((name, value)) if known.contains(&name) => parameters.push((name, value)),
                other => {
                    let known = known.join(", ");
                    let unknown = other.filter(|(name, value)| is_name(name, value));
                    return Err(StoreError::no_location(&match unknown {
                        Some((name, _)) => {
                            format!("it has no setting {name:?}, but these: {known}")
                        }
                        None => format!(
                            "the settings after the question mark are name=value, joined by &, with these names: {known}"
                        ),
                    }));
                }
            }
        }
        Ok(Self(parameters))
    }

    /// The value of this parameter, without its percent signs; the last one, if there are several.
    pub(crate) fn take(&mut self, name: &str) -> Result<Option<String>, StoreError> {
        let Self(parameters) = self;
        let found = parameters.iter().rfind(|(key, _)| *key == name);
        let value = found.map(|(_, value)| decoded(value)).transpose()?;
        parameters.retain(|(key, _)| *key != name);
        Ok(value)
    }

    /// Whether this parameter is `true`.
    pub(crate) fn is_true(&mut self, name: &str) -> Result<bool, StoreError> {
        Ok(self.boolean(name)?.unwrap_or(false))
    }

    /// A parameter that is `true` or `false`, if it is there.
    pub(crate) fn boolean(&mut self, name: &str) -> Result<Option<bool>, StoreError> {
        match self.take(name)?.as_deref() {
            None => Ok(None),
            Some("false") => Ok(Some(false)),
            Some("true") => Ok(Some(true)),
            Some(_) => Err(StoreError::no_location(&format!("{name} is true or false"))),
        }
    }

    /// The parameters that were not taken, as they were written.
    pub(crate) fn rest(&self) -> String {
        let Self(parameters) = self;
        let rest = parameters.iter();
        let rest: Vec<String> = rest
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        rest.join("&")
    }
}

/// Whether this is a misspelt setting, and no piece of a secret: a word, and a value that is not the padding of base64.
fn is_name(name: &str, value: &str) -> bool {
    let is_word = |letter: u8| letter.is_ascii_alphabetic() || b"_-".contains(&letter);
    (1..=32).contains(&name.len())
        && name.bytes().all(is_word)
        && !value.is_empty()
        && !value.starts_with('=')
}

/// The parameters that are set, as a location shows them: with their question mark, or nothing.
pub(crate) fn shown(parameters: &[(&str, &Option<String>)]) -> String {
    let set = parameters.iter().filter_map(|(name, value)| {
        let value = value.as_ref()?;
        Some(format!("{name}={}", harmless(value)))
    });
    let set: Vec<String> = set.collect();
    if set.is_empty() {
        String::new()
    } else {
        format!("?{}", set.join("&"))
    }
}

/// A value without its percent signs.
pub(super) fn decoded(value: &str) -> Result<String, StoreError> {
    let broken = || {
        StoreError::no_location("a percent sign in it is not followed by two hexadecimal digits")
    };
    let mut pieces = value.split('%');
    let mut bytes = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        let (digits, rest) = piece.split_at_checked(2).ok_or_else(broken)?;
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(broken());
        }
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| broken())?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).map_err(|_| StoreError::no_location("a value in it is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_name_is_repeated_and_nothing_that_may_be_a_secret() {
        for (text, named) in [
            ("prefx=a", Some("prefx")),
            ("prefix=a&ssl_mode=hunter2", Some("ssl_mode")),
            ("Prefix=a", Some("Prefix")),
            ("hunter2", None),
            ("hunter2=x", None),
            ("c2VjcmV0=", None),
            ("secret==", None),
            ("prefx", None),
            ("=hunter2", None),
        ] {
            let error = Query::parse(text, &["prefix", "sslmode"]).err().unwrap();
            let shown = error.to_string();
            assert!(shown.contains("prefix, sslmode"), "{shown}");
            assert!(
                !shown.contains("hunter2") && !shown.contains("ecret"),
                "{shown}"
            );
            match named {
                Some(name) => assert!(shown.contains(&format!("{name:?}")), "{shown}"),
                None => assert!(!shown.contains('"'), "{shown}"),
            }
        }
    }

    #[test]
    fn parameters_are_taken_decoded_and_the_rest_stays_as_it_is() {
        let text = "prefix=a%26b%3D%25&host=x%2Fy&prefix=&options=-c%20x%3D1";
        let mut query = Query::parse(text, &["host", "options", "prefix"]).unwrap();
        assert_eq!(query.take("prefix").unwrap().as_deref(), Some(""));
        assert_eq!(query.take("prefix").unwrap(), None);
        assert_eq!(query.rest(), "host=x%2Fy&options=-c%20x%3D1");
        let mut query = Query::parse("prefix=a%26b%3D%25", &["prefix"]).unwrap();
        assert_eq!(query.take("prefix").unwrap().as_deref(), Some("a&b=%"));
        for wrong in ["%", "%4", "%+4", "%zz", "%ff"] {
            let text = format!("prefix={wrong}");
            let mut query = Query::parse(&text, &["prefix"]).unwrap();
            assert!(query.take("prefix").is_err(), "{wrong}");
        }
    }
}
