//! TLS, with the client that the user brings: everything uses it, and a server without a valid certificate is refused.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::{fs, path::Path, sync::Arc, time::Duration};

use aws_sdk_dynamodb::Client;
use aws_smithy_http_client::tls::{
    Provider as Tls, TlsContext, TrustStore, rustls_provider::CryptoMode,
};
use dlock_core::{
    DLock, ErrorKind, Provider, ProviderError,
    provider::{Admin, List, Renew},
};
use dlock_test_servers::certificates::Certificates;
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use tempfile::TempDir;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    time::timeout,
};
use tokio_rustls::TlsAcceptor;

use crate::common::{PATIENCE, provider_on, settings, table_name, term, url};

/// The server behind a TLS front end, which calls it `localhost`.
struct Secure {
    port: u16,
    certificates: Certificates,
    folder: TempDir,
}

impl Secure {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let certificates = Certificates::new(&folder.path().join("ours"), "localhost").unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = url().await.strip_prefix("http://").unwrap();
        tokio::spawn(serve(listener, acceptor(&certificates), server));
        Self {
            port,
            certificates,
            folder,
        }
    }

    /// A client that trusts this authority, and talks to this host.
    fn client(&self, authority: &Path, host: &str) -> Client {
        let pem = fs::read(authority).unwrap();
        let trusted = TrustStore::empty().with_pem_certificate(pem);
        let context = TlsContext::builder().with_trust_store(trusted).build();
        let http = aws_smithy_http_client::Builder::new()
            .tls_provider(Tls::Rustls(CryptoMode::Ring))
            .tls_context(context.unwrap())
            .build_https();
        let url = format!("https://{host}:{}", self.port);
        Client::from_conf(settings(&url).http_client(http).build())
    }
}

fn acceptor(certificates: &Certificates) -> TlsAcceptor {
    let certificate = fs::read(&certificates.certificate).unwrap();
    let chain = vec![CertificateDer::from_pem_slice(&certificate).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(&fs::read(&certificates.key).unwrap()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

/// Forwards what arrives over TLS.
async fn serve(listener: TcpListener, acceptor: TlsAcceptor, server: &'static str) {
    loop {
        let (client, _) = listener.accept().await.unwrap();
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            // A client that does not trust us hangs up.
            if let Ok(mut client) = acceptor.accept(client).await {
                let mut server = TcpStream::connect(server).await.unwrap();
                copy_bidirectional(&mut client, &mut server).await.ok();
            }
        });
    }
}

#[tokio::test]
async fn locks_go_over_tls() {
    let secure = Secure::start().await;
    let client = secure.client(&secure.certificates.authority, "localhost");
    let provider = provider_on(client, &table_name());
    provider.create_table().await.unwrap();
    provider.verify_table().await.unwrap();
    let lock = DLock::builder()
        .name("lock")
        .duration(Duration::from_secs(600))
        .provider(provider.clone())
        .build()
        .unwrap();
    let mut lease = lock.acquire().await.unwrap();
    lease.renew().await.unwrap();
    let token = lease.token();
    lease.release().await.unwrap();
    let next = lock.acquire().await.unwrap();
    assert!(next.token() > token);
    assert_eq!(
        provider.list(&List::new("")).await.unwrap().records.len(),
        1
    );
    next.release().await.unwrap();
}

fn distrusted(error: &ProviderError) {
    assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
    assert!(error.to_string().contains("certificate"), "{error}");
}

#[tokio::test]
async fn a_server_with_an_unknown_certificate_is_refused_at_once() {
    let secure = Secure::start().await;
    let others = Certificates::new(&secure.folder.path().join("others"), "localhost").unwrap();
    let ours = &secure.certificates.authority;
    for (authority, host) in [(&others.authority, "localhost"), (ours, "127.0.0.1")] {
        let provider = provider_on(secure.client(authority, host), &table_name());
        let a = term("lock");
        distrusted(&provider.acquire(&a).await.unwrap_err());
        let renew = Renew::new(a.name.clone(), a.new, 1);
        distrusted(&provider.renew(&renew).await.unwrap_err());
        let lock = DLock::builder()
            .name("lock")
            // Otherwise the lock would retry for longer than the test waits.
            .give_up_after(Duration::from_secs(3600))
            .provider(provider)
            .build()
            .unwrap();
        let error = timeout(PATIENCE, lock.acquire())
            .await
            .expect("asks again and again");
        distrusted(error.unwrap_err().store_error().unwrap());
    }
}
