//! TLS, by the client's own settings.

use std::{fs, time::Duration};

use dlock_core::{ErrorKind, Provider};
use dlock_etcd::EtcdProvider;
use dlock_etcd_proof::Server;
use dlock_proof::stores::{granted, term};
use dlock_test_servers::certificates::Certificates;
use etcd_client::{Certificate, Client, ConnectOptions, TlsOptions};

async fn over_tls(url: String, trusted: &Certificates) -> EtcdProvider {
    let authority = Certificate::from_pem(fs::read(&trusted.authority).unwrap());
    let options = ConnectOptions::new()
        .with_tls(TlsOptions::new().ca_certificate(authority))
        .with_timeout(Duration::from_secs(20));
    let client = Client::connect([url], Some(options)).await.unwrap();
    dlock_etcd::provider(client, "dlock").unwrap()
}

#[tokio::test]
async fn server_is_trusted_by_its_certificate_and_refused_for_good_without() {
    let folder = tempfile::tempdir().unwrap();
    let made = |name: &str, host| Certificates::new(&folder.path().join(name), host).unwrap();
    let (ours, others) = (made("ours", "localhost"), made("others", "localhost"));
    let server = Server::with_tls(&ours, &[]).await;
    let port = server.address().port();
    let trusting = over_tls(format!("https://localhost:{port}"), &ours).await;
    granted(&trusting, &term("door")).await;
    assert!(trusting.watch().await.unwrap().is_some());

    // With another authority, and with another host than the certificate's.
    for (host, trusted) in [("localhost", &others), ("127.0.0.1", &ours)] {
        let wary = over_tls(format!("https://{host}:{port}"), trusted).await;
        let error = wary.acquire(&term("door")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
    }
}
