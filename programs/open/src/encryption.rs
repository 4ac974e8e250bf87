//! Whether others can read or change the traffic with a store.

/// How the traffic with a store is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Encryption {
    /// It does not leave this machine.
    Local,
    /// Encrypted, to a server whose certificate is checked.
    Checked,
    /// Perhaps encrypted, to a server whose certificate is not checked: the text says how to get more.
    Unchecked(&'static str),
    /// Readable by every machine in between: the text says how to get more.
    None(&'static str),
}

impl Encryption {
    /// How the traffic with the server of an `http://` or `https://` URL is protected; `None` for any other URL.
    #[cfg(feature = "_tls")]
    #[allow(dead_code, reason = "each store uses a part of it")]
    pub(crate) fn of_url(url: &str, more: &'static str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let over_tls = match scheme {
            "http" => false,
            "https" => true,
            _ => return None,
        };
        let authority = rest.split('/').next().unwrap_or_default();
        let (_, server) = authority.rsplit_once('@').unwrap_or(("", authority));
        let host = match server.rsplit_once(':') {
            // Not a part of an address in brackets.
            Some((host, port)) if !port.ends_with(']') => host,
            _ => server,
        };
        Some(Self::of_host(over_tls, host, more))
    }

    /// How the traffic with a host is protected: by TLS with a check of its certificate, or not at all.
    #[cfg(feature = "_tls")]
    #[allow(dead_code, reason = "each store uses a part of it")]
    pub(crate) fn of_host(over_tls: bool, host: &str, more: &'static str) -> Self {
        if over_tls {
            Self::Checked
        } else if is_loopback(host) {
            Self::Local
        } else {
            Self::None(more)
        }
    }
}

/// Whether this names the machine itself, in a URL or outside of one.
#[cfg(feature = "_tls")]
pub(crate) fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || address
            .parse()
            .is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}
