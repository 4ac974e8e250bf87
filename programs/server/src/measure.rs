//! The metrics that the server reports to the `metrics` facade. Names and tokens of clients are not
//! labels.

use std::time::Instant;

use axum::{
    extract::{MatchedPath, Request},
    middleware::Next,
    response::Response,
};
use metrics::{counter, describe_counter, describe_gauge, describe_histogram, histogram};

const REQUESTS: &str = "dlock_server_request_seconds";
const SHED: &str = "dlock_server_shed_total";
/// Gauges of calls, waits and the like in progress.
pub(crate) const CALLS: &str = "dlock_server_store_calls";
pub(crate) const WAITS: &str = "dlock_server_waits";

/// Units and help texts for the recorder that is installed.
pub fn describe() {
    describe_histogram!(
        REQUESTS,
        metrics::Unit::Seconds,
        "How long requests took, by path and status; those that wait for a lease include the wait"
    );
    describe_counter!(
        SHED,
        "Requests that were refused since there was no room, by what they wanted"
    );
    describe_gauge!(CALLS, "StoreCalls of the store in flight");
    describe_gauge!(
        WAITS,
        "Requests that wait for a lease or a task, and streams of hints"
    );
}

/// One more request of this class that was refused for lack of room.
pub(crate) fn shed(class: &'static str) {
    counter!(SHED, "class" => class).increment(1);
}

/// Measures each request.
pub(crate) async fn measure(path: Option<MatchedPath>, request: Request, next: Next) -> Response {
    let start = now();
    let method = method(request.method());
    let response = next.run(request).await;
    // A path that was not found is none of ours, and could be anything.
    let path = path.map_or_else(|| "other".to_owned(), |path| path.as_str().to_owned());
    let status = response.status().as_u16().to_string();
    histogram!(REQUESTS, "method" => method, "path" => path, "status" => status)
        .record(start.elapsed().as_secs_f64());
    response
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long a request took decides nothing"
)]
fn now() -> Instant {
    Instant::now()
}

/// A method may be any word; those that are served are few.
fn method(method: &axum::http::Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "POST" => "POST",
        "PUT" => "PUT",
        "DELETE" => "DELETE",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::Limits;

    const RULES: &str = include_str!("../alerts.yml");

    #[test]
    fn alerts_ask_for_these_metrics_and_know_the_limits() {
        let words = RULES.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let asked: BTreeSet<&str> = words
            .filter(|word| word.starts_with("dlock_server_"))
            .map(|name| name.trim_end_matches("_count"))
            .collect();
        assert_eq!(asked, BTreeSet::from([REQUESTS, SHED, CALLS, WAITS]));
        let Limits { calls, waits, .. } = Limits::default();
        assert_eq!((calls, waits), (256, 1_000), "alerts.yml says so, too");
    }
}
