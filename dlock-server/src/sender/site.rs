//! Which site a request is meant for, and which one made a browser send it.

use axum::http::{HeaderMap, Uri, header};

/// The host that the client means, without its port.
pub(crate) fn host(headers: &HeaderMap, uri: &Uri) -> Option<String> {
    let authority = authority_of(headers, uri)?;
    let (host, port) = authority.rsplit_once(':').unwrap_or((&authority, ""));
    let has_port = port.bytes().all(|letter| letter.is_ascii_digit());
    let host = if has_port { host } else { &authority };
    Some(host.to_ascii_lowercase())
}

/// Whether a browser sends this for a page that is not of this server.
pub(crate) fn is_cross_site(headers: &HeaderMap, host: Option<&str>) -> bool {
    if let Some(site) = fetch_site(headers) {
        return !matches!(site, "same-origin" | "none");
    }
    let Some(origin) = headers.get(header::ORIGIN) else {
        return false;
    };
    let origin = origin.to_str().ok().and_then(|origin| origin.parse().ok());
    origin.is_none_or(|origin: Uri| self::host(&HeaderMap::new(), &origin).as_deref() != host)
}

/// Whether a browser sends this for a page of this very server, its port included: cookies know no ports, so another
/// server of the machine may have made the browser send it. What proves nothing is not.
pub(crate) fn is_same_origin(headers: &HeaderMap, uri: &Uri) -> bool {
    if let Some(site) = fetch_site(headers) {
        return site == "same-origin";
    }
    let origin = headers.get(header::ORIGIN);
    let origin = origin.and_then(|origin| origin.to_str().ok()?.parse::<Uri>().ok());
    let authority = origin.as_ref().and_then(Uri::authority);
    match (authority, authority_of(headers, uri)) {
        (Some(page), Some(server)) => page.as_str().eq_ignore_ascii_case(&server),
        _ => false,
    }
}

/// What a browser says of the page, where it says it.
fn fetch_site(headers: &HeaderMap) -> Option<&str> {
    headers.get("sec-fetch-site")?.to_str().ok()
}

/// The host that the client means, with its port.
fn authority_of(headers: &HeaderMap, uri: &Uri) -> Option<String> {
    uri.authority().map(ToString::to_string).or_else(|| {
        let host = headers.get(header::HOST)?.to_str().ok()?;
        Some(host.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)));
        pairs.collect()
    }

    #[test]
    fn host_is_told_without_its_port() {
        let of = |name: &'static str| host(&headers(&[("host", name)]), &Uri::from_static("/"));
        assert_eq!(of("Example.com:80").as_deref(), Some("example.com"));
        assert_eq!(of("example.com").as_deref(), Some("example.com"));
        assert_eq!(of("[::1]:7420").as_deref(), Some("[::1]"));
        assert_eq!(of("[::1]").as_deref(), Some("[::1]"));
        let absolute = Uri::from_static("http://a.example:1/x");
        assert_eq!(
            host(&HeaderMap::new(), &absolute).as_deref(),
            Some("a.example")
        );
    }

    #[test]
    fn only_pages_of_this_server_and_programs_are_of_this_site() {
        for (foreign, pairs) in [
            (false, &[][..]),
            (false, &[("sec-fetch-site", "same-origin")]),
            (false, &[("sec-fetch-site", "none")]),
            (true, &[("sec-fetch-site", "cross-site")]),
            (true, &[("sec-fetch-site", "same-site")]),
            (false, &[("origin", "http://a.example:7420")]),
            (true, &[("origin", "http://b.example")]),
            (true, &[("origin", "null")]),
        ] {
            assert_eq!(
                is_cross_site(&headers(pairs), Some("a.example")),
                foreign,
                "{pairs:?}"
            );
        }
    }

    #[test]
    fn only_the_page_of_this_port_proves_that_it_is_of_this_server() {
        for (same, pairs) in [
            (false, &[][..]),
            (true, &[("sec-fetch-site", "same-origin")]),
            (false, &[("sec-fetch-site", "none")]),
            (false, &[("sec-fetch-site", "same-site")]),
            (false, &[("sec-fetch-site", "cross-site")]),
            (true, &[("origin", "http://A.example:7420")]),
            (false, &[("origin", "http://a.example:7421")]),
            (false, &[("origin", "http://a.example")]),
            (false, &[("origin", "null")]),
        ] {
            let mut headers = headers(pairs);
            headers.insert(header::HOST, HeaderValue::from_static("a.example:7420"));
            assert_eq!(
                is_same_origin(&headers, &Uri::from_static("/")),
                same,
                "{pairs:?}"
            );
        }
    }
}
