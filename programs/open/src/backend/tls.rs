//! TLS: one implementation for all stores, rustls with ring; and the advice when it refuses a server.

use std::{error::Error as StdError, io, sync::Arc};

use rustls::AlertDescription;
use rustls::crypto::CryptoProvider;

/// The cryptography of every connection. Drivers that make their own settings find it as the
/// process's default; without one they would panic at the first connection.
pub(crate) fn cryptography() -> Arc<CryptoProvider> {
    if CryptoProvider::get_default().is_none() {
        // Another thread may be faster, with the same.
        rustls::crypto::ring::default_provider()
            .install_default()
            .ok();
    }
    CryptoProvider::get_default()
        .cloned()
        .unwrap_or_else(|| Arc::new(rustls::crypto::ring::default_provider()))
}

/// The advice about a server that TLS did not accept; `None` for any other error. Repeating the call to such a server
/// does not help.
pub(crate) fn advice(error: &(dyn StdError + 'static)) -> Option<&'static str> {
    std::iter::successors(Some(error), |&error| next(error)).find_map(|error| {
        match error.downcast_ref::<rustls::Error>() {
            Some(rustls::Error::InvalidCertificate(_)) => Some(
                "is the address right? the certificates that sign servers are those of this system, or of the file \
                 in SSL_CERT_FILE; for Postgres those of sslrootcert",
            ),
            Some(rustls::Error::AlertReceived(
                AlertDescription::AccessDenied
                | AlertDescription::BadCertificate
                | AlertDescription::CertificateExpired
                | AlertDescription::CertificateRequired
                | AlertDescription::CertificateUnknown
                // From an authority that has the name of a known one.
                | AlertDescription::DecryptError
                | AlertDescription::UnknownCA
                | AlertDescription::UnsupportedCertificate,
            )) => Some(
                "the server lets in only those with a certificate that it knows: sslcert and sslkey name the files of this client's",
            ),
            Some(_) => Some("does this port speak TLS, of version 1.2 or 1.3?"),
            // The driver has no code for it.
            None if error.to_string() == "server does not support TLS" => {
                Some("switch it on in the server, or ask for less: sslmode=prefer or disable")
            }
            None => None,
        }
    })
}

/// The error inside of an error. A wrapper reports the source of the error it wraps as its own, so
/// following `source` alone skips the wrapped error.
fn next<'e>(error: &'e (dyn StdError + 'static)) -> Option<&'e (dyn StdError + 'static)> {
    if let Some(wrapped) = error
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref)
    {
        return Some(wrapped);
    }
    match error.downcast_ref::<Arc<dyn StdError + Send + Sync>>() {
        Some(shared) => Some(&**shared),
        None => error.source(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_by_tls_is_found_wherever_it_is_wrapped() {
        let refused = || rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        let wrapped = io::Error::new(io::ErrorKind::InvalidData, refused());
        assert!(advice(&refused()).is_some());
        assert!(advice(&wrapped).is_some());
        assert!(advice(&io::Error::other(wrapped)).is_some());
        let shared: Arc<dyn StdError + Send + Sync> = Arc::new(refused());
        assert!(advice(&shared).is_some());
        let wrapped = io::Error::other(shared);
        let provider = dlock_core::ProviderError::unknown("x").with_source(wrapped);
        assert!(advice(&provider).is_some());
        assert!(advice(&io::Error::from(io::ErrorKind::ConnectionReset)).is_none());
    }
}
