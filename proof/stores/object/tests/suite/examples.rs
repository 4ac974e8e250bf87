//! Programs of the package `dlock-examples` on these stores, whose addresses they read from the environment.

use std::process::Command;

use dlock_object_proof::BUCKET;

use crate::{azure::azurite, fresh, server};

const QUICKSTART: &str = env!("CARGO_BIN_EXE_object-quickstart");
const FENCING: &str = env!("CARGO_BIN_EXE_object-fencing");

/// The output of a program on S3.
async fn on_s3(program: &'static str) -> String {
    let endpoint = format!("http://{}", server().await.address());
    let url = format!("s3://{BUCKET}/{}", fresh("examples"));
    let environment = [
        ("AWS_ENDPOINT_URL", endpoint.as_str()),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ACCESS_KEY_ID", "locker"),
        ("AWS_SECRET_ACCESS_KEY", "locker"),
    ];
    printed(program, &url, &environment).await
}

/// The output of a program on Azure.
async fn on_azure(program: &'static str) -> String {
    let azurite = azurite().await;
    let url = format!("azure://{BUCKET}/{}", fresh("examples"));
    let environment = [
        ("AZURE_STORAGE_ENDPOINT", azurite.url()),
        ("AZURE_ALLOW_HTTP", "true".to_owned()),
        ("AZURE_STORAGE_ACCOUNT_NAME", "dlock".to_owned()),
        ("AZURE_STORAGE_ACCOUNT_KEY", azurite.key()),
    ];
    let environment = environment
        .each_ref()
        .map(|(name, value)| (*name, value.as_str()));
    printed(program, &url, &environment).await
}

async fn printed(program: &'static str, url: &str, environment: &[(&str, &str)]) -> String {
    let mut command = Command::new(program);
    command
        .args(["--store", url])
        .envs(environment.iter().copied());
    let ended = tokio::task::spawn_blocking(move || command.output());
    let output = ended.await.unwrap().unwrap();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn quickstart_locks() {
    for printed in [on_s3(QUICKSTART).await, on_azure(QUICKSTART).await] {
        assert!(printed.contains("released: Released"), "{printed}");
        let last = printed.lines().last();
        let other = "holding customer-7, renewed until it is dropped";
        assert_eq!(last, Some(other), "{printed}");
    }
}

/// After its own output comes the content of the storage, which the later holder wrote.
#[tokio::test]
async fn fencing_refuses_the_holder_that_was_paused() {
    for printed in [on_s3(FENCING).await, on_azure(FENCING).await] {
        let refused = "Storage ->> A: refused, stale fencing token";
        assert!(printed.contains(refused), "{printed}");
        let last = printed.lines().last();
        assert_eq!(last, Some("Storage: \"written by B\""), "{printed}");
    }
}
