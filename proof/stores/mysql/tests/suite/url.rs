//! Stores by their URLs, as programs open them.

use dlock_core::Provider;
use dlock_mysql_proof::{Server, server};
use dlock_test_servers::certificates::Certificates;

use crate::{
    open::open,
    support::{granted, is_held, term},
};

#[tokio::test]
async fn store_is_set_up_and_opened_by_its_url_and_told_why_when_it_is_not() {
    let database = server().await.database().await;
    let (at, name) = (database.address, &database.name);
    let store = open(&format!("mysql://root@{at}/{name}")).await.unwrap();
    assert!(!store.needs_observers());
    let error = store.check().await.unwrap_err();
    let text = format!("{error:?}");
    assert!(
        text.contains("there is no table") && text.contains("program setup"),
        "{text}"
    );
    store.set_up().await.unwrap();
    store.check().await.unwrap();
    let a = term("door");
    store.provider().acquire(&a).await.unwrap();
    let same = database.provider(1).await;
    assert_eq!(same.read(&a.name).await.unwrap().unwrap().uuid, a.new);

    let others = open(&format!(
        "mysql://root@{at}/{name}?prefix=other&table={name}.dlock_lock&connections=1"
    ))
    .await
    .unwrap();
    others.check().await.unwrap();
    others.provider().acquire(&term("door")).await.unwrap();
    granted(&same, &term("beside")).await;
    assert!(is_held(&same, "door").await);

    database
        .run(
            "CREATE OR REPLACE USER url_user IDENTIFIED BY 'hunter2'; GRANT ALL ON *.* TO url_user",
        )
        .await;
    let known = open(&format!("mysql://url_user:hunter2@{at}/{name}"))
        .await
        .unwrap();
    known.check().await.unwrap();
    for wrong in [
        format!("mysql://url_user:hunter3@{at}/{name}"),
        format!("mysql://root@{at}/no_database_of_this_name"),
        format!("mysql://root@{at}/{name}?sslmode=require"),
    ] {
        let error = open(&wrong).await.unwrap().check().await.unwrap_err();
        assert!(!error.is_temporary(), "{error:?}");
        assert!(!format!("{error:?}").contains("hunter"), "{error:?}");
    }
    let nowhere = open("mysql://root@127.0.0.1:1/app").await.unwrap();
    let error = nowhere.check().await.unwrap_err();
    assert!(error.is_temporary(), "{error:?}");
}

#[tokio::test]
async fn certificates_are_those_that_the_url_names() {
    let folder = tempfile::tempdir().unwrap();
    let made = |name: &str| Certificates::new(&folder.path().join(name), "localhost").unwrap();
    let (ours, others) = (made("ours"), made("others"));
    let server = Server::start(&[
        &format!("--ssl-cert={}", ours.certificate.display()),
        &format!("--ssl-key={}", ours.key.display()),
        "--require-secure-transport=1",
    ])
    .await;
    let port = server.address().port();
    let at = |host: &str, query: &str| format!("mysql://root@{host}:{port}/test_tls?{query}");
    let root =
        |certificates: &Certificates| format!("sslrootcert={}", certificates.authority.display());
    let blind = open(&at("127.0.0.1", "sslmode=require")).await.unwrap();
    let error = blind.check().await.unwrap_err();
    assert!(format!("{error:?}").contains("does not exist"), "{error:?}");
    for (query, host, enters) in [
        (root(&ours), "localhost", true),
        (
            format!("sslmode=verify-full&{}", root(&ours)),
            "localhost",
            true,
        ),
        (root(&ours), "127.0.0.1", false),
        (root(&others), "localhost", false),
        ("sslrootcert=system".into(), "localhost", false),
        ("sslmode=disable".into(), "localhost", false),
    ] {
        let error = open(&at(host, &query))
            .await
            .unwrap()
            .check()
            .await
            .unwrap_err();
        assert!(!error.is_temporary(), "{query} {host}: {error:?}");
        let text = format!("{error:?}");
        assert_eq!(
            text.contains("the database does not exist"),
            enters,
            "{query} {host}: {text}"
        );
    }
}
