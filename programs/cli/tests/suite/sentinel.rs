//! Locks in the primary that a Sentinel knows.

use dlock_test_servers::{
    Service,
    redis::{redis, sentinel},
};

use crate::support::{
    Scene,
    stores::{
        SECRET, TRY, assert_all_end, block_on, commands_take_turns, secret_is_told_to_nobody,
        set_up,
    },
};

/// A primary with a password, and a Sentinel that watches it and has none.
fn start() -> (Service, Service) {
    block_on(async {
        let primary = redis(&["--requirepass", SECRET]).await;
        let primary = primary.unwrap_or_else(|error| panic!("no redis-server: {error}"));
        let port = primary.place().port();
        let password = format!("sentinel auth-pass locks {SECRET}");
        let sentinel = sentinel("locks", port, &[&password]).await;
        (
            primary,
            sentinel.unwrap_or_else(|error| panic!("no Sentinel: {error}")),
        )
    })
}

fn scene(sentinel: &Service, name: &str) -> Scene {
    let port = sentinel.place().port();
    let url = format!("redis+sentinel://:{SECRET}@127.0.0.1:{port}/{name}");
    Scene::with(vec![("DLOCK_STORE", url)])
}

#[test]
fn commands_never_run_at_the_same_time() {
    let (_primary, sentinel) = start();
    let scene = scene(&sentinel, "locks");
    set_up(&scene);
    commands_take_turns(&scene);
}

#[test]
fn name_that_the_sentinel_does_not_know_is_told() {
    let (_primary, sentinel) = start();
    let known = ["the Sentinels know no primary of this name"];
    assert_all_end(&scene(&sentinel, "others"), &[TRY], 69, &known);
}

#[test]
fn password_is_told_to_nobody() {
    let (_primary, sentinel) = start();
    secret_is_told_to_nobody(&scene(&sentinel, "locks"));
}
