//! TLS between the program and Redis.

use dlock_test_servers::{certificates::Certificates, redis::redis_over_tls};

use super::{at, start};
use crate::support::{
    Scene,
    stores::{
        SECRET, SETUP, SHORT_TRY, STATUS, TRY, assert_all_end, assert_ended, block_on,
        commands_take_turns, secret_is_told_to_nobody, set_up,
    },
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
    let right = trusting(&ours, "localhost");
    set_up(&right);
    commands_take_turns(&right);
    secret_is_told_to_nobody(&trusting(&ours, "localhost"));
    let refused = &[TRY, STATUS, SETUP][..];
    for wrong in [
        trusting(&stranger, "localhost"),
        trusting(&ours, "127.0.0.1"),
        // Nobody in this system's own list signed it either.
        at(format!("rediss://:{SECRET}@localhost:{port}")),
    ] {
        assert_all_end(&wrong, refused, 78, &["certificate"]);
    }
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
    let showing = |certificates: Option<&Certificates>| {
        let query = certificates.map_or_else(String::new, |certificates| {
            let (certificate, key) = (&certificates.certificate, &certificates.key);
            format!(
                "?sslcert={}&sslkey={}",
                certificate.display(),
                key.display()
            )
        });
        Scene::with(vec![
            ("DLOCK_STORE", format!("rediss://localhost:{port}{query}")),
            ("SSL_CERT_FILE", ours.authority.display().to_string()),
        ])
    };
    assert_ended(&showing(Some(&ours)).finish(TRY), 0, "");
    for wrong in [None, Some(&stranger)] {
        let advice = "sslcert and sslkey name the files of this client's";
        assert_ended(&showing(wrong).finish(TRY), 78, advice);
    }
    let query = format!("?sslcert={}&sslkey=/none", ours.certificate.display());
    let absent = at(format!("rediss://localhost:{port}{query}"));
    assert_ended(&absent.finish(TRY), 78, "can't read /none");
    let plain = at(format!("redis://localhost:{port}{query}"));
    assert_ended(&plain.finish(TRY), 78, "use rediss://");
}
