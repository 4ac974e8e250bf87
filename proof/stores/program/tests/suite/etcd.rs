//! Keys of an etcd.

use std::{sync::OnceLock, time::Duration};

use dlock_etcd_proof::{Server, client};
use etcd_client::Permission;

use super::{certificates, fresh, trusting};
use crate::support::{
    Scene, at,
    looking::store_is_found_wrong,
    stores::{
        PURGE, RELEASE, RUN, SECRET, SETUP, STATUS, TRY, all_end_without_an_answer, assert_all_end,
        block_on, command_ends_before_its_lease_when_the_store_is_gone,
        prefixes_are_stores_of_their_own, release_wakes_a_waiter_that_listens,
        secret_is_told_to_nobody, set_up, two_setups_at_once_disturb_nobody,
    },
    stories::{
        SHOW_ONE, certificate_of_the_server_is_checked, client_is_known_by_its_certificate,
        shared_stories,
    },
};

/// The server for tests that do it no harm. It has a user with rights to the keys that begin with `test-`.
fn shared() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| {
        block_on(async {
            let server = Server::start().await;
            let mut root = client(server.address(), Duration::from_secs(20)).await;
            for user in ["root", "guarded"] {
                root.user_add(user, SECRET, None).await.unwrap();
                root.role_add(user).await.unwrap();
                root.user_grant_role(user, user).await.unwrap();
            }
            let keys = Permission::read_write("test-").with_prefix();
            root.role_grant_permission("guarded", keys).await.unwrap();
            root.auth_enable().await.unwrap();
            server
        })
    })
}

/// A scene of this user on the shared server.
fn known_as(user: &str, prefix: &str) -> Scene {
    let address = shared().address();
    at(format!("etcd://{user}{address}?prefix={prefix}"))
}

fn scene() -> Scene {
    known_as(&format!("guarded:{SECRET}@"), &fresh())
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
fn setup_only_looks() {
    set_up(&scene());
    two_setups_at_once_disturb_nobody(&scene(), || {});
}

#[test]
fn prefixes_are_apart() {
    prefixes_are_stores_of_their_own(&scene(), &scene());
}

#[test]
fn wrong_password_and_a_missing_right_are_78() {
    let all = &[TRY, RUN, STATUS, SETUP][..];
    for user in [
        format!("guarded:wrong-{SECRET}@"),
        format!("nobody:{SECRET}@"),
    ] {
        assert_all_end(
            &known_as(&user, "test-"),
            all,
            78,
            &["authentication failed"],
        );
    }
    let all = &[TRY, RUN, STATUS, SETUP, RELEASE, PURGE][..];
    assert_all_end(&known_as("", "test-"), all, 78, &["can't be used"]);
    let elsewhere = known_as(&format!("guarded:{SECRET}@"), "others");
    assert_all_end(&elsewhere, all, 78, &["permission denied"]);
}

#[test]
fn server_that_dies_ends_the_command_and_newcomers_are_69() {
    let mut server = block_on(Server::start());
    let scene = at(format!("etcd://{}", server.address()));
    command_ends_before_its_lease_when_the_store_is_gone(&scene, || server.signal("KILL"));
}

#[test]
fn server_that_falls_silent_is_69_in_bounded_time() {
    let mut server = block_on(Server::start());
    let scene = at(format!("etcd://{}", server.address()));
    block_on(server.freeze());
    all_end_without_an_answer(&scene);
    store_is_found_wrong(&scene, 69, "does not answer");
}

#[test]
fn server_over_tls_is_known_by_its_certificate() {
    let (ours, stranger, _folder) = certificates();
    let server = block_on(Server::with_tls(&ours, &[]));
    let port = server.address().port();
    let trusting =
        |authority: &_, host: &str| trusting(format!("etcds://{host}:{port}"), authority);
    certificate_of_the_server_is_checked(trusting, &ours, &stranger);
}

#[test]
fn client_over_tls_is_known_by_its_certificate() {
    let (ours, stranger, _folder) = certificates();
    let authority = format!("--trusted-ca-file={}", ours.authority.display());
    let server = block_on(Server::with_tls(&ours, &["--client-cert-auth", &authority]));
    let port = server.address().port();
    let showing =
        |parameters: &str| trusting(format!("etcds://localhost:{port}?{parameters}"), &ours);
    client_is_known_by_its_certificate(showing, &ours, &stranger, SHOW_ONE);
}
