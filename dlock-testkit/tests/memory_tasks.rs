//! The reference task store passes the suite, in paused time.

use std::time::SystemTime;

use dlock_testkit::tasks::{TaskFixture, memory::MemoryTasks};

struct Memory(MemoryTasks);

impl TaskFixture for Memory {
    type Store = MemoryTasks;

    const PAUSED: bool = true;

    async fn start() -> Self {
        Self(MemoryTasks::new())
    }

    async fn store(&self) -> MemoryTasks {
        self.0.clone()
    }

    fn now(&self) -> SystemTime {
        self.0.now()
    }
}

dlock_testkit::task_store!(Memory);
