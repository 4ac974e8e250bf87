//! The grants that the documentation lists: a role that has them can make every call.

use std::time::{Duration, SystemTime};

use dlock_core::{
    Name,
    provider::{Release, Renew},
};
use dlock_postgres::{deadpool_postgres::tokio_postgres::NoTls, tasks::PostgresTasks};
use dlock_tasks::{Ages, Filter, How, NewTask, TaskStore};
use dlock_testkit::tasks::TaskFixture;
use serde_json::json;

use crate::{LONG, Postgres, claim, finish, pool, server, take, task};

/// The statements of the documentation.
fn documented() -> Vec<String> {
    let text = include_str!("../../src/tasks.rs");
    let grants = text
        .lines()
        .filter_map(|line| line.strip_prefix("//! GRANT "));
    grants.map(|grant| format!("GRANT {grant}")).collect()
}

#[tokio::test]
async fn role_with_the_rights_that_are_listed_can_make_every_call() {
    let queue = Postgres::start().await;
    let client = queue.client().await;
    let role = queue.schema.replace("test", "role");
    let mut all = format!("CREATE ROLE \"{role}\" LOGIN;");
    let grants = documented();
    assert_eq!(grants.len(), 7);
    for grant in grants {
        let grant = grant
            .replace("dlock.", &format!("\"{}\".", queue.schema))
            .replace("SCHEMA dlock", &format!("SCHEMA \"{}\"", queue.schema))
            .replace("TO worker", &format!("TO \"{role}\""));
        all.push_str(&grant);
    }
    client.batch_execute(&all).await.unwrap();
    let mut config = server().await;
    config.user(&role);
    let tasks = PostgresTasks::builder()
        .pool(pool(config.clone(), 2))
        .schema(&queue.schema)
        .listen(config, NoTls);
    let tasks = tasks.build().unwrap();
    tasks.verify_schema().await.unwrap();
    // Everything exists, so there is nothing to create.
    tasks.create_schema().await.unwrap();
    let hints = tasks.watch(&claim(LONG)).await;
    let mut hints = hints.unwrap().unwrap();
    let keyed = NewTask::builder().kind("a").key("k").build();
    tasks
        .enqueue(&[task(), keyed.clone(), keyed])
        .await
        .unwrap();
    hints.next().await.unwrap();
    // The first call begins the schedule, the second one serves an instant of it.
    for seconds in [2, 1] {
        #[expect(
            clippy::disallowed_methods,
            reason = "what is tested is the store's clock"
        )]
        let instant = SystemTime::now() - Duration::from_secs(seconds);
        let served = tasks.enqueue_periodic("s", instant, &task()).await;
        served.unwrap();
    }
    let key = take(&tasks, LONG).await.key;
    let name = Name::new(key.name().to_string()).unwrap();
    let renewed = tasks
        .claims()
        .renew(&Renew::new(name.clone(), key.uuid, 1))
        .await;
    renewed.unwrap();
    tasks.checkpoint(&key, 1, &json!(1)).await.unwrap();
    tasks.claims().read(&name).await.unwrap();
    let released = tasks
        .claims()
        .release(&Release::new(name, key.uuid, None))
        .await;
    released.unwrap();
    let key = take(&tasks, LONG).await.key;
    finish(
        &tasks,
        key,
        How::Fail {
            error: "x".into(),
            retry_in: LONG,
        },
    )
    .await;
    let key = take(&tasks, LONG).await.key;
    tasks.cancel(key.id, true).await.unwrap();
    tasks.retry(key.id).await.unwrap();
    let key = take(&tasks, LONG).await.key;
    finish(&tasks, key, How::Complete(json!(1))).await;
    tasks.retry(key.id).await.unwrap();
    tasks.list(&Filter::default()).await.unwrap();
    tasks.counts().await.unwrap();
    for paused in [true, false] {
        tasks.set_paused("other", paused).await.unwrap();
        assert_eq!(tasks.paused().await.unwrap().len(), usize::from(paused));
    }
    let pruned = tasks
        .prune(Ages::new(Duration::ZERO, Duration::ZERO), 10)
        .await;
    assert_eq!(pruned.unwrap(), 1);
}
