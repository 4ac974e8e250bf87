//! The server's certificate.

use std::time::Duration;

use dlock_core::{ErrorKind, Provider};
use dlock_kubernetes_proof::{ADMIN, Server, client, kubeconfig, provider};
use dlock_proof::stores::term;
use dlock_test_servers::certificates::Certificates;

#[tokio::test]
async fn certificate_of_another_authority_or_host_is_refused_for_good() {
    let server = Server::shared().await;
    let namespace = server.namespace().await;
    let folder = tempfile::tempdir().unwrap();
    Certificates::new(folder.path(), "127.0.0.1").unwrap();
    let port = server.address().port();
    for (host, trusted) in [
        ("127.0.0.1", folder.path()),
        ("localhost", &server.certificates()),
    ] {
        let url = format!("https://{host}:{port}");
        let client = client(&kubeconfig(&url, trusted, ADMIN), Duration::from_secs(60)).await;
        let error = provider(client, &namespace).acquire(&term("door")).await;
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Fatal, "{host}: {error:?}");
    }
}
