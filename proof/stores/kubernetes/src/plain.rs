//! The server without TLS, which it does not offer: for a proxy that has to see requests and not encrypted data.

use std::{
    io::{self, Error},
    net::SocketAddr,
    sync::Arc,
};

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore,
        pki_types::{CertificateDer, ServerName, pem::PemObject},
    },
};

use crate::Server;

/// An address at which the server speaks plain HTTP; each connection there is one to the server. It lasts as long as the
/// runtime.
///
/// # Errors
/// If there is no free port, or no authority to trust.
pub async fn plain(server: &Server) -> io::Result<SocketAddr> {
    let authority = server.certificates().join("authority.pem");
    let authority = CertificateDer::from_pem_file(authority).map_err(Error::other)?;
    let mut trusted = RootCertStore::empty();
    trusted.add(authority).map_err(Error::other)?;
    let config = ClientConfig::builder()
        .with_root_certificates(trusted)
        .with_no_client_auth();
    let connector = TlsConnector::from(Arc::new(config));
    let to = server.address();
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((from, _)) = listener.accept().await {
            tokio::spawn(carry(from, to, connector.clone()));
        }
    });
    Ok(address)
}

async fn carry(mut from: TcpStream, to: SocketAddr, connector: TlsConnector) -> io::Result<()> {
    let socket = TcpStream::connect(to).await?;
    let name = ServerName::IpAddress(to.ip().into());
    let mut server = connector.connect(name, socket).await?;
    copy_bidirectional(&mut from, &mut server).await?;
    Ok(())
}
