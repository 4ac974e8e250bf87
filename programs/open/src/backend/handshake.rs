//! Why a server ended a connection over TLS. A driver that speaks HTTP/2 knows at best the text of the server's alert,
//! and often only that the connection is broken.

use std::{
    error::Error as StdError,
    io::Read,
    net::{TcpStream, ToSocketAddrs},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, Stream,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
};

use crate::{
    backend::{identity::Files, tls},
    diagnosis::{Probe, Refusal},
};

/// How long each step may take.
const STEP: Duration = Duration::from_secs(1);

type Failure = Box<dyn StdError + Send + Sync>;

/// A separate handshake, with the certificates of the connection that failed.
#[derive(Clone)]
pub(super) struct Handshake {
    /// `HOST:PORT`.
    pub(super) hosts: Vec<String>,
    pub(super) certificate: Option<Files>,
}

#[async_trait]
impl Probe for Handshake {
    async fn refusal(&self) -> Option<Refusal> {
        let handshake = self.clone();
        let asked = tokio::task::spawn_blocking(move || {
            let mut hosts = handshake.hosts.iter();
            hosts.find_map(|host| {
                let failure = handshake.with(host).err()?;
                let advice = tls::advice(&*failure)?;
                Some((failure, advice))
            })
        });
        asked.await.ok()?
    }
}

impl Handshake {
    /// Connects and reads; a server that refuses the client answers with an alert.
    ///
    /// # Errors
    /// The reason for its end: an alert, or anything else, also that the server was silent for a second.
    fn with(&self, host: &str) -> Result<(), Failure> {
        let (name, _) = host.rsplit_once(':').ok_or("no port")?;
        let name = name.trim_matches(['[', ']']).to_owned();
        let mut connection =
            ClientConnection::new(Arc::new(self.settings()?), ServerName::try_from(name)?)?;
        let address = host.to_socket_addrs()?.next().ok_or("no address")?;
        let mut socket = TcpStream::connect_timeout(&address, STEP)?;
        socket.set_read_timeout(Some(STEP))?;
        socket.set_write_timeout(Some(STEP))?;
        // Any other answer does not matter.
        let _length = Stream::new(&mut connection, &mut socket).read(&mut [0])?;
        Ok(())
    }

    fn settings(&self) -> Result<ClientConfig, Failure> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let builder = ClientConfig::builder_with_provider(tls::cryptography())
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots);
        let mut settings = match &self.certificate {
            None => builder.with_no_client_auth(),
            Some(files) => {
                let (chain, key) = files.read()?;
                let chain = CertificateDer::pem_slice_iter(&chain).collect::<Result<_, _>>()?;
                builder.with_client_auth_cert(chain, PrivateKeyDer::from_pem_slice(&key)?)?
            }
        };
        settings.alpn_protocols = vec![b"h2".to_vec()];
        Ok(settings)
    }
}
