//! Certificates.
#![expect(clippy::unwrap_used, reason = "in a test, that is how it fails")]

use std::{fs, path::Path, sync::Arc};

use dlock_server::listen::{Tls, TlsFiles};
use dlock_test_servers::certificates::Certificates;
use http_body_util::{BodyExt, Empty};
use hyper::{Request, body::Bytes, client::conn::http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
};
use tempfile::TempDir;
use tokio::{io::AsyncReadExt, net::TcpStream};
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::support::{Running, ask, ok, wide, within};

const HOST: &str = "localhost";
const WORKER: &str = "worker.example.com";

/// A server's certificate, and others, in the test's own folder.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn certificates(&self, name: &str, host: &str) -> Certificates {
        Certificates::new(&self.0.path().join(name), host).unwrap()
    }
}

fn files(certificates: &Certificates) -> TlsFiles {
    TlsFiles {
        certificate: certificates.certificate.clone(),
        key: certificates.key.clone(),
        client_ca: None,
        clients_must: false,
    }
}

fn client(authority: &Path, own: Option<&Certificates>, protocols: &[&[u8]]) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_file(authority).unwrap())
        .unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let mut config = match own {
        None => builder.with_no_client_auth(),
        Some(own) => {
            let certificate = CertificateDer::from_pem_file(&own.certificate).unwrap();
            let key = PrivateKeyDer::from_pem_file(&own.key).unwrap();
            builder
                .with_client_auth_cert(vec![certificate], key)
                .unwrap()
        }
    };
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    Arc::new(config).into()
}

async fn connect(server: &Running, client: &TlsConnector) -> std::io::Result<TlsStream<TcpStream>> {
    let name = ServerName::try_from(HOST).unwrap();
    within(client.connect(name, server.connect().await)).await
}

/// The server's answer; `None` if TLS with it fails, or it refuses us.
async fn who(server: &Running, client: &TlsConnector) -> Option<(u16, String)> {
    ask(&mut connect(server, client).await.ok()?, "/who").await
}

#[tokio::test]
async fn client_chooses_the_protocol() {
    let folder = Folder::new();
    let certificates = folder.certificates("server", HOST);
    let tls = Tls::open(files(&certificates)).unwrap();
    let server = Running::start(wide(), Some(Arc::new(tls))).await;
    for protocols in [&[][..], &[b"http/1.1".as_slice()]] {
        let old = client(&certificates.authority, None, protocols);
        assert_eq!(who(&server, &old).await, ok("nobody"));
    }
    let new = client(&certificates.authority, None, &[b"h2", b"http/1.1"]);
    let stream = connect(&server, &new).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(b"h2".as_slice()));
    let (mut requests, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
        .await
        .unwrap();
    let connection = tokio::spawn(connection);
    let request = Request::get("https://localhost/who").body(Empty::<Bytes>::new());
    let answer = within(requests.send_request(request.unwrap()))
        .await
        .unwrap();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(body, "nobody");
    // The server announces that it stops, and the client leaves.
    server.stop.cancel();
    within(connection).await.unwrap().unwrap();
    server.ended().await;
}

#[tokio::test]
async fn connection_that_never_agrees_on_tls_loses_its_place() {
    let folder = Folder::new();
    let certificates = folder.certificates("server", HOST);
    let tls = Tls::open(files(&certificates)).unwrap();
    let mut bounds = wide();
    bounds.connections = 1;
    let server = Running::start(bounds, Some(Arc::new(tls))).await;
    let _silent = server.connect().await;
    let client = client(&certificates.authority, None, &[]);
    assert_eq!(who(&server, &client).await, ok("nobody"));
}

#[tokio::test]
async fn only_a_certificate_of_the_right_authority_is_let_in() {
    let folder = Folder::new();
    let certificates = folder.certificates("server", HOST);
    let right = folder.certificates("right", &WORKER.to_uppercase());
    let wrong = folder.certificates("wrong", WORKER);
    for clients_must in [true, false] {
        let tls = Tls::open(TlsFiles {
            client_ca: Some(right.authority.clone()),
            clients_must,
            ..files(&certificates)
        });
        let server = Running::start(wide(), Some(Arc::new(tls.unwrap()))).await;
        let client = |own| client(&certificates.authority, own, &[]);
        assert_eq!(who(&server, &client(Some(&right))).await, ok(WORKER));
        assert_eq!(who(&server, &client(Some(&wrong))).await, None);
        let without = (!clients_must).then(|| (200, "nobody".to_owned()));
        assert_eq!(who(&server, &client(None)).await, without);
    }
}

#[tokio::test]
async fn new_certificate_counts_for_new_connections_and_a_broken_one_for_none() {
    let folder = Folder::new();
    let (old, new) = (
        folder.certificates("old", HOST),
        folder.certificates("new", HOST),
    );
    let used = folder.certificates("used", HOST);
    let install = |from: &Certificates| {
        fs::copy(&from.certificate, &used.certificate).unwrap();
        fs::copy(&from.key, &used.key).unwrap();
    };
    install(&old);
    let tls = Arc::new(Tls::open(files(&used)).unwrap());
    let server = Running::start(wide(), Some(Arc::clone(&tls))).await;
    let trusts_old = client(&old.authority, None, &[]);
    let trusts_new = client(&new.authority, None, &[]);
    let mut open = connect(&server, &trusts_old).await.unwrap();
    assert_eq!(ask(&mut open, "/").await, ok("here"));

    install(&new);
    tls.reload().unwrap();
    assert_eq!(who(&server, &trusts_new).await, ok("nobody"));
    assert_eq!(who(&server, &trusts_old).await, None);
    assert_eq!(ask(&mut open, "/").await, ok("here"));

    // A key without its certificate, and no certificate at all.
    fs::copy(&old.certificate, &used.certificate).unwrap();
    assert!(
        tls.reload()
            .unwrap_err()
            .to_string()
            .contains("with the key")
    );
    fs::write(&used.certificate, "nothing").unwrap();
    assert!(
        tls.reload()
            .unwrap_err()
            .to_string()
            .contains("no certificate")
    );
    assert_eq!(who(&server, &trusts_new).await, ok("nobody"));
}

#[tokio::test]
async fn client_that_does_not_speak_tls_is_cut_off() {
    let folder = Folder::new();
    let tls = Tls::open(files(&folder.certificates("server", HOST))).unwrap();
    let mut bounds = wide();
    bounds.handshake = std::time::Duration::from_millis(300);
    let server = Running::start(bounds, Some(Arc::new(tls))).await;
    let mut silent = server.connect().await;
    assert_eq!(within(silent.read(&mut [0])).await.unwrap(), 0);
    let mut plain = server.connect().await;
    assert_eq!(ask(&mut plain, "/").await, None);
}
