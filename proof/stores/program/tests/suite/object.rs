//! Objects of a bucket.

use std::sync::OnceLock;

use dlock_object_proof::{BUCKET, Server};

use super::{certificates, fresh};
use crate::support::{
    Scene,
    looking::store_is_found_wrong,
    stores::{
        PURGE, RELEASE, RUN, SECRET, SETUP, STATUS, TRY, all_end_without_an_answer, assert_all_end,
        block_on, command_ends_before_its_lease_when_the_store_is_gone,
        prefixes_are_stores_of_their_own, secret_is_told_to_nobody, set_up,
        two_setups_at_once_disturb_nobody,
    },
    stories::{certificate_of_the_server_is_checked, shared_stories},
};

/// The server for tests that do it no harm.
fn shared() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| block_on(Server::start()))
}

/// The environment of a user whose key is also its secret, for this bucket and folder of a server.
fn variables(endpoint: &str, bucket: &str, user: &str) -> Vec<(&'static str, String)> {
    vec![
        (
            "DLOCK_STORE",
            format!("s3://{bucket}?endpoint={endpoint}&region=us-east-1"),
        ),
        ("AWS_ACCESS_KEY_ID", user.to_owned()),
        ("AWS_SECRET_ACCESS_KEY", user.to_owned()),
    ]
}

fn on(server: &Server, bucket: &str, user: &str) -> Scene {
    let endpoint = format!("http://{}", server.address());
    Scene::with(variables(&endpoint, bucket, user))
}

fn known_as(user: &str) -> Scene {
    on(shared(), &format!("{BUCKET}/{}", fresh()), user)
}

fn scene() -> Scene {
    known_as("locker")
}

shared_stories!(scene(), clock: false);

#[test]
fn credentials_appear_in_no_output() {
    secret_is_told_to_nobody(&known_as(SECRET));
}

#[test]
fn setup_tries_the_bucket() {
    set_up(&scene());
    two_setups_at_once_disturb_nobody(&scene(), || {});
}

#[test]
fn prefixes_are_apart() {
    prefixes_are_stores_of_their_own(&scene(), &scene());
}

#[test]
fn missing_bucket_wrong_credentials_and_a_missing_right_are_78() {
    let all = &[TRY, RUN, STATUS, SETUP, RELEASE, PURGE][..];
    let nowhere = on(shared(), "none", "root");
    assert_all_end(&nowhere, all, 78, &["no such bucket"]);
    for user in ["nobody", &format!("stranger-{SECRET}")] {
        assert_all_end(&known_as(user), all, 78, &["s3:ListBucket"]);
    }
    assert_all_end(
        &known_as("reader"),
        &[TRY, RUN, SETUP],
        78,
        &["s3:PutObject"],
    );
}

#[test]
fn server_that_dies_ends_the_command_and_newcomers_are_69() {
    let mut server = block_on(Server::start());
    let scene = on(&server, BUCKET, "locker");
    command_ends_before_its_lease_when_the_store_is_gone(&scene, || server.signal("KILL"));
}

#[test]
fn server_that_falls_silent_is_69_in_bounded_time() {
    let mut server = block_on(Server::start());
    let scene = on(&server, BUCKET, "locker");
    block_on(server.freeze());
    all_end_without_an_answer(&scene);
    store_is_found_wrong(&scene, 69, "does not answer");
}

#[test]
fn server_over_tls_is_known_by_its_certificate() {
    let (ours, stranger, _folder) = certificates();
    let server = block_on(Server::with_tls(&ours));
    let port = server.address().port();
    let trusting = |authority: &dlock_test_servers::certificates::Certificates, host: &str| {
        let mut variables = variables(&format!("https://{host}:{port}"), BUCKET, "locker");
        variables.push(("SSL_CERT_FILE", authority.authority.display().to_string()));
        Scene::with(variables)
    };
    certificate_of_the_server_is_checked(trusting, &ours, &stranger);
}
