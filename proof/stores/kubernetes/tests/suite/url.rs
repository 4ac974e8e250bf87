//! The store by its URL, as programs open it.

use std::{ffi::OsStr, fs, path::Path, time::Duration};

use dlock_core::{Name, Provider, provider::Acquire};
use dlock_kubernetes_proof::{ADMIN, Server, USER};
use dlock_stores::{Program, Store, StoreError, locate};
use uuid::Uuid;

const PROGRAM: Program = Program {
    name: "program",
    package: "package",
    set_up: "nothing to set up",
    set_up_queue: "no queue",
    serves_many: false,
    warn: |warning| panic!("{warning}"),
};

async fn open(namespace: &str, kubeconfig: &Path) -> Result<Store, StoreError> {
    let url = format!(
        "kubernetes://{namespace}?kubeconfig={}",
        kubeconfig.display()
    );
    locate(&PROGRAM, Some(OsStr::new(&url)))
        .unwrap()
        .open()
        .await
}

#[tokio::test]
async fn store_is_opened_by_its_url_and_told_why_when_it_is_not() {
    let server = Server::shared().await;
    let namespace = server.namespace().await;
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let admin = server.kubeconfig(ADMIN);
    let store = open(&namespace, &file("admin", &admin)).await.unwrap();
    store.check().await.unwrap();
    assert!(store.needs_observers());
    let name = Name::new("door").unwrap();
    let a = Acquire::new(name, Uuid::new_v4(), Duration::from_secs(60));
    store.provider().acquire(&a).await.unwrap();
    let same = server.provider(&namespace).await;
    assert_eq!(same.read(&a.name).await.unwrap().unwrap().uuid, a.new);

    let gone = admin.replace(&server.address().port().to_string(), "1");
    let distrust = admin.replace("certificate-authority", "no");
    let stranger = server.kubeconfig("hunter2");
    for (text, is_temporary) in [
        (server.kubeconfig(USER), false),
        (stranger, false),
        (distrust, false),
        (gone, true),
    ] {
        let store = open(&namespace, &file("other", &text)).await.unwrap();
        let error = store.check().await.unwrap_err();
        assert_eq!(error.is_temporary(), is_temporary, "{error:?}");
        assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
    }
    for broken in [&folder.path().join("missing"), &file("broken", "{}")] {
        let error = open(&namespace, broken).await.unwrap_err();
        assert!(!error.is_temporary(), "{error:?}");
    }
}
