//! The common parts of the URLs of servers.

use crate::text::harmless;

/// Whether the text before the `@` is the user and the password, all of it and nothing else.
///
/// A password with a bare `/`, `?`, `#` or `@` would be read as a part of the host or the path, and
/// shown as such; so it is refused.
pub(crate) fn has_clear_credentials(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    match rest.matches('@').count() {
        0 => true,
        1 => authority.contains('@'),
        _ => false,
    }
}

/// The message about a URL without clear credentials.
pub(crate) const UNCLEAR: &str = "where its user and password end is not clear: in them, write / ? # and @ as %2F %3F %23 and %40";

/// The message about texts that are no hosts.
pub(crate) const MEMBERS: &str = "its members are written HOST or HOST:PORT, joined by commas";

/// Several hosts, each with its port.
pub(crate) fn members(text: &str, port: u16) -> Option<Vec<(String, u16)>> {
    text.split(',').map(|text| member(text, port)).collect()
}

/// A host without brackets, and its port.
fn member(text: &str, otherwise: u16) -> Option<(String, u16)> {
    let (name, port) = match text.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, port.parse().ok()?),
        _ => (text, otherwise),
    };
    let inside = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'));
    let name = if let Some(address) = inside {
        address.parse::<std::net::Ipv6Addr>().ok()?;
        address
    } else {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-._".contains(letter);
        (!name.is_empty() && name.chars().all(plain)).then_some(name)?
    };
    Some((name.to_owned(), port))
}

/// A host in the form for a URL.
pub(crate) fn bracketed(host: &str) -> String {
    if host.contains(':') {
        format!("[{}]", harmless(host))
    } else {
        harmless(host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn password_with_a_bare_separator_is_unclear() {
        for clear in [
            "redis://h",
            "redis://h/0",
            "redis://u:p@h",
            "redis://:p%40%2F@h:1/2?protocol=resp3",
            "postgres:///db?host=/run",
            "postgres://u@a:1,b:2/db",
        ] {
            assert!(has_clear_credentials(clear), "{clear}");
        }
        for unclear in [
            "redis://u:p@ss@h",
            "redis://u:p/ss@h",
            "redis://u:p?ss@h",
            "redis://:p#ss@h",
            "redis://h/0?x=a@b",
            "redis://u:p@h/x@y",
        ] {
            assert!(!has_clear_credentials(unclear), "{unclear}");
        }
    }
}
