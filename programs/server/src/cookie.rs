//! The cookie that keeps a browser logged in. It contains the token, so that a server stores nothing about a log-in,
//! and any other server with the same tokens accepts it, too.

use axum::http::{HeaderMap, HeaderValue, header};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

/// Browsers accept a cookie with such a name only from the very host, for all of its paths, and over a connection that
/// they trust: TLS, or a connection to their own machine.
const NAME: &str = "__Host-dlock";

/// No script reads it, and no page of another site makes a browser send it.
const TERMS: &str = "Path=/; Secure; HttpOnly; SameSite=Strict";

/// Sets the cookie. A token may be any text, so it is written as base64.
pub(crate) fn keeping(token: &str) -> Option<HeaderValue> {
    let value = URL_SAFE_NO_PAD.encode(token);
    HeaderValue::try_from(format!("{NAME}={value}; {TERMS}")).ok()
}

/// Removes the cookie.
pub(crate) fn forgetting() -> Option<HeaderValue> {
    HeaderValue::try_from(format!("{NAME}=; {TERMS}; Max-Age=0")).ok()
}

/// The token in the cookie of a request.
pub(crate) fn token(headers: &HeaderMap) -> Option<String> {
    let lines = headers.get_all(header::COOKIE).into_iter();
    // Other cookies may contain any bytes.
    let mut cookies = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b';'));
    let value = cookies.find_map(|cookie| {
        let value = cookie.trim_ascii().strip_prefix(NAME.as_bytes())?;
        value.strip_prefix(b"=")
    })?;
    String::from_utf8(URL_SAFE_NO_PAD.decode(value).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_token_comes_back_from_between_other_cookies() {
        for token in ["0123abc", "a b;c=\"ü\"", ""] {
            let set = keeping(token).unwrap();
            let (own, terms) = set.to_str().unwrap().split_once("; ").unwrap();
            assert_eq!(terms, TERMS);
            let mut headers = HeaderMap::new();
            let line = format!("a=b; name=Müller; {own};x__Host-dlock=c");
            headers.append(header::COOKIE, HeaderValue::from_static("first=1"));
            let line = HeaderValue::from_bytes(line.as_bytes()).unwrap();
            headers.append(header::COOKIE, line);
            assert_eq!(super::token(&headers).as_deref(), Some(token));
        }
        for line in ["", "__Host-dlock", "__Host-dlock2=YQ", "__Host-dlock=!"] {
            let mut headers = HeaderMap::new();
            headers.append(header::COOKIE, HeaderValue::from_static(line));
            assert_eq!(super::token(&headers), None, "{line}");
        }
    }
}
