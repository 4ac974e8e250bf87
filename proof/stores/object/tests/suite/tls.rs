//! TLS, by the client's own settings.

use std::fs;

use dlock_core::{ErrorKind, Provider};
use dlock_object_proof::{Server, over};
use dlock_proof::stores::{granted, term};
use dlock_test_servers::certificates::Certificates;

#[tokio::test]
async fn server_is_trusted_by_its_certificate_and_refused_for_good_without() {
    let folder = tempfile::tempdir().unwrap();
    let made = |name: &str| Certificates::new(&folder.path().join(name), "localhost").unwrap();
    let (ours, others) = (made("ours"), made("others"));
    let server = Server::with_tls(&ours).await;
    let authority = |certificates: &Certificates| fs::read(&certificates.authority).unwrap();
    let trusting = over(server.bucket_over_tls("localhost", &authority(&ours)));
    granted(&trusting, &term("door")).await;

    // With another authority, and with another host than the certificate's.
    for (host, trusted) in [("localhost", &others), ("127.0.0.1", &ours)] {
        let wary = over(server.bucket_over_tls(host, &authority(trusted)));
        let error = wary.acquire(&term("door")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
    }
}
