//! TLS, by the user's own options.

use std::time::Duration;

use dlock_core::{ErrorKind, Provider};
use dlock_mysql_proof::{Database, Server, provider};
use dlock_test_servers::certificates::Certificates;
use mysql_async::{OptsBuilder, SslOpts};

use crate::support::{granted, term};

fn over_tls(database: &Database, host: &str, trusted: &Certificates) -> OptsBuilder {
    let tls = SslOpts::default()
        .with_root_certs(vec![trusted.authority.clone().into()])
        .with_disable_built_in_roots(true);
    database.options(2).ip_or_hostname(host).ssl_opts(tls)
}

#[tokio::test]
async fn server_is_trusted_by_its_certificate_and_refused_for_good_without() {
    let folder = tempfile::tempdir().unwrap();
    let made = |name: &str| Certificates::new(&folder.path().join(name), "localhost").unwrap();
    let (ours, others) = (made("ours"), made("others"));
    let argument = |name: &str, file: &std::path::Path| format!("--{name}={}", file.display());
    let server = Server::start(&[
        &argument("ssl-cert", &ours.certificate),
        &argument("ssl-key", &ours.key),
    ])
    .await;
    let database = server.database().await;
    database.provider(1).await;
    database
        .run("CREATE USER app REQUIRE SSL; GRANT ALL ON *.* TO app")
        .await;
    let limit = Duration::from_secs(20);
    let trusting = over_tls(&database, "localhost", &ours).user(Some("app"));
    granted(&provider(trusting, limit), &term("door")).await;

    // With another authority; with another host than the certificate's; without TLS for a user that requires it.
    for (what, wary) in [
        ("authority", over_tls(&database, "localhost", &others)),
        ("host", over_tls(&database, "127.0.0.1", &ours)),
        ("no TLS", database.options(2).user(Some("app"))),
    ] {
        let error = provider(wary, limit)
            .acquire(&term("door"))
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Fatal, "{what}: {error:?}");
    }
}

#[tokio::test]
async fn server_without_tls_is_refused_by_options_that_ask_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let certificates = Certificates::new(folder.path(), "localhost").unwrap();
    let database = dlock_mysql_proof::server().await.database().await;
    let wary = over_tls(&database, "localhost", &certificates);
    let error = provider(wary, Duration::from_secs(20))
        .acquire(&term("door"))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
    assert!(
        format!("{error}").contains("the server speaks none"),
        "{error:?}"
    );
}
