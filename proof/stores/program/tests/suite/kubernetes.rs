//! Leases of a namespace of Kubernetes.

use std::{fs, path::Path};

use dlock_kubernetes_proof::{ADMIN, Server, USER, kubeconfig};

use super::certificates;
use crate::support::{
    Scene, at,
    looking::store_is_found_wrong,
    stores::{
        PURGE, RELEASE, RUN, SECRET, SETUP, STATUS, TRY, all_end_without_an_answer, assert_all_end,
        block_on, command_ends_before_its_lease_when_the_store_is_gone,
        prefixes_are_stores_of_their_own, release_wakes_a_waiter_that_listens, set_up,
        two_setups_at_once_disturb_nobody,
    },
    stories::shared_stories,
};

/// The server for tests that do it no harm.
fn shared() -> &'static Server {
    block_on(Server::shared())
}

/// A scene in this namespace, with these settings in the default file of `kubectl`.
fn with(kubeconfig: &str, namespace: &str) -> Scene {
    let scene = at(format!("kubernetes://{namespace}"));
    fs::create_dir(scene.path(".kube")).unwrap();
    fs::write(scene.path(".kube/config"), kubeconfig).unwrap();
    scene
}

/// A scene of this user in a separate namespace.
fn known_as(user: &str) -> Scene {
    with(&shared().kubeconfig(user), &block_on(shared().namespace()))
}

fn scene() -> Scene {
    known_as(ADMIN)
}

shared_stories!(scene(), clock: false);

#[test]
fn waiter_that_listens_is_woken() {
    let namespace = block_on(shared().namespace());
    // The waiter is in this process, whose home directory is not the scene's.
    let file = shared().certificates().join(&namespace);
    fs::write(&file, shared().kubeconfig(ADMIN)).unwrap();
    let url = format!("kubernetes://{namespace}?kubeconfig={}", file.display());
    release_wakes_a_waiter_that_listens(&at(url));
}

#[test]
fn setup_only_looks() {
    set_up(&scene());
    two_setups_at_once_disturb_nobody(&scene(), || {});
}

#[test]
fn prefixes_are_apart() {
    let namespace = block_on(shared().namespace());
    let on = |prefix| {
        with(
            &shared().kubeconfig(ADMIN),
            &format!("{namespace}?prefix={prefix}"),
        )
    };
    prefixes_are_stores_of_their_own(&on("a"), &on("b"));
}

#[test]
fn missing_namespace_wrong_token_and_a_missing_right_are_78() {
    let all = &[TRY, RUN, STATUS, SETUP, RELEASE, PURGE][..];
    assert_all_end(&known_as(USER), all, 78, &["cannot"]);
    assert_all_end(&known_as(SECRET), all, 78, &["Unauthorized"]);
    let nowhere = with(&shared().kubeconfig(ADMIN), "nowhere");
    assert_all_end(&nowhere, &[TRY, RUN], 78, &["not found"]);
    assert_all_end(
        &at("kubernetes://default"),
        all,
        78,
        &["can't open the store"],
    );
}

#[test]
fn server_that_dies_ends_the_command_and_newcomers_are_69() {
    let mut server = block_on(Server::start());
    let scene = with(&server.kubeconfig(ADMIN), "default");
    command_ends_before_its_lease_when_the_store_is_gone(&scene, || server.signal("KILL"));
}

#[test]
fn server_that_falls_silent_is_69_in_bounded_time() {
    let mut server = block_on(Server::start());
    let scene = with(&server.kubeconfig(ADMIN), "default");
    block_on(server.freeze());
    all_end_without_an_answer(&scene);
    store_is_found_wrong(&scene, 69, "does not answer");
}

#[test]
fn server_is_known_by_its_certificate_and_a_client_by_its_own() {
    let all = &[TRY, STATUS, SETUP][..];
    let port = shared().address().port();
    let (_, _, folder) = certificates();
    let (stranger, own) = (folder.path().join("stranger"), shared().certificates());
    for (host, trusted) in [("127.0.0.1", &stranger), ("localhost", &own)] {
        let kubeconfig = kubeconfig(&format!("https://{host}:{port}"), trusted, ADMIN);
        assert_all_end(&with(&kubeconfig, "default"), all, 78, &["certificate"]);
    }
    // A user with a certificate has the name in it, and no rights yet.
    let showing = |folder: &Path| {
        let file = |name: &str| folder.join(name).display().to_string();
        format!(
            "client-certificate: '{}', client-key: '{}'",
            file("certificate.pem"),
            file("key.pem")
        )
    };
    for (shown, words) in [
        (showing(&own), "rcgen self signed cert"),
        (showing(&stranger), "Unauthorized"),
        (String::new(), "system:anonymous"),
    ] {
        let token = format!("token: '{USER}'");
        let kubeconfig = shared().kubeconfig(USER).replace(&token, &shown);
        assert_all_end(&with(&kubeconfig, "default"), all, 78, &[words]);
    }
}
