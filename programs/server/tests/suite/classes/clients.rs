//! Each route of holders, where one of several clients has many calls in flight.

use dlock_server::Rights;

use super::{Before, CALLS, routes};
use crate::shares::{OTHER, SECRET};

/// A client of two has a quarter of the calls, and 64 may wait for each of them.
#[tokio::test(start_paused = true)]
async fn every_route_of_holders_waits_for_its_client_and_for_no_other() {
    const OWN: usize = CALLS / 4;
    let entry = |sha256| {
        format!(
            r#"[[token]]
            name = "{sha256}"
            sha256 = "{sha256}"
            rights = {{ "*" = ["read", "hold", "enqueue", "work", "admin", "metrics"] }}
            "#
        )
    };
    let two = entry(SECRET) + &entry(OTHER);
    let mut wrong = Vec::new();
    for (method, path, class) in routes() {
        // Without a token.
        let is_meant = class == "hold" && path != "/readyz";
        let all = [
            (OWN, "secret"),
            (OWN - 1, "secret"),
            (65 * OWN, "secret"),
            (OWN, "other"),
        ];
        for (calls, token) in &all[..if is_meant { 4 } else { 1 }] {
            let mut before = Before::new().await;
            before.service.restrict(Rights::parse(&two).unwrap());
            before.token = "secret";
            let _calls = before.fill(*calls);
            before.token = token;
            let answer = before.answer(method, path).await;
            let status = answer.as_ref().map(|answer| answer.status().as_u16());
            let is_right = match status {
                _ if !is_meant || *token == "other" || *calls < OWN => {
                    matches!(status, Some(200..300 | 401 | 404 | 409)) || class == "view"
                }
                Some(429) => *calls > OWN && answer.unwrap().headers()["retry-after"] == "1",
                Some(_) => false,
                None => *calls == OWN,
            };
            if !is_right {
                wrong.push(format!("{method} {path} of {token}, {calls}: {status:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
