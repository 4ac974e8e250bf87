//! Tasks behind a server pass the suite that tasks in a store pass: HTTP takes nothing away.

use std::time::Duration;

use dlock_http::HttpTasks;
use dlock_testkit::tasks::TaskFixture;

use crate::support::{Served, servers};

/// A server before a file.
struct Http(Served);

impl TaskFixture for Http {
    type Store = HttpTasks;

    async fn start() -> Self {
        Self(Served::start().await)
    }

    async fn store(&self) -> HttpTasks {
        let servers = servers(&[self.0.address], Duration::from_secs(60));
        HttpTasks::connect(servers).await.unwrap()
    }
}

dlock_testkit::task_store!(Http);
