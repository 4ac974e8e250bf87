//! Locks and tasks behind a server.

#![expect(clippy::unwrap_used, reason = "in a test, that is how it fails")]

use std::{path::Path, sync::Arc};

use dlock_server::{
    Limits, Rights, Service,
    listen::{Bounds, Server, Tls, TlsFiles},
    router,
};
use dlock_sqlite::{SqliteProvider, tasks::SqliteTasks};
use dlock_test_servers::certificates::Certificates;
use dlock_testkit::proxy::{Fault, Proxy};
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{net::TcpListener, runtime::Runtime};
use tokio_util::sync::CancellationToken;

use crate::support::{
    Scene,
    stores::{STATUS, TRY, assert_ended, prefixes_are_stores_of_their_own},
    stories::shared_stories,
    until,
};

/// A server before a file, for as long as this value lives.
struct Served {
    url: String,
    service: Service,
    _folder: TempDir,
    runtime: Runtime,
}

impl Served {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let runtime = Runtime::new().unwrap();
        let store = SqliteProvider::open(folder.path().join("locks.db")).unwrap();
        let tasks = SqliteTasks::open(folder.path().join("tasks.db")).unwrap();
        let service = Service::new(Arc::new(store), Limits::default()).with_tasks(Arc::new(tasks));
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = router(&service);
        runtime.spawn(async move { axum::serve(listener, router).await });
        Self {
            url,
            service,
            _folder: folder,
            runtime,
        }
    }

    fn scene(&self) -> Scene {
        Scene::with(vec![("DLOCK_STORE", self.url.clone())])
    }

    fn of_namespace(&self, namespace: &str) -> Scene {
        let url = format!("{}?namespace={namespace}", self.url);
        Scene::with(vec![("DLOCK_STORE", url)])
    }
}

shared_stories!(Served::start().scene(), clock: true);

/// As with the other stores: a candidate waits for its store, and leads once it is there.
#[test]
fn candidate_waits_for_a_server_that_is_down_at_its_start() {
    let served = Served::start();
    let place = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = place.local_addr().unwrap();
    drop(place);
    let scene = Scene::with(vec![("DLOCK_STORE", format!("http://{address}"))]);
    let mut candidate = scene.start(scene.dlock(["elect", "job"]));
    until("a line about the server", || {
        candidate.out().contains("does not answer").then_some(())
    });
    assert!(candidate.is_running(), "{}", candidate.err());
    let server = served.url.trim_start_matches("http://").to_owned();
    served.runtime.spawn(async move {
        let listener = TcpListener::bind(address).await.unwrap();
        loop {
            let (mut client, _) = listener.accept().await.unwrap();
            let mut server = tokio::net::TcpStream::connect(&server).await.unwrap();
            tokio::spawn(async move {
                tokio::io::copy_bidirectional(&mut client, &mut server)
                    .await
                    .ok();
            });
        }
    });
    until("a leader", || {
        candidate.out().contains("leading \"job\"").then_some(())
    });
    assert_eq!(candidate.out().matches("does not answer").count(), 1);
    candidate.signal(Signal::TERM);
    assert_eq!(candidate.code(), 143);
    // An error that waiting can't cure ends it.
    let refused = scene.finish(["elect", "job", "--store", "sqlite:/no/such/folder/l.db"]);
    assert_eq!(refused.code(), 78, "{refused:?}");
}

#[test]
fn namespaces_are_stores_of_their_own() {
    let served = Served::start();
    prefixes_are_stores_of_their_own(&served.of_namespace("ours"), &served.of_namespace("theirs"));
}

#[test]
fn tasks_are_seen_and_enqueued() {
    let served = Served::start();
    let scene = served.scene();
    let words = ["tasks", "--database", &served.url];
    let added = scene.finish(
        [
            &words[..],
            &["enqueue", "resize", "{}", "--queue", "images"],
        ]
        .concat(),
    );
    assert_eq!(added.code(), 0, "{added:?}");
    let counts = scene.finish([&words[..], &["counts", "--json"]].concat());
    let counts: Value = serde_json::from_str(&counts.out).unwrap();
    assert_eq!(
        counts[0],
        json!({"queue": "images", "state": "ready", "tasks": 1, "paused_since": null, "limit": null})
    );
}

// printf %s hunter2hunter2 | sha256sum
const RIGHTS: &str = "[[token]]
name = \"ci\"
sha256 = \"76880d60191af3b3f803a656b7716f0179928357fc32421ced973ed265e15718\"
rights = { default = [\"hold\"] }";

#[test]
fn token_comes_from_the_environment_and_is_told_to_nobody() {
    let served = Served::start();
    served.service.restrict(Rights::parse(RIGHTS).unwrap());
    let without = served.scene().finish(TRY);
    assert_ended(&without, 78, "into DLOCK_SERVER_TOKEN");
    let token = |token: &str| {
        let url = ("DLOCK_STORE", served.url.clone());
        Scene::with(vec![url, ("DLOCK_SERVER_TOKEN", token.to_owned())])
    };
    let wrong = token("hunter3hunter3").finish(TRY);
    assert_ended(&wrong, 78, "into DLOCK_SERVER_TOKEN");
    assert!(!wrong.err.contains("hunter3"), "{wrong:?}");
    assert_ended(&token("hunter2hunter2").finish(TRY), 0, "");
}

#[test]
fn certificate_says_who_one_is() {
    let folder = tempfile::tempdir().unwrap();
    let certificates = |name: &str, host: &str| {
        let path = folder.path().join(name);
        Certificates::new(&path, host).unwrap()
    };
    let (own, client) = (
        certificates("server", "localhost"),
        certificates("client", "ci.example"),
    );
    let served = Served::start();
    served.service.restrict(
        Rights::parse("[[certificate]]\nname = \"ci.example\"\nrights = { default = [\"hold\"] }")
            .unwrap(),
    );
    let tls = Tls::open(TlsFiles {
        certificate: own.certificate.clone(),
        key: own.key.clone(),
        client_ca: Some(client.authority.clone()),
        clients_must: true,
    });
    let server =
        Server::new(router(&served.service), Bounds::default()).tls(Arc::new(tls.unwrap()));
    let listener = served
        .runtime
        .block_on(TcpListener::bind("127.0.0.1:0"))
        .unwrap();
    let url = format!(
        "https://localhost:{}",
        listener.local_addr().unwrap().port()
    );
    served
        .runtime
        .spawn(server.serve(listener, CancellationToken::new()));

    let scene = |query: String| {
        let authority = own.authority.to_str().unwrap().to_owned();
        Scene::with(vec![
            ("DLOCK_STORE", url.clone() + &query),
            ("SSL_CERT_FILE", authority),
        ])
    };
    let of = |certificate: &Path, key: &Path| {
        format!(
            "?sslcert={}&sslkey={}",
            certificate.display(),
            key.display()
        )
    };
    assert_ended(
        &scene(of(&client.certificate, &client.key)).finish(TRY),
        0,
        "",
    );
    let advice = "sslcert and sslkey name the files of this client's";
    assert_ended(&scene(String::new()).finish(TRY), 78, advice);
    // Signed by another authority.
    let stranger = scene(of(&own.certificate, &own.key));
    assert_ended(&stranger.finish(TRY), 78, advice);
    // An HTTP/2 driver keeps none of these words, or only the text. To etcd's driver the server is one that wants
    // certificates.
    let etcd = url.replace("https://", "etcds://");
    let authority = own.authority.to_str().unwrap().to_owned();
    let etcd = Scene::with(vec![("DLOCK_STORE", etcd), ("SSL_CERT_FILE", authority)]);
    let times = if cfg!(feature = "etcd") { 5 } else { 0 };
    for _ in 0..times {
        assert_ended(&etcd.finish(STATUS), 78, advice);
    }
    let swapped = scene(of(&client.authority, &client.certificate)).finish(TRY);
    assert_ended(&swapped, 78, "no certificate with its key");
    let absent = scene(of(&client.certificate, &folder.path().join("none.pem"))).finish(TRY);
    assert_ended(&absent, 78, "can't read");
    let half = format!("?sslcert={}", client.certificate.display());
    assert_ended(&scene(half).finish(TRY), 78, "without its key");
}

/// All requests over TLS share a connection. A connection that has silently stopped carrying anything to the server
/// is replaced while the lease lasts.
#[test]
fn holder_outlives_a_silent_connection() {
    let folder = tempfile::tempdir().unwrap();
    let own = Certificates::new(&folder.path().join("server"), "localhost").unwrap();
    let served = Served::start();
    let tls = Tls::open(TlsFiles {
        certificate: own.certificate.clone(),
        key: own.key.clone(),
        client_ca: None,
        clients_must: false,
    });
    let server =
        Server::new(router(&served.service), Bounds::default()).tls(Arc::new(tls.unwrap()));
    let proxy = served.runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Proxy::start(listener.local_addr().unwrap()).await.unwrap();
        tokio::spawn(server.serve(listener, CancellationToken::new()));
        proxy
    });
    let url = format!("https://localhost:{}", proxy.address().port());
    let authority = own.authority.to_str().unwrap().to_owned();
    let scene = Scene::with(vec![("DLOCK_STORE", url), ("SSL_CERT_FILE", authority)]);
    let mut holder = scene.run(
        &["--lease", "20s"],
        "echo in >> \"$T/trace\"; exec sleep 600",
    );
    scene.await_trace("in");
    let direct = served.scene();
    let renewals = || {
        let finished = direct.finish(["status", "lock", "--json"]);
        assert_ended(&finished, 0, "");
        let shown: Value = serde_json::from_str(&finished.out).unwrap();
        shown["renewals"].as_u64().unwrap()
    };
    proxy.next(Fault::LoseRequest);
    served.runtime.block_on(proxy.until_struck(1));
    let before = renewals();
    until("a renewal over another connection", || {
        assert!(holder.is_running(), "the lease was lost: {}", holder.err());
        (renewals() > before).then_some(())
    });
    holder.signal(Signal::TERM);
}

#[test]
fn token_is_not_sent_in_the_clear() {
    let scene = Scene::with(vec![
        ("DLOCK_STORE", "http://locks.example".to_owned()),
        ("DLOCK_SERVER_TOKEN", "hunter2".to_owned()),
    ]);
    let refused = scene.finish(TRY);
    assert_ended(&refused, 78, "use https");
    assert!(!refused.err.contains("hunter2"), "{refused:?}");
}

#[test]
fn what_is_no_server_of_dlock_is_told_so() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let nobody = Scene::with(vec![("DLOCK_STORE", url)]).finish(TRY);
    assert_ended(&nobody, 69, "cannot be reached");
}

#[test]
fn silent_server_does_not_answer() {
    // The system opens the connections, but no process reads what they carry.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let silent = Scene::with(vec![("DLOCK_STORE", url)]).finish(TRY);
    assert_ended(&silent, 69, "does not answer");
    assert!(silent.err.contains("is the server up"), "{silent:?}");
}
