//! Credentials that change while a program runs.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use super::{answering, variables, without};
use crate::support::{Scene, until};

fn write(scene: &Scene, key: &str) {
    let keys = format!("[default]\naws_access_key_id = {key}\naws_secret_access_key = secret\n");
    fs::create_dir_all(scene.path(".aws")).unwrap();
    fs::write(scene.path(".aws/credentials"), keys).unwrap();
}

/// Keys that are rotated in the user's file are used from the next request on; until then the message gives the
/// reason in the service's own words.
#[test]
fn rotated_keys_are_read_by_a_running_program() {
    let rotated = Arc::new(AtomicBool::new(false));
    let is_rotated = Arc::clone(&rotated);
    let url = answering(move |request| {
        let key = if is_rotated.load(Ordering::SeqCst) {
            "Credential=NEW/"
        } else {
            "Credential=OLD/"
        };
        if request.contains(key) {
            return (200, "{}".into());
        }
        let kind = "com.amazon.coral.service#ExpiredTokenException";
        let body = format!(r#"{{"__type":"{kind}","message":"The security token is expired"}}"#);
        (400, body)
    });
    let keys = [
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
    ];
    let scene = without(variables(&url, "locks"), &keys);
    write(&scene, "OLD");
    let mut watch = scene.start(scene.dlock(["watch", "lock", "--every", "100ms"]));
    until("the first line", || {
        watch.out().contains("\"lock\"").then_some(())
    });
    rotated.store(true, Ordering::SeqCst);
    watch.await_err("DynamoDB refused the request: ExpiredTokenException");
    write(&scene, "NEW");
    watch.await_err("the store answers again");
}
