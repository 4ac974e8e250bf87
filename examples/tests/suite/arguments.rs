//! What is no store is refused, with advice, and without a word of what may be a password.

use crate::place::refusal;

const PASSWORD: &str = "s3cret-of-the-server";

#[tokio::test]
async fn url_that_is_not_understood_is_not_repeated() {
    for wrong in [
        "",
        "sqlite",
        "rediss://somebody:s3cret-of-the-server@127.0.0.1:1",
        "postgres:/somebody:s3cret-of-the-server@127.0.0.1:1/db",
        "s3cret-of-the-server",
    ] {
        let said = refusal(&["--store", wrong]).await;
        assert!(said.contains("one of sqlite:, "), "{said}");
        assert!(!said.contains(PASSWORD), "{said}");
    }
    for wrong in [
        &["--store"][..],
        &["redis://:s3cret-of-the-server@127.0.0.1"],
        &["--store", "sqlite:", "s3cret-of-the-server"],
    ] {
        let said = refusal(wrong).await;
        assert!(said.contains("usage: --store"), "{said}");
        assert!(!said.contains(PASSWORD), "{said}");
    }
}

/// Nothing listens on port 1.
#[tokio::test]
async fn store_that_cannot_be_reached_is_told_without_its_password() {
    for (kind, url, compiled) in [
        (
            "postgres",
            "postgres://somebody:s3cret-of-the-server@127.0.0.1:1/db",
            cfg!(feature = "postgres"),
        ),
        (
            "redis",
            "redis://somebody:s3cret-of-the-server@127.0.0.1:1",
            cfg!(feature = "redis"),
        ),
        ("dynamodb", "dynamodb:locks", cfg!(feature = "dynamodb")),
        (
            "etcd",
            "etcd://somebody:s3cret-of-the-server@127.0.0.1:1",
            cfg!(feature = "etcd"),
        ),
        (
            "kubernetes",
            "kubernetes://somebody:s3cret-of-the-server@127.0.0.1:1",
            cfg!(feature = "kubernetes"),
        ),
        (
            "object-store",
            "s3://somebody:s3cret-of-the-server@127.0.0.1:1",
            cfg!(feature = "object-store"),
        ),
        (
            "sqlite",
            "sqlite:/nowhere/at/all/locks.db",
            cfg!(feature = "sqlite"),
        ),
    ] {
        let said = refusal(&["--store", url]).await;
        assert!(!said.contains(PASSWORD), "{said}");
        // Either what went wrong, or which feature is missing.
        let advice = format!("--features {kind}");
        assert_eq!(said.contains(&advice), !compiled, "{kind}: {said}");
        if compiled && kind == "dynamodb" {
            assert!(said.contains("AWS_ENDPOINT_URL"), "{said}");
        }
    }
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn without_a_store_there_is_a_file_that_is_gone_afterwards() {
    let output = crate::place::plain_quickstart().await;
    assert!(output.status.success(), "{output:?}");
}
