//! The site that a request is meant for, and the site that made a browser send it.

use std::net::IpAddr;

use axum::http::{
    HeaderMap, Method, Uri, header,
    uri::{Authority, Scheme},
};

/// The host that the client means, without its port.
pub(crate) fn host(headers: &HeaderMap, uri: &Uri) -> Option<String> {
    let authority = authority_of(headers, uri)?;
    let (host, port) = authority.rsplit_once(':').unwrap_or((&authority, ""));
    let has_port = port.bytes().all(|letter| letter.is_ascii_digit());
    let host = if has_port { host } else { &authority };
    Some(host.to_ascii_lowercase())
}

/// Whether a browser sends this for a page that is not of this server. Requests of a program, which says nothing about
/// a page, are not.
pub(crate) fn is_cross_site(headers: &HeaderMap, uri: &Uri) -> bool {
    if let Some(site) = fetch_site(headers) {
        return !matches!(site, "same-origin" | "none");
    }
    headers.contains_key(header::ORIGIN) && page(headers, uri).is_none()
}

/// Whether a browser sends this because a user follows a link, and shows the answer as a page of its own, in no frame.
pub(crate) fn is_link(method: &Method, headers: &HeaderMap) -> bool {
    let destination = headers.get("sec-fetch-dest");
    method.is_safe() && destination.is_some_and(|destination| destination == "document")
}

/// Whether a browser sends this for a page of this very server, including its port: cookies do not distinguish ports,
/// so another server of the machine may have made the browser send it. A request without proof does not count.
///
/// Only a page that could not be changed in transit counts: the cookie is kept for no other one either.
pub(crate) fn is_same_origin(headers: &HeaderMap, uri: &Uri) -> bool {
    if let Some(site) = fetch_site(headers) {
        return site == "same-origin";
    }
    page(headers, uri).is_some_and(|page| {
        page.scheme() == Some(&Scheme::HTTPS) || page.host().is_some_and(is_loopback)
    })
}

/// The browser's statement about the page, if it makes one (Fetch Metadata). Scripts cannot set this header.
fn fetch_site(headers: &HeaderMap) -> Option<&str> {
    headers.get("sec-fetch-site")?.to_str().ok()
}

/// The page that made a browser send this, if it belongs to this server: its host and port are those that the client
/// means.
///
/// The server may stand behind a proxy that speaks TLS for it, so the scheme that the client means is unknown, and a
/// host without a port means the default port of the page's own scheme. A proxy has to pass on the `Host` that the
/// client sends: behind one that replaces it no page belongs to this server, for browsers without Fetch Metadata.
fn page(headers: &HeaderMap, uri: &Uri) -> Option<Uri> {
    let page: Uri = headers.get(header::ORIGIN)?.to_str().ok()?.parse().ok()?;
    let server: Authority = authority_of(headers, uri)?.parse().ok()?;
    let usual = match page.scheme_str()? {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    let is_host = page.host()?.eq_ignore_ascii_case(server.host());
    let is_port = page.port_u16().unwrap_or(usual) == server.port_u16().unwrap_or(usual);
    (is_host && is_port).then_some(page)
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let is_address = address
        .parse()
        .is_ok_and(|address: IpAddr| address.is_loopback());
    is_address || host.eq_ignore_ascii_case("localhost")
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

    fn to(host: &'static str, pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = headers(pairs);
        headers.insert(header::HOST, HeaderValue::from_static(host));
        headers
    }

    #[test]
    fn only_pages_of_this_server_and_programs_are_of_this_site() {
        let own = "a.example:7420";
        for (foreign, host, pairs) in [
            (false, own, &[][..]),
            (false, own, &[("sec-fetch-site", "same-origin")]),
            (false, own, &[("sec-fetch-site", "none")]),
            (true, own, &[("sec-fetch-site", "cross-site")]),
            (true, own, &[("sec-fetch-site", "same-site")]),
            (false, own, &[("origin", "http://A.example:7420")]),
            (true, own, &[("origin", "http://b.example:7420")]),
            (true, own, &[("origin", "null")]),
            (true, own, &[("origin", "moz-extension://a.example:7420")]),
            // Another server of the same machine.
            (true, own, &[("origin", "http://a.example:8080")]),
            (true, own, &[("origin", "http://a.example")]),
            // Behind a proxy, with the port written or not.
            (false, "a.example", &[("origin", "https://a.example")]),
            (false, "a.example:443", &[("origin", "https://a.example")]),
            (true, "a.example", &[("origin", "https://a.example:8443")]),
            (true, "127.0.0.1:7420", &[("origin", "https://a.example")]),
            (false, "[::1]:7420", &[("origin", "http://[::1]:7420")]),
        ] {
            let headers = to(host, pairs);
            let found = is_cross_site(&headers, &Uri::from_static("/"));
            assert_eq!(found, foreign, "{host} {pairs:?}");
        }
    }

    #[test]
    fn only_the_page_of_this_port_proves_that_it_is_of_this_server() {
        for (same, host, pairs) in [
            (false, "a.example:7420", &[][..]),
            (true, "a.example:7420", &[("sec-fetch-site", "same-origin")]),
            (false, "a.example:7420", &[("sec-fetch-site", "none")]),
            (false, "a.example:7420", &[("sec-fetch-site", "same-site")]),
            (false, "a.example:7420", &[("sec-fetch-site", "cross-site")]),
            (
                true,
                "a.example:7420",
                &[("origin", "https://A.example:7420")],
            ),
            (
                false,
                "a.example:7420",
                &[("origin", "https://a.example:7421")],
            ),
            (false, "a.example:7420", &[("origin", "https://a.example")]),
            (false, "a.example:7420", &[("origin", "null")]),
            (true, "a.example", &[("origin", "https://a.example")]),
            // An attacker in the network can write such a page.
            (false, "a.example", &[("origin", "http://a.example")]),
            (
                true,
                "localhost:7420",
                &[("origin", "http://localhost:7420")],
            ),
            (
                true,
                "127.0.0.1:7420",
                &[("origin", "http://127.0.0.1:7420")],
            ),
            (true, "[::1]:7420", &[("origin", "http://[::1]:7420")]),
            (
                false,
                "127.0.0.1:7420",
                &[("origin", "http://127.0.0.1:8080")],
            ),
        ] {
            let headers = to(host, pairs);
            let found = is_same_origin(&headers, &Uri::from_static("/"));
            assert_eq!(found, same, "{host} {pairs:?}");
        }
    }
}
