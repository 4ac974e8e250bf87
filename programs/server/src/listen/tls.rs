//! Certificates: the server's, which can be exchanged while it runs, and those of its clients.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use rustls::{
    RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{self, PemObject},
    },
    server::{VerifierBuilderError, WebPkiClientVerifier},
};
use tokio_rustls::TlsAcceptor;

/// The protocol name that a client with HTTP/2 sends.
pub(super) const HTTP2: &[u8] = b"h2";

/// The files of certificates and keys, all as PEM.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_structs, reason = "a caller names all of the files")]
pub struct TlsFiles {
    /// The server's certificate, and the chain to its authority.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The authorities that sign clients. A certificate from any other is refused; an accepted one is known to the
    /// router as [`Peer`](crate::Peer).
    pub client_ca: Option<PathBuf>,
    /// Whether a client without a certificate is refused.
    pub clients_must: bool,
}

/// TLS 1.2 and 1.3, with certificates that can be reloaded.
#[derive(Debug)]
pub struct Tls {
    files: TlsFiles,
    current: RwLock<Arc<ServerConfig>>,
}

/// Certificates that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read, or is not PEM.
    #[error("can't read {what} from {}", path.display())]
    Read {
        /// Its expected contents.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: pem::Error,
    },
    /// There is no certificate in a file.
    #[error("there is no certificate in {}: it should begin with -----BEGIN CERTIFICATE-----", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The certificate and the key do not match.
    #[error("the certificate in {} can't be used with the key in {}", certificate.display(), key.display())]
    Pair {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
        /// The cause.
        source: rustls::Error,
    },
    /// A certificate of an authority cannot be used as one.
    #[error("no clients can be trusted by the certificates in {}", path.display())]
    Clients {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// [`TlsError`] names the file, and says what is wrong with it.
    pub fn open(files: TlsFiles) -> Result<Self, TlsError> {
        let current = RwLock::new(Arc::new(files.read()?));
        Ok(Self { files, current })
    }

    /// Reads the files again. Open connections stay as they are; new ones use what the files say now.
    ///
    /// # Errors
    /// Those of [`open`](Self::open); then everything stays as it was.
    pub fn reload(&self) -> Result<(), TlsError> {
        let read = Arc::new(self.files.read()?);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = read;
        Ok(())
    }

    /// The acceptor for the next client.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&current).into()
    }
}

impl TlsFiles {
    fn read(&self) -> Result<ServerConfig, TlsError> {
        let cryptography = Arc::new(ring::default_provider());
        let pair = |source| TlsError::Pair {
            certificate: self.certificate.clone(),
            key: self.key.clone(),
            source,
        };
        let builder = ServerConfig::builder_with_provider(Arc::clone(&cryptography))
            .with_safe_default_protocol_versions()
            .map_err(pair)?;
        let builder = match &self.client_ca {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let clients =
                    |source: Box<dyn std::error::Error + Send + Sync>| TlsError::Clients {
                        path: path.clone(),
                        source,
                    };
                let mut roots = RootCertStore::empty();
                for certificate in certificates(path)? {
                    roots
                        .add(certificate)
                        .map_err(|error| clients(error.into()))?;
                }
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(roots.into(), cryptography);
                let verifier = if self.clients_must {
                    verifier
                } else {
                    verifier.allow_unauthenticated()
                };
                let verifier = verifier
                    .build()
                    .map_err(|error: VerifierBuilderError| clients(error.into()))?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let chain = certificates(&self.certificate)?;
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(|source| TlsError::Read {
            what: "a private key",
            path: self.key.clone(),
            source,
        })?;
        let mut config = builder.with_single_cert(chain, key).map_err(pair)?;
        config.alpn_protocols = vec![HTTP2.to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found: Vec<_> = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect)
        .map_err(|source| TlsError::Read {
            what: "certificates",
            path: path.to_owned(),
            source,
        })?;
    if found.is_empty() {
        return Err(TlsError::Empty {
            path: path.to_owned(),
        });
    }
    Ok(found)
}

/// The subject alternative names of a certificate that are host names, in lower case, or URIs.
pub(super) fn names(certificate: &CertificateDer<'_>) -> Vec<String> {
    // A certificate that cannot be parsed here was not accepted before.
    let Ok(certificate) = webpki::EndEntityCert::try_from(certificate) else {
        return Vec::new();
    };
    let hosts = certificate.valid_dns_names().map(str::to_ascii_lowercase);
    let uris = certificate
        .valid_uri_names()
        .filter(|uri| uri.contains(':'));
    hosts.chain(uris.map(str::to_owned)).collect()
}
