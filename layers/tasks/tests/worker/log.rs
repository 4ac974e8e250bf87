//! The log of a worker, as an operator reads it.

use std::{
    fmt::{Debug, Write},
    io,
    sync::{Arc, Mutex},
};

use dlock_tasks::{State, Stop, Worker};
use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

use crate::support::{Run, Say, Shop, say, worker};

/// Keeps the events of the worker at INFO and above, each as a line of text.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("dlock_tasks") && *metadata.level() <= Level::INFO
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

impl Log {
    /// The lines that contain this.
    fn lines(&self, text: &str) -> Vec<String> {
        let lines = self.0.lock().unwrap();
        let found = lines.iter().filter(|line| line.contains(text));
        found.cloned().collect()
    }
}

/// A failed attempt is a warning with its kind, its number and its reason; a death is an error. Work that succeeds
/// leaves no line.
#[tokio::test(start_paused = true)]
async fn failed_attempts_and_deaths_are_logged() {
    // With only one subscriber, its interest would be queried once and cached for all threads.
    let _other = tracing::Dispatch::new(tracing::subscriber::NoSubscriber::default());
    let log = Log::default();
    let _logging = tracing::subscriber::set_default(log.clone());
    let shop = Shop::new();
    let words = ["fails", "works", "hopeless"];
    let mut ids = Vec::new();
    for word in words {
        let mut task = say(word);
        task.max_attempts = 2;
        ids.push(shop.add(task).await);
    }
    let run = Run::of(worker(&shop.store).handle(|_, say: Say| async move {
        match say.word.as_str() {
            "fails" => Err(io::Error::other("disk full").into()),
            "hopeless" => Err(Stop::discard("no such image")),
            _ => Ok(()),
        }
    }));
    for (id, state) in ids.iter().zip([State::Dead, State::Succeeded, State::Dead]) {
        shop.until(*id, state).await;
    }
    run.stop().await;
    let failed = log.lines("disk full");
    assert_eq!(failed.len(), 2, "{log:?}", log = log.0);
    for (number, line) in (1..).zip(&failed) {
        assert!(line.starts_with("WARN "), "{line}");
        for part in [
            &format!("attempt={number}"),
            "max_attempts=2",
            "kind=\"say\"",
        ] {
            assert!(line.contains(part), "{line}");
        }
    }
    assert_eq!(log.lines("no such image").len(), 1);
    for (id, deaths) in ids.iter().zip([1, 0, 1]) {
        let dead = log.lines(&format!("task={id} token="));
        assert_eq!(dead.len(), deaths, "{dead:?}");
        assert!(
            dead.iter().all(|line| line.starts_with("ERROR ")),
            "{dead:?}"
        );
    }
}

/// As for a lock: the record of a running task shows where it runs.
#[tokio::test(start_paused = true)]
async fn worker_without_a_label_is_named_after_its_host_and_process() {
    let shop = Shop::new();
    let id = shop.add(say("a")).await;
    let worker = Worker::builder()
        .store(shop.store.clone())
        .build()
        .unwrap()
        .handle(|_, _: Say| std::future::pending::<Result<(), Stop>>());
    let run = Run::of(worker);
    let owner = shop.until(id, State::Running).await.holder.unwrap().owner;
    let (host, process) = owner.rsplit_once(':').unwrap();
    assert!(!host.is_empty(), "{owner}");
    assert_eq!(process, std::process::id().to_string());
    run.stop().await;
}
