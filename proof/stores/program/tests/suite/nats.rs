//! Keys of a bucket of NATS.

use std::sync::OnceLock;

use dlock_nats_proof::Server;

use super::{certificates, fresh, trusting};
use crate::support::{
    Scene, at,
    looking::store_is_found_wrong,
    stores::{
        PURGE, RELEASE, RUN, SECRET, SETUP, STATUS, TRY, all_end_without_an_answer, assert_all_end,
        assert_ended, block_on, command_ends_before_its_lease_when_the_store_is_gone,
        prefixes_are_stores_of_their_own, release_wakes_a_waiter_that_listens,
        secret_is_told_to_nobody, set_up, two_setups_at_once_disturb_nobody,
    },
    stories::{
        SHOW_ONE, certificate_of_the_server_is_checked, client_is_known_by_its_certificate,
        shared_stories,
    },
};

/// The server for tests that do it no harm. It has a user with all rights, and one with none.
fn shared() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    let nothing = r#"permissions: { publish: { deny: ">" } }"#;
    let users = format!(
        "authorization {{ users: [ {{ user: guarded, password: {SECRET} }}, \
         {{ user: few, password: {SECRET}, {nothing} }} ] }}"
    );
    SERVER.get_or_init(|| block_on(Server::bare(&users)))
}

/// A scene of this user on the shared server.
fn known_as(user: &str, bucket: &str) -> Scene {
    at(format!("nats://{user}{}/{bucket}", shared().address()))
}

/// A bucket that does not exist yet.
fn bare() -> Scene {
    known_as(&format!("guarded:{SECRET}@"), &fresh())
}

fn scene() -> Scene {
    ready(bare())
}

fn ready(scene: Scene) -> Scene {
    set_up(&scene);
    scene
}

shared_stories!(scene(), clock: false);

#[test]
fn waiter_that_listens_is_woken() {
    release_wakes_a_waiter_that_listens(&scene());
}

#[test]
fn password_appears_in_no_output() {
    secret_is_told_to_nobody(&scene());
}

#[test]
fn missing_bucket_is_78_until_it_is_set_up() {
    let scene = bare();
    let all = &[TRY, RUN, STATUS, RELEASE, PURGE][..];
    assert_all_end(&scene, all, 78, &["there is no bucket", "dlock setup"]);
    set_up(&scene);
    assert_ended(&scene.finish(RUN), 0, "");
}

#[test]
fn two_setups_at_once_leave_holders_their_leases() {
    two_setups_at_once_disturb_nobody(&bare(), || {});
}

#[test]
fn prefixes_are_apart() {
    let bucket = fresh();
    let on = |prefix| {
        known_as(
            &format!("guarded:{SECRET}@"),
            &format!("{bucket}?prefix={prefix}"),
        )
    };
    prefixes_are_stores_of_their_own(&ready(on("a")), &on("b"));
}

#[test]
fn wrong_password_and_a_missing_right_are_78() {
    let all = &[TRY, RUN, STATUS, SETUP][..];
    for user in [format!("guarded:wrong-{SECRET}@"), String::new()] {
        assert_all_end(
            &known_as(&user, "locks"),
            all,
            78,
            &["authorization violation"],
        );
    }
    let few = known_as(&format!("few:{SECRET}@"), "locks");
    assert_all_end(&few, all, 78, &["can't be used"]);
}

#[test]
fn server_that_dies_ends_the_command_and_newcomers_are_69() {
    let mut server = block_on(Server::bare(""));
    let scene = ready(at(format!("nats://{}/locks", server.address())));
    command_ends_before_its_lease_when_the_store_is_gone(&scene, || server.signal("KILL"));
}

#[test]
fn server_that_falls_silent_is_69_in_bounded_time() {
    let mut server = block_on(Server::bare(""));
    let scene = ready(at(format!("nats://{}/locks", server.address())));
    block_on(server.freeze());
    all_end_without_an_answer(&scene);
    store_is_found_wrong(&scene, 69, "does not answer");
}

#[test]
fn server_over_tls_is_known_by_its_certificate() {
    let (ours, stranger, _folder) = certificates();
    let files = format!(
        "cert_file: {:?}, key_file: {:?}",
        ours.certificate, ours.key
    );
    let server = block_on(Server::bare(&format!("tls {{ {files} }}")));
    let port = server.address().port();
    let trusting =
        |authority: &_, host: &str| trusting(format!("natss://{host}:{port}/locks"), authority);
    certificate_of_the_server_is_checked(trusting, &ours, &stranger);
}

#[test]
fn client_over_tls_is_known_by_its_certificate() {
    let (ours, stranger, _folder) = certificates();
    let files = format!(
        "cert_file: {:?}, key_file: {:?}",
        ours.certificate, ours.key
    );
    let clients = format!("ca_file: {:?}, verify: true", ours.authority);
    let server = block_on(Server::bare(&format!("tls {{ {files}, {clients} }}")));
    let port = server.address().port();
    let showing = |parameters: &str| {
        trusting(
            format!("natss://localhost:{port}/locks?{parameters}"),
            &ours,
        )
    };
    client_is_known_by_its_certificate(showing, &ours, &stranger, SHOW_ONE);
}
