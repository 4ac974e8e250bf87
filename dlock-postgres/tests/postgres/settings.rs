//! The settings of a provider, and its debug output.

use std::time::Duration;

use dlock_postgres::{BuildError, PostgresProvider};

use crate::support::{local, pool};

#[tokio::test]
async fn settings_no_provider_can_have_are_refused() {
    let builder = || PostgresProvider::builder().pool(pool(local(1), 2));
    let refused = |built: Result<PostgresProvider, BuildError>| built.unwrap_err().to_string();
    for (error, part) in [
        (refused(builder().prefix("a\0b").build()), "NUL"),
        (
            refused(builder().prefix("x".repeat(1024)).build()),
            "no room",
        ),
        (refused(builder().schema("").build()), "empty"),
        (
            refused(builder().schema("a\"b").build()),
            "another character",
        ),
        (
            refused(builder().table("lock; DROP TABLE lock").build()),
            "another character",
        ),
        (refused(builder().table("x".repeat(52)).build()), "too long"),
        (
            refused(builder().call_timeout(Duration::ZERO).build()),
            "1 ms",
        ),
        (
            refused(builder().call_timeout(Duration::from_secs(61)).build()),
            "one minute",
        ),
    ] {
        assert!(error.contains(part), "{error} does not say {part:?}");
    }
}

#[tokio::test]
async fn provider_shows_no_credentials() {
    let mut config = local(1);
    config.password("very secret");
    let provider = PostgresProvider::builder()
        .pool(pool(config, 2))
        .prefix("billing")
        .build()
        .unwrap();
    let shown = format!("{provider:?}");
    assert!(
        shown.contains("billing") && !shown.contains("secret"),
        "{shown}"
    );
}
