//! JSON text that comes out of a queue as it went in. This crate, the stores, and programs that take tasks from
//! untrusted clients read it with this module.

use serde_json::Value;

/// The deepest nesting of a payload, an output or a checkpoint. Answers nest it a little deeper, and readers of JSON
/// commonly stop at 128.
pub(crate) const MAX_DEPTH: usize = 100;

/// JSON that cannot be read without a change of its value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unreadable(String);

/// Reads JSON text, unless a worker would get a different value from the one in the text.
///
/// # Errors
/// Text that is not JSON or nests deeper than 100 levels, and text that [`numbers`] refuses.
pub fn read(text: &str) -> Result<Value, Unreadable> {
    let look = look(text)?;
    if look.depth > MAX_DEPTH {
        return Err(Unreadable(too_deep()));
    }
    serde_json::from_str(text).map_err(|error| Unreadable(error.to_string()))
}

/// Checks that each number in a JSON text keeps its value when it is read. A [`Value`] holds integers of 64 bits and
/// floating-point numbers, and silently turns others into the nearest one.
///
/// # Errors
/// Names the first number that would change.
pub fn numbers(text: &str) -> Result<(), Unreadable> {
    look(text).map(drop)
}

pub(crate) fn too_deep() -> String {
    format!("it nests more than {MAX_DEPTH} levels deep")
}

/// The findings of a pass over a JSON text.
pub(crate) struct Look {
    pub(crate) depth: usize,
    /// Whether a text in it contains a NUL character.
    pub(crate) has_nul: bool,
}

/// Scans a JSON text, which need not be valid.
pub(crate) fn look(text: &str) -> Result<Look, Unreadable> {
    let bytes = text.as_bytes();
    let (mut at, mut depth, mut has_nul) = (0, 0_usize, false);
    let mut deepest = 0;
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        at += 1;
        match byte {
            b'"' => {
                while let Some(&byte) = bytes.get(at).filter(|&&byte| byte != b'"') {
                    has_nul |= bytes[at..].starts_with(b"\\u0000");
                    at += if byte == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'-' | b'0'..=b'9' => {
                let more =
                    |byte: &u8| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-');
                at += bytes[at..].iter().take_while(|byte| more(byte)).count();
                number(&text[start..at])?;
            }
            _ => {}
        }
    }
    Ok(Look {
        depth: deepest,
        has_nul,
    })
}

fn number(text: &str) -> Result<(), Unreadable> {
    if text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok() {
        return Ok(());
    }
    let read: Value = serde_json::from_str(text)
        .map_err(|error| Unreadable(format!("the number {text:.40} cannot be read: {error}")))?;
    if decimal(text) == decimal(&read.to_string()) {
        return Ok(());
    }
    Err(Unreadable(format!(
        "the number {text:.40} would become {read}: write it as a text"
    )))
}

/// The digits of a number without leading and trailing zeros, and the power of ten of the first one.
fn decimal(number: &str) -> Option<(&str, String, i64)> {
    let (sign, number) = match number.strip_prefix('-') {
        Some(number) => ("-", number),
        None => ("", number),
    };
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_start_matches('0');
    if significant.is_empty() {
        return Some((sign, String::new(), 0));
    }
    let power = i64::try_from(whole.len() + significant.len()).ok()?
        - i64::try_from(digits.len()).ok()?
        + exponent.parse::<i64>().ok()?;
    Some((sign, significant.trim_end_matches('0').to_owned(), power))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_as_what_it_says_or_not_at_all() {
        for text in [
            "18446744073709551615",
            "-9223372036854775808",
            "0.1",
            "1.50",
            "1e3",
            "100000000000000000000",
            "-0.0",
            "0e7",
            "5e-324",
            "1.7976931348623157e308",
            "0.30000000000000004",
            r#"{"12345678901234567890123": "98765432109876543210987 \" 1e999 \\"}"#,
        ] {
            let read = read(text).map(|value| super::read(&value.to_string()) == Ok(value));
            assert_eq!(read, Ok(true), "{text}");
        }
        for text in [
            "123456789012345678901234567890",
            "18446744073709551616.5",
            "9007199254740993.0",
            "0.1000000000000000055511151231257827",
            "1e999",
            "-1e999",
            "1e-999",
            "1e99999999999999999999",
            r#"["\\", {"a": 18446744073709551617}]"#,
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains("the number"), "{text}: {error}");
        }
        for text in ["", "{", "\"\\", "\"é", "-", "[1", r#""\ud800""#] {
            read(text).unwrap_err();
        }
    }

    #[test]
    fn nothing_is_read_that_nests_too_deep() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(read(&nested(MAX_DEPTH)).is_ok());
        let error = read(&nested(MAX_DEPTH + 1)).unwrap_err();
        assert_eq!(error.to_string(), "it nests more than 100 levels deep");
        assert!(read(&r#"{"a": []},"#.repeat(200)).is_err());
    }

    #[test]
    fn a_nul_is_told_from_what_looks_like_one() {
        for (value, has_nul) in [("a\0b", true), ("a\\u0000b", false), ("\\\0", true)] {
            let text = Value::from(value).to_string();
            assert_eq!(look(&text).unwrap().has_nul, has_nul, "{text}");
        }
    }
}
