//! TLS between the program and Redis.

use dlock_test_servers::{certificates::Certificates, redis::redis_over_tls};

use super::start;
use crate::support::{
    Scene, at,
    stores::{
        SECRET, SETUP, SHORT_TRY, STATUS, TRY, assert_all_end, assert_ended, block_on,
        secret_is_told_to_nobody,
    },
    stories::{SHOW_ONE, certificate_of_the_server_is_checked, client_is_known_by_its_certificate},
};

#[test]
fn connection_over_tls_needs_a_certificate_for_the_host_that_somebody_trusts() {
    let folder = tempfile::tempdir().unwrap();
    let by = |who: &str| Certificates::new(&folder.path().join(who), "localhost").unwrap();
    let (ours, stranger) = (by("ours"), by("stranger"));
    let arguments = ["--requirepass", SECRET];
    let service = block_on(redis_over_tls(&ours, &arguments))
        .unwrap_or_else(|error| panic!("no redis-server with TLS: {error}"));
    let port = service.place().port();
    let trusting = |certificates: &Certificates, host: &str| {
        Scene::with(vec![
            ("DLOCK_STORE", format!("rediss://:{SECRET}@{host}:{port}")),
            (
                "SSL_CERT_FILE",
                certificates.authority.display().to_string(),
            ),
        ])
    };
    certificate_of_the_server_is_checked(trusting, &ours, &stranger);
    secret_is_told_to_nobody(&trusting(&ours, "localhost"));
    // No authority in this system's own list signed it either.
    let system = at(format!("rediss://:{SECRET}@localhost:{port}"));
    assert_all_end(&system, &[TRY, STATUS, SETUP], 78, &["certificate"]);
    // The other way round: one of the two does not speak TLS.
    let plain = at(format!("redis://:{SECRET}@localhost:{port}"));
    assert_all_end(&plain, &[SHORT_TRY], 69, &["does not answer"]);
}

#[test]
fn server_without_tls_is_not_taken_for_one() {
    let service = start();
    let port = service.place().port();
    let scene = at(format!("rediss://:{SECRET}@localhost:{port}"));
    // It waits for the end of a line that never comes.
    assert_all_end(
        &scene,
        &[SHORT_TRY, STATUS, SETUP],
        69,
        &["does not answer"],
    );
}

#[test]
fn certificate_says_who_one_is() {
    let folder = tempfile::tempdir().unwrap();
    let by = |who: &str| Certificates::new(&folder.path().join(who), "localhost").unwrap();
    let (ours, stranger) = (by("ours"), by("stranger"));
    let service = block_on(redis_over_tls(&ours, &["--tls-auth-clients", "yes"]))
        .unwrap_or_else(|error| panic!("no redis-server with TLS: {error}"));
    let port = service.place().port();
    let showing = |parameters: &str| {
        let url = format!("rediss://localhost:{port}?{parameters}");
        Scene::with(vec![
            ("DLOCK_STORE", url),
            ("SSL_CERT_FILE", ours.authority.display().to_string()),
        ])
    };
    client_is_known_by_its_certificate(showing, &ours, &stranger, SHOW_ONE);
    let query = "sslcert=/none&sslkey=/none";
    let plain = at(format!("redis://localhost:{port}?{query}"));
    assert_ended(&plain.finish(TRY), 78, "use rediss://");
}
