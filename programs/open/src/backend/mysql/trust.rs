//! Whom a connection to a database trusts: `sslmode` and `sslrootcert`, as for PostgreSQL as far as the driver supports
//! it.
//!
//! | mode | TLS | the certificate |
//! |---|---|---|
//! | disable | never | |
//! | require | always | is not checked |
//! | verify-full | always | is signed by one of the roots, and is for this host |
//!
//! Roots are those of the file `sslrootcert`, or with `sslrootcert=system` those of this system (or of
//! `SSL_CERT_FILE`). The default mode is verify-full with roots, and disable without.

use std::path::PathBuf;

use dlock_mysql::mysql_async::{ClientIdentity, SslOpts};
use rustls::RootCertStore;

use crate::{StoreError, backend::identity::Files};

/// Both parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    NoTls,
    Anybody,
    System,
    File(PathBuf),
}

impl Trust {
    pub(super) fn new(mode: Option<&str>, roots: Option<String>) -> Result<Self, StoreError> {
        match (mode, roots) {
            (None | Some("disable"), None) | (Some("disable"), Some(_)) => Ok(Self::NoTls),
            (Some("require"), None) => Ok(Self::Anybody),
            (None | Some("verify-full"), Some(roots)) if roots == "system" => Ok(Self::System),
            (None | Some("verify-full"), Some(file)) => Ok(Self::File(file.into())),
            (Some("verify-full"), None) => Err(StoreError::no_location(
                "this sslmode takes the certificates to trust: sslrootcert=FILE or sslrootcert=system",
            )),
            (Some("require"), Some(_)) => Err(StoreError::no_location(
                "sslrootcert takes sslmode=verify-full",
            )),
            (Some(_), _) => Err(StoreError::no_location(
                "its sslmode is none of disable, require and verify-full",
            )),
        }
    }

    /// The options for the driver; `None` for no TLS.
    pub(super) fn options(&self, client: Option<&Files>) -> Result<Option<SslOpts>, StoreError> {
        let files = client.map(Files::read).transpose()?;
        let identity =
            files.map(|(certificate, key)| ClientIdentity::new(certificate.into(), key.into()));
        let options = SslOpts::default().with_client_identity(identity);
        let roots = match self {
            Self::NoTls => return Ok(None),
            Self::Anybody => return Ok(Some(options.with_danger_accept_invalid_certs(true))),
            Self::File(file) => vec![file.clone().into()],
            Self::System => of_system()?.into_iter().map(Into::into).collect(),
        };
        Ok(Some(
            options
                .with_root_certs(roots)
                .with_disable_built_in_roots(true),
        ))
    }
}

/// The certificates of this system. The driver would reject one that signs no other.
fn of_system() -> Result<Vec<Vec<u8>>, StoreError> {
    let found = rustls_native_certs::load_native_certs();
    let usable = found.certs.into_iter().filter(|certificate| {
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone()).is_ok()
    });
    let usable: Vec<Vec<u8>> = usable.map(|certificate| certificate.to_vec()).collect();
    if !usable.is_empty() {
        return Ok(usable);
    }
    let failure = StoreError::unusable(
        "this system has no certificates to trust, for sslrootcert=system",
    )
    .advise("install them (on Debian: ca-certificates), or name a file of them in SSL_CERT_FILE");
    Err(match found.errors.into_iter().next() {
        Some(error) => failure.because(error),
        None => failure,
    })
}
