//! Programs of the package `dlock-examples` on this store.

use std::{fs, process::Command};

use dlock_kubernetes_proof::{ADMIN, Server};

/// The output of a program that finds the server by `KUBECONFIG`, as `kubectl` does.
async fn printed(program: &'static str) -> String {
    let server = Server::shared().await;
    let url = format!("kubernetes://{}", server.namespace().await);
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config");
    fs::write(&config, server.kubeconfig(ADMIN)).unwrap();
    let mut command = Command::new(program);
    command.args(["--store", &url]).env("KUBECONFIG", &config);
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
    let printed = printed(env!("CARGO_BIN_EXE_kubernetes-quickstart")).await;
    assert!(printed.contains("released: Released"), "{printed}");
    let last = printed.lines().last();
    let other = "holding customer-7, renewed until it is dropped";
    assert_eq!(last, Some(other), "{printed}");
}

/// After its own output comes the content of the storage, which the later holder wrote.
#[tokio::test]
async fn fencing_refuses_the_holder_that_was_paused() {
    let printed = printed(env!("CARGO_BIN_EXE_kubernetes-fencing")).await;
    let refused = "Storage ->> A: refused, stale fencing token";
    assert!(printed.contains(refused), "{printed}");
    let last = printed.lines().last();
    assert_eq!(last, Some("Storage: \"written by B\""), "{printed}");
}
