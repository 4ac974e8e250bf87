//! Buckets by their URLs, as programs open them: credentials come from the environment, so each test plays in its own
//! process.

use std::{env, process::Command};

use dlock_core::Provider;
use dlock_object_proof::{User, over};
use dlock_proof::stores::{granted, term};
use object_store::prefix::PrefixStore;

use crate::{azure::azurite, fresh, open::open, server};

/// The variable with the URL for the process of a test.
const URL: &str = "DLOCK_TEST_URL";

/// Runs this test again, in a process that has this URL and these variables.
fn play(test: &str, url: &str, variables: &[(&str, &str)]) {
    let program = env::current_exe().unwrap();
    let mut child = Command::new(program);
    child.args(["--exact", test, "--nocapture"]).env(URL, url);
    let played = child.envs(variables.iter().copied()).output().unwrap();
    let said = String::from_utf8_lossy(&played.stdout);
    assert!(
        played.status.success() && said.contains("1 passed"),
        "{url}: {said}{}",
        String::from_utf8_lossy(&played.stderr)
    );
}

/// In that process: sets the store up, checks it, and takes a lock of this name.
async fn is_used(url: &str, name: &str) {
    let store = open(url).await.unwrap();
    store.set_up().await.unwrap();
    store.check().await.unwrap();
    assert!(store.needs_observers());
    granted(store.provider(), &term(name)).await;
}

#[tokio::test]
async fn bucket_of_s3_is_opened_by_its_url() {
    if let Ok(url) = env::var(URL) {
        return is_used(&url, "door").await;
    }
    let folder = fresh("urls");
    let at = server().await.address();
    let url = format!("s3://locks/{folder}/a.b?endpoint=http://{at}&region=us-east-1");
    let locker = [
        ("AWS_ACCESS_KEY_ID", "locker"),
        ("AWS_SECRET_ACCESS_KEY", "locker"),
    ];
    play("urls::bucket_of_s3_is_opened_by_its_url", &url, &locker);
    let bucket = PrefixStore::new(server().await.bucket(User::LOCKER), folder.as_str());
    let same = over(bucket).with_prefix("a.b").unwrap();
    assert!(same.read(&term("door").name).await.unwrap().is_some());
}

#[tokio::test]
async fn container_of_azure_is_opened_by_its_url() {
    if let Ok(url) = env::var(URL) {
        return is_used(&url, "door").await;
    }
    let prefix = fresh("urls");
    let azurite = azurite().await;
    let url = format!(
        "azure://locks/{prefix}?account=dlock&endpoint={}",
        azurite.url()
    );
    let key = azurite.key();
    let key = [("AZURE_STORAGE_ACCOUNT_KEY", key.as_str())];
    play("urls::container_of_azure_is_opened_by_its_url", &url, &key);
    let same = azurite.provider().with_prefix(&prefix).unwrap();
    assert!(same.read(&term("door").name).await.unwrap().is_some());
}

#[tokio::test]
async fn bucket_that_cannot_be_used_is_told_why() {
    if let Ok(url) = env::var(URL) {
        let store = open(&url).await.unwrap();
        let (set_up, look) = (store.set_up().await, store.check().await);
        for error in [set_up.unwrap_err(), look.unwrap_err()] {
            assert_eq!(
                error.is_temporary(),
                url.contains("127.0.0.1:1&"),
                "{error:?}"
            );
            assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
        }
        return;
    }
    let at = server().await.address();
    for (bucket, at, user) in [
        ("none", at.to_string(), "root"),
        ("locks", at.to_string(), "nobody"),
        ("locks", at.to_string(), "stranger-hunter2"),
        ("locks", "127.0.0.1:1".to_owned(), "locker"),
    ] {
        let url = format!("s3://{bucket}?endpoint=http://{at}&region=us-east-1");
        let user = [("AWS_ACCESS_KEY_ID", user), ("AWS_SECRET_ACCESS_KEY", user)];
        play("urls::bucket_that_cannot_be_used_is_told_why", &url, &user);
    }
}
