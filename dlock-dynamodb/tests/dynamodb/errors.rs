//! The kinds of the store's failures, and that they contain no secret.

#![expect(clippy::unwrap_used, reason = "test code")]

use crate::common::{
    PATIENCE, SECRET,
    canned::{Canned, refusal},
    client, client_of, provider, provider_on, settings, table_name, term,
};
use aws_sdk_dynamodb::{
    Client,
    config::{ProvideCredentials, retry::RetryConfig},
    types::AttributeValue,
};
use dlock_core::{
    DLock, Error, ErrorKind, Provider, ProviderError,
    provider::{Acquire, Admin, Release, Renew},
};
use dlock_dynamodb::DynamodbProvider;

/// The error of each operation.
async fn failures(provider: &DynamodbProvider, of: &Acquire) -> Vec<ProviderError> {
    let renew = Renew::new(of.name.clone(), of.new, 1);
    let release = Release::new(of.name.clone(), of.new, None);
    vec![
        provider.acquire(of).await.unwrap_err(),
        provider.renew(&renew).await.unwrap_err(),
        provider.release(&release).await.unwrap_err(),
        provider.read(&of.name).await.unwrap_err(),
        provider.purge(1).await.unwrap_err(),
    ]
}

/// The whole text of an error, its causes included.
fn told(error: &ProviderError) -> String {
    let mut text = format!("{error}; {error:?}");
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(&format!("; {error}"));
        cause = error.source();
    }
    text
}

#[tokio::test]
async fn refusals_of_the_store_have_the_kind_that_their_cause_has() {
    for (status, code, kind) in [
        (400, "ThrottlingException", ErrorKind::NotApplied),
        (
            400,
            "ProvisionedThroughputExceededException",
            ErrorKind::NotApplied,
        ),
        (400, "RequestLimitExceeded", ErrorKind::NotApplied),
        (400, "TransactionConflictException", ErrorKind::NotApplied),
        (
            400,
            "ReplicatedWriteConflictException",
            ErrorKind::NotApplied,
        ),
        (400, "ResourceNotFoundException", ErrorKind::Fatal),
        (400, "AccessDeniedException", ErrorKind::Fatal),
        (400, "UnrecognizedClientException", ErrorKind::Fatal),
        (400, "MissingAuthenticationToken", ErrorKind::Fatal),
        (400, "ValidationException", ErrorKind::Fatal),
        (500, "InternalServerError", ErrorKind::Unknown),
        (503, "ServiceUnavailable", ErrorKind::Unknown),
    ] {
        let store = Canned::start([refusal(status, code)]).await;
        let provider = provider_on(client_of(store.url()), "locks");
        for error in failures(&provider, &term("a")).await {
            assert_eq!(error.kind(), kind, "{code}: {error:?}");
            let told = told(&error);
            assert!(told.contains(code), "the cause is lost: {told}");
            assert!(!told.contains(SECRET), "{told}");
        }
    }
}

#[tokio::test]
async fn answer_that_makes_no_sense_is_unknown() {
    for answer in [
        (200, "this is not JSON".to_owned()),
        (200, r#"{"Attributes": 7}"#.to_owned()),
        (502, "<html>bad gateway</html>".to_owned()),
    ] {
        let store = Canned::start([answer]).await;
        let provider = provider_on(client_of(store.url()), "locks");
        let error = provider.acquire(&term("a")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unknown, "{error:?}");
    }
}

#[tokio::test]
async fn record_that_changes_at_every_look_ends_in_unknown() {
    // Refused, but with a record that would have met the condition: released, with a token of its
    // own.
    let record = r#"{"name":{"S":"/a"},"uuid":{"S":"0b87b9ac-6bd8-4c2b-8f3e-000000000001"},
        "renewals":{"N":"0"},"owner":{"S":""},"since":{"N":"1790000000000000"},
        "token":{"N":"1790000000000000"},"duration":{"N":"1000"},
        "released":{"BOOL":true},"asked":{"BOOL":false}}"#;
    let refused = format!(
        r#"{{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
        "message":"The conditional request failed","Item":{record}}}"#
    );
    let store = Canned::start([(400, refused)]).await;
    let provider = provider_on(client_of(store.url()), "locks");
    let error = provider.acquire(&term("a")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unknown, "{error:?}");
    assert_eq!(store.requests(), 4, "asked, and at most 3 times again");
}

#[tokio::test]
async fn missing_table_is_fatal_and_says_so() {
    let provider = provider_on(client().await, &table_name());
    for error in failures(&provider, &term("a")).await {
        assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
        let text = error.to_string();
        assert!(
            text.contains(provider.table_name()) && text.contains("create_table"),
            "{text}"
        );
    }
    // So a lock ends at once, without waiting for it.
    let lock = DLock::builder()
        .name("a")
        .provider(provider)
        .build()
        .unwrap();
    assert!(matches!(
        lock.acquire().await,
        Err(Error::Provider(error)) if error.kind() == ErrorKind::Fatal
    ));
}

#[tokio::test]
async fn table_deleted_under_a_holder_is_fatal_to_its_renewals() {
    let provider = provider().await;
    let a = term("a");
    provider.acquire(&a).await.unwrap();
    client()
        .await
        .delete_table()
        .table_name(provider.table_name())
        .send()
        .await
        .unwrap();
    let error = provider
        .renew(&Renew::new(a.name.clone(), a.new, 1))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
}

#[tokio::test]
async fn table_with_another_key_is_fatal() {
    let provider = provider().await;
    let other = DynamodbProvider::builder()
        .client(client().await)
        .table_name(provider.table_name())
        .partition_key("id")
        .attempt_timeout(PATIENCE)
        .call_timeout(PATIENCE)
        .build()
        .unwrap();
    let error = other.acquire(&term("a")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
    assert!(error.to_string().contains("verify_table"), "{error}");
}

#[tokio::test]
async fn missing_credentials_are_fatal_and_say_so() {
    /// Finds no credentials, like a chain of providers where nothing is configured.
    #[derive(Debug)]
    struct Nowhere;

    impl ProvideCredentials for Nowhere {
        fn provide_credentials<'a>(
            &'a self,
        ) -> aws_credential_types::provider::future::ProvideCredentials<'a>
        where
            Self: 'a,
        {
            use aws_credential_types::provider::{error::CredentialsError, future};
            future::ProvideCredentials::ready(Err(CredentialsError::not_loaded("none here")))
        }
    }

    let store = Canned::start([refusal(500, "InternalServerError")]).await;
    let client = Client::from_conf(settings(store.url()).credentials_provider(Nowhere).build());
    let error = provider_on(client, "locks")
        .acquire(&term("a"))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
    assert!(error.to_string().contains("credentials"), "{error}");
    assert_eq!(store.requests(), 0);
}

#[tokio::test]
async fn provider_shows_no_secret() {
    let provider = provider().await;
    for shown in [format!("{provider:?}"), format!("{provider:#?}")] {
        assert!(shown.contains(provider.table_name()), "{shown}");
        assert!(
            !shown.contains(SECRET) && !shown.contains("AKIDTEST"),
            "{shown}"
        );
    }
}

#[tokio::test]
async fn failures_of_other_clients_use_up_none_of_our_retries() {
    // The quota that the process shares: other clients of DynamoDB fail until it is gone.
    let failing = Canned::start([refusal(500, "InternalServerError")]).await;
    let other = Client::from_conf(
        settings(failing.url())
            .retry_config(
                RetryConfig::standard()
                    .with_max_attempts(2)
                    .with_initial_backoff(std::time::Duration::from_millis(1)),
            )
            .sleep_impl(Timer)
            .build(),
    );
    let attempt = || async {
        let before = failing.requests();
        let key = AttributeValue::S("a".into());
        let read = other.get_item().table_name("locks").key("name", key);
        read.send().await.unwrap_err();
        failing.requests() - before
    };
    let mut left = 1_000;
    while attempt().await == 2 {
        left -= 1;
        assert!(left > 0, "the shared quota does not run out");
    }

    let store = Canned::start([
        refusal(500, "InternalServerError"),
        refusal(503, "ServiceUnavailable"),
        (200, "{}".to_owned()),
    ])
    .await;
    let provider = provider_on(client_of(store.url()), "locks");
    assert_eq!(provider.read(&term("a").name).await.unwrap(), None);
    assert_eq!(store.requests(), 3);
}

#[tokio::test]
async fn conditional_write_is_never_repeated_behind_our_back() {
    // A release repeated after a lost reply could meet the next holder, and be called "not held".
    let store = Canned::start([refusal(500, "InternalServerError")]).await;
    let provider = provider_on(client_of(store.url()), "locks");
    let a = term("a");
    provider.acquire(&a).await.unwrap_err();
    provider
        .renew(&Renew::new(a.name.clone(), a.new, 1))
        .await
        .unwrap_err();
    provider
        .release(&Release::new(a.name.clone(), a.new, None))
        .await
        .unwrap_err();
    assert_eq!(store.requests(), 3);
}

/// A timer for clients of a test that repeat requests.
#[derive(Debug)]
struct Timer;

impl aws_sdk_dynamodb::config::AsyncSleep for Timer {
    fn sleep(&self, duration: std::time::Duration) -> aws_sdk_dynamodb::config::Sleep {
        aws_sdk_dynamodb::config::Sleep::new(tokio::time::sleep(duration))
    }
}
