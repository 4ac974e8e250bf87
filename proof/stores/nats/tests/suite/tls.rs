//! TLS, by the client's own settings.

use std::time::Duration;

use async_nats::{Client, ConnectError, ConnectErrorKind};
use dlock_core::Provider;
use dlock_nats_proof::{BUCKET, Server, options};
use dlock_proof::stores::{granted, term};
use dlock_test_servers::certificates::Certificates;

async fn over_tls(url: String, trusted: &Certificates) -> Result<Client, ConnectError> {
    let options = options(Duration::from_secs(20)).require_tls(true);
    let options = options.add_root_certificates(trusted.authority.clone());
    options.connect(url).await
}

#[tokio::test]
async fn server_is_trusted_by_its_certificate_and_refused_without() {
    let folder = tempfile::tempdir().unwrap();
    let made = |name: &str, host| Certificates::new(&folder.path().join(name), host).unwrap();
    let (ours, others) = (made("ours", "localhost"), made("others", "localhost"));
    let settings = format!(
        "tls {{ cert_file: {:?}, key_file: {:?} }}",
        ours.certificate, ours.key
    );
    let server = Server::bare(&settings).await;
    let port = server.address().port();
    let client = over_tls(format!("nats://localhost:{port}"), &ours).await;
    let provider = dlock_nats::provider(client.unwrap(), BUCKET, "dlock").unwrap();
    provider.store().set_up(1).await.unwrap();
    granted(&provider, &term("door")).await;
    assert!(provider.watch().await.unwrap().is_some());

    // With another authority, and with another host than the certificate's.
    for (host, trusted) in [("localhost", &others), ("127.0.0.1", &ours)] {
        let error = over_tls(format!("nats://{host}:{port}"), trusted).await;
        let error = error.unwrap_err();
        let kind = error.kind();
        assert!(
            matches!(kind, ConnectErrorKind::Io | ConnectErrorKind::Tls),
            "{error:?}"
        );
    }
}
