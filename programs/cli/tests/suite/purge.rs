//! `dlock purge`.
#![expect(clippy::unwrap_used, reason = "in a test, that is how it fails")]

use std::time::Duration;

use crate::support::{Scene, stores::assert_ended};

/// Copies of the record of `lock`, as a machine that was rebooted has left them.
fn age(scene: &Scene, count: usize) {
    let columns = "uuid, renewals, owner, since, duration, released, asked, wanted, data";
    let copy = format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
        INSERT INTO lock (prefix, name, token, expiry, boot, {columns})
        SELECT prefix, 'old-' || i, 1, expiry - 8 * 86400 * 1000000000, boot, {columns} FROM lock, n WHERE name = 'lock'"
    );
    assert_eq!(scene.open_store().execute(&copy, []).unwrap(), count);
}

#[test]
fn all_old_records_are_deleted_in_batches_and_no_others() {
    let scene = Scene::new();
    let holder = scene.run(&[], r#"echo in >> "$T/trace"; sleep 60"#);
    scene.await_trace("in");
    age(&scene, 2500);
    let finished = scene.finish(["purge"]);
    assert_ended(&finished, 0, "");
    assert_eq!(finished.out, "purged 2500 records\n");
    assert!(scene.status().contains("\"held\""));
    age(&scene, 1);
    assert_eq!(scene.finish(["purge"]).out, "purged 1 record\n");
    assert_eq!(scene.finish(["purge"]).out, "purged 0 records\n");
    drop(holder);
}

#[test]
fn default_store_that_is_not_there_is_not_made() {
    let scene = Scene::new();
    let mut command = scene.dlock(["purge"]);
    command.env_remove("DLOCK_STORE");
    let finished = scene.start(command).finish(Duration::from_secs(30));
    assert_ended(&finished, 0, "");
    assert_eq!(finished.out, "purged 0 records\n");
    assert!(!scene.path(".local").exists());
}
