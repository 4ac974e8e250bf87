//! Whom a connection to a database trusts: `sslmode` and `sslrootcert`, with the meanings that
//! PostgreSQL's own library gives them.
//!
//! | mode | TLS | the certificate |
//! |---|---|---|
//! | disable | never | |
//! | prefer | if the server has it | is not checked, unless there are roots: then as verify-ca |
//! | require | always | the same |
//! | verify-ca | always | is signed by one of the roots |
//! | verify-full | always | and is for this host |
//!
//! Roots are those of the file `sslrootcert`, of `~/.postgresql/root.crt` if it exists, or with `sslrootcert=system`
//! those of this system (or of `SSL_CERT_FILE`). Two differences, both on the side of caution: a file that was named
//! and can't be read is an error in every mode, and after a failed handshake `prefer` does not continue without TLS.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{
    ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_cert_signed_by_trust_anchor, verify_server_name,
    },
    crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject},
    server::ParsedCertificate,
};

use crate::{
    StoreError,
    backend::{identity::Files, tls},
};

/// `sslmode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Disable,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

/// `sslrootcert`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Roots {
    None,
    System,
    File(PathBuf),
}

impl Roots {
    /// The named file, or the usual one if it exists.
    pub(crate) fn new(asked: Option<String>, home: Option<&Path>) -> Self {
        match asked {
            Some(asked) if asked == "system" => Self::System,
            Some(file) => Self::File(file.into()),
            None => home
                .map(|home| home.join(".postgresql/root.crt"))
                .filter(|file| file.exists())
                .map_or(Self::None, Self::File),
        }
    }
}

impl Mode {
    pub(crate) fn new(asked: Option<&str>, roots: &Roots) -> Result<Self, StoreError> {
        let mode = match (asked, roots) {
            // A client that trusts every authority must check the server's name.
            (None | Some("verify-full"), Roots::System) => Self::VerifyFull,
            (Some("prefer" | "require" | "verify-ca"), Roots::System) => {
                return Err(StoreError::no_location(
                    "sslrootcert=system takes sslmode=verify-full",
                ));
            }
            (Some("verify-ca" | "verify-full"), Roots::None) => {
                return Err(StoreError::no_location(
                    "this sslmode takes the certificates to trust: sslrootcert=FILE or sslrootcert=system",
                ));
            }
            (None | Some("prefer"), _) => Self::Prefer,
            (Some("disable"), _) => Self::Disable,
            (Some("require"), _) => Self::Require,
            (Some("verify-ca"), _) => Self::VerifyCa,
            (Some("verify-full"), _) => Self::VerifyFull,
            (Some(_), _) => {
                return Err(StoreError::no_location(
                    "its sslmode is none of disable, prefer, require, verify-ca and verify-full",
                ));
            }
        };
        Ok(mode)
    }
}

/// The settings of a connection.
pub(crate) fn settings(
    mode: Mode,
    roots: &Roots,
    certificate: Option<&Files>,
) -> Result<ClientConfig, StoreError> {
    let provider = tls::cryptography();
    let trusted = match (mode, roots) {
        (Mode::Disable, _) | (_, Roots::None) => None,
        (_, Roots::System) => Some(of_system()?),
        (_, Roots::File(file)) => Some(of_file(file)?),
    };
    let failed = |error| StoreError::unusable("TLS can't be set up for the store").because(error);
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(failed)?;
    let verifier = Verifier {
        trusted,
        name: mode == Mode::VerifyFull,
        provider,
    };
    let builder = builder
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let Some(files) = certificate else {
        return Ok(builder.with_no_client_auth());
    };
    let (chain, key) = files.read()?;
    let chain = CertificateDer::pem_slice_iter(&chain).collect::<Result<_, _>>();
    let chain = chain.map_err(|error| files.useless().because(error))?;
    let key =
        PrivateKeyDer::from_pem_slice(&key).map_err(|error| files.useless().because(error))?;
    builder
        .with_client_auth_cert(chain, key)
        .map_err(|error| files.useless().because(error))
}

fn of_system() -> Result<Trusted, StoreError> {
    let found = rustls_native_certs::load_native_certs();
    let trusted = Trusted::new(found.certs);
    if !trusted.roots.is_empty() {
        return Ok(trusted);
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

fn of_file(file: &Path) -> Result<Trusted, StoreError> {
    let failure = || {
        StoreError::unusable(format!(
            "no certificate to trust can be read from {}",
            file.display()
        ))
        .advise("sslrootcert names a file with certificates in the form PEM")
    };
    let certificates = CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect)
        .map_err(|error| failure().because(error))?;
    let trusted = Trusted::new(certificates);
    if trusted.roots.is_empty() {
        return Err(failure());
    }
    Ok(trusted)
}

/// The certificates that sign servers.
#[derive(Debug)]
struct Trusted {
    roots: RootCertStore,
    certificates: Vec<CertificateDer<'static>>,
}

impl Trusted {
    fn new(certificates: Vec<CertificateDer<'static>>) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(certificates.iter().cloned());
        Self {
            roots,
            certificates,
        }
    }
}

/// Checks a server's certificate as far as the mode requires.
#[derive(Debug)]
struct Verifier {
    trusted: Option<Trusted>,
    name: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(trusted) = &self.trusted else {
            return Ok(ServerCertVerified::assertion());
        };
        let certificate = ParsedCertificate::try_from(end_entity)?;
        // A server that signed its certificate itself: it *is* the root, with which no chain ends as far as rustls is
        // concerned.
        if !trusted.certificates.contains(end_entity) {
            verify_server_cert_signed_by_trust_anchor(
                &certificate,
                &trusted.roots,
                intermediates,
                now,
                self.provider.signature_verification_algorithms.all,
            )?;
        }
        if self.name {
            verify_server_name(&certificate, server_name)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
