//! `dlock bench`.

use serde_json::Value;

use crate::support::{Scene, looking::store_is_measured_and_left_clean, stores::assert_ended};

#[test]
fn file_is_measured_and_left_clean() {
    let scene = Scene::new();
    store_is_measured_and_left_clean(&scene);
    let table = scene.finish(["bench", "--for", "1s"]);
    assert_ended(&table, 0, "");
    assert!(table.out.contains("\nrenew, 8 at a time"), "{table:?}");
    assert!(table.out.contains("\nlease: "), "{table:?}");
    let stay =
        "10 records \"dlock-bench*\" stay, released; 'dlock purge' deletes them after a week";
    assert!(table.out.contains(stay), "{table:?}");
    let aged = "UPDATE lock SET token = 1, expiry = expiry - 8 * 86400 * 1000000000";
    assert_eq!(scene.open_store().execute(aged, []).unwrap(), 10);
    // Once more, with as many records as before plus one for each additional lease.
    let listed: Value = serde_json::from_str(&scene.finish(["status", "--json"]).out).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 10, "{listed}");
    assert_eq!(scene.finish(["purge"]).out, "purged 10 records\n");
}

#[test]
fn two_do_not_measure_each_other() {
    let scene = Scene::new();
    let acquired = scene.finish(["acquire", "dlock-bench", "--lease", "1h"]);
    assert_ended(&acquired, 0, "");
    let refused = scene.finish(["bench", "--for", "1s"]);
    assert_ended(&refused, 75, "another 'dlock bench' is at work");
    for wrong in [&["--for", "0s"][..], &["--for", "1h"], &["--leases", "0"]] {
        assert_ended(&scene.finish([&["bench"], wrong].concat()), 64, "");
    }
}
