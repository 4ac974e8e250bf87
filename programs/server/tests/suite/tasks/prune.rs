//! Which clients may have ended tasks forgotten.

use std::{sync::Arc, time::Duration};

use axum::Router;
use dlock_core::ErrorKind;
use dlock_http::HttpTasks;
use dlock_server::router;
use dlock_tasks::{Ages, NewTask, TaskStore};
use dlock_testkit::tasks::memory::MemoryTasks;
use tokio::net::TcpListener;

use crate::support::{Api, servers};

// printf %s TOKEN | sha256sum
const RIGHTS: &str = r#"
[[token]]
name = "worker"
sha256 = "87eba76e7f3164534045ba922e7770fb58bbd14ad732bbf5ba6f11cc56989e6e"
rights = { default = ["work"] }

[[token]]
name = "admin"
sha256 = "8c6976e5b5410415bde908bd4dee15dfb167a9c873fc4bb8a81f6f2ab448a918"
rights = { "*" = ["admin"] }
"#;

/// A client with this token.
async fn client(router: Router, token: &str) -> HttpTasks {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    let servers = servers(&[address], Duration::from_secs(60));
    HttpTasks::connect(servers.token(token).unwrap())
        .await
        .unwrap()
}

/// Every worker tries, with its own rights.
#[tokio::test]
async fn worker_without_the_right_forgets_nothing_and_has_no_error() {
    let tasks = MemoryTasks::new();
    let api = Api::new().with_tasks(Arc::new(tasks.clone()));
    api.restrict(RIGHTS);
    let task = NewTask::builder().kind("resize").build();
    let added = tasks.enqueue(&[task]).await.unwrap();
    tasks.cancel(added[0].id(), false).await.unwrap();
    let worker = client(router(&api.service), "worker").await;
    let admin = client(router(&api.service), "admin").await;
    let all = Ages::new(Duration::ZERO, Duration::ZERO);
    assert_eq!(worker.prune(all, 10).await.unwrap(), 0);
    let refused = worker.counts().await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Fatal);
    assert!(refused.to_string().contains("no right"), "{refused}");
    assert_eq!(admin.prune(all, 10).await.unwrap(), 1);
}
