//! The store by its URL, as programs open it.

use std::{fs, path::Path};

use dlock_core::Provider;
use dlock_kubernetes_proof::{ADMIN, Server, USER};
use dlock_proof::stores::{granted, term};
use dlock_stores::{Store, StoreError};

async fn open(namespace: &str, kubeconfig: &Path) -> Result<Store, StoreError> {
    let kubeconfig = kubeconfig.display();
    crate::open::open(&format!("kubernetes://{namespace}?kubeconfig={kubeconfig}")).await
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
    let a = term("door");
    granted(store.provider(), &a).await;
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
