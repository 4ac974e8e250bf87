//! Commands that look at a store as a whole, tried with every kind of server.

use serde_json::Value;

use super::{Scene, stores::assert_ended};

/// `dlock doctor`, on a store that lacks nothing, or nothing that matters.
pub(crate) fn healthy_store_is_told_so(scene: &Scene) {
    // However slow this machine is.
    let finished = scene.finish(["doctor", "--json", "--lease", "1h"]);
    assert_ended(&finished, 0, "");
    let report: Value = serde_json::from_str(&finished.out).unwrap();
    let checks = report["checks"].as_array().unwrap();
    let names: Vec<&str> = checks
        .iter()
        .filter_map(|found| found["check"].as_str())
        .collect();
    assert_eq!(
        names[..5],
        ["store", "encryption", "tables", "rights", "characters"],
        "{report}"
    );
    assert!(["clock", "memory"].contains(&names[5]), "{report}");
    assert_eq!(names[6..], ["latency"], "{report}");
    for found in checks {
        assert!(
            !found["found"]
                .as_str()
                .unwrap()
                .contains("environment shows it"),
            "{report}"
        );
        // These depend on the surroundings of a test.
        if !["encryption", "clock", "memory"].contains(&found["check"].as_str().unwrap()) {
            assert_eq!(found["state"], "ok", "{report}");
        }
    }
    let shown = scene.finish(["status", "dlock-doctor", "--json"]);
    let record: Value = serde_json::from_str(&shown.out).unwrap();
    assert_eq!(record["state"], "released", "{record}");
}

/// `dlock doctor`, on a store without an answer: it does not say that the store is there.
pub(crate) fn store_is_found_wrong(scene: &Scene, code: i32, why: &str) {
    let doctor = scene.finish(["doctor"]);
    assert_ended(&doctor, code, "");
    let (_, found) = doctor.out.split_once('\n').unwrap();
    assert!(found.starts_with("WRONG   store "), "{doctor:?}");
    assert!(found.contains(why), "{doctor:?}");
}

/// `dlock bench`.
pub(crate) fn store_is_measured_and_left_clean(scene: &Scene) {
    let finished = scene.finish(["bench", "--for", "1s", "--leases", "3", "--json"]);
    assert_ended(&finished, 0, "");
    let report: Value = serde_json::from_str(&finished.out).unwrap();
    let operations = report["operations"].as_array().unwrap();
    let names: Vec<&str> = operations
        .iter()
        .filter_map(|one| one["operation"].as_str())
        .collect();
    assert_eq!(
        names,
        ["acquire", "read", "renew", "release", "renew, 3 at a time"]
    );
    for one in operations {
        let number = |name: &str| one[name].as_u64().unwrap();
        assert!(number("calls") > 0, "{report}");
        let times = ["p50_us", "p90_us", "p99_us", "max_us"].map(number);
        assert!(times[0] > 0 && times.is_sorted(), "{report}");
        let least = report["least_lease_ms"].as_u64().unwrap();
        assert!(least * 1000 >= 18 * times[3], "{report}");
    }
    let calls = operations[4]["calls"].as_u64().unwrap();
    assert!(
        report["renewals_per_second"].as_u64().unwrap() <= 2 * calls,
        "{report}"
    );
    let held = scene.finish(["status", "--held", "dlock-bench*"]);
    assert_eq!(held.out, "no locks\n");
    let left = scene.finish(["status", "dlock-bench/3", "--json"]);
    assert!(left.out.contains("released"), "{left:?}");
}

/// `dlock doctor` and `dlock bench`, on a store that lacks nothing.
pub(crate) fn healthy_store_is_examined_and_measured(scene: &Scene) {
    healthy_store_is_told_so(scene);
    store_is_measured_and_left_clean(scene);
}
