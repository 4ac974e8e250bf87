//! Each path, each right.

use serde_json::Value;

use super::api;
use crate::rights::{RIGHTS, rights};

/// The rights that each path needs, one of these.
const NEEDS: [(&str, &[&str]); 23] = [
    ("GET /api/leases", &["read"]),
    ("GET /api/leases/active", &["read"]),
    ("GET /api/leases/expired", &["read"]),
    ("GET /api/leases/renewed", &["read"]),
    ("GET /api/leases/released", &["read"]),
    ("GET /api/leases/1", &["read", "hold"]),
    ("POST /api/leases", &["hold"]),
    ("PUT /api/leases/renew", &["hold"]),
    ("DELETE /api/leases/release", &["hold"]),
    ("DELETE /api/leases/1", &["hold"]),
    ("GET /api/tasks", &["read"]),
    ("GET /api/tasks/started", &["read"]),
    ("GET /api/tasks/processed", &["read"]),
    ("GET /api/tasks/1", &["read"]),
    ("POST /api/tasks", &["enqueue"]),
    ("POST /api/tasks/next", &["work"]),
    ("PUT /api/tasks/1/heartbeat", &["work"]),
    ("PUT /api/tasks/1/complete", &["work"]),
    ("POST /api/generator/start", &["enqueue"]),
    ("DELETE /api/generator/stop", &["enqueue"]),
    ("GET /api/generator/status", &["read", "work"]),
    ("GET /api/nothing/at/all", &[]),
    ("GET /api/healthz", &[]),
];

#[tokio::test]
async fn each_path_needs_its_right_to_the_namespace_default() {
    let mut api = api();
    api.token = Some("secret".to_owned());
    for right in RIGHTS {
        for namespace in ["default", "team", "*"] {
            api.restrict(&rights(right, namespace));
            for (what, needs) in NEEDS {
                let answer = api.ask(what, Value::Null).await;
                let opens = needs.contains(&right) && namespace != "team";
                // Empty bodies and unknown numbers are refused after the rights.
                let expected = match (needs, opens) {
                    ([], _) => &[200, 404][..],
                    (_, true) => &[200, 400, 404, 409],
                    (_, false) => &[403],
                };
                let status = answer.status;
                assert!(
                    expected.contains(&status),
                    "{what} with {right} to {namespace}: {answer:?}"
                );
            }
        }
    }
    api.token = None;
    for (what, needs) in NEEDS {
        let status = api.ask(what, Value::Null).await.status;
        assert_eq!(status == 401, !needs.is_empty(), "{what}: {status}");
    }
}
