//! Of two generators, one adds tasks, never both; a generator that loses its lease stops.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use dlock::{
    FencingToken,
    sqlite::{
        fence::{Fence, FenceError},
        rusqlite::{Connection, TransactionBehavior},
    },
};
use dlock_examples::tasks::CHILD;
use tokio::time::{Instant, sleep};

/// A limit for a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
/// A generator that adds a task every 50 ms and has printed nothing for this long most likely waits for the database.
const SILENCE: Duration = Duration::from_millis(500);
/// The error with which a generator ends after it has waited five seconds for a write. The test means to make it wait
/// for half a second.
const GAVE_UP: &str = "database is locked";

/// A generator that prints to a file. The process ends when this value is dropped.
struct Generator {
    child: Child,
    output: PathBuf,
}

impl Generator {
    fn start(folder: &Path, name: &str) -> Self {
        let output = folder.join(name);
        let file = File::create(&output).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_generator"))
            .env(CHILD, name)
            .args(["--name", name, "--lease", "6", "--every", "0.05"])
            .arg("--file")
            .arg(folder.join("tasks.db"))
            .stdin(Stdio::piped())
            .stderr(file.try_clone().unwrap())
            .stdout(file)
            .spawn();
        Self {
            child: child.unwrap(),
            output,
        }
    }

    fn said(&self) -> String {
        fs::read_to_string(&self.output).unwrap()
    }

    async fn says(&self, what: &str) {
        self.says_one_of(&[what]).await;
    }

    async fn says_one_of(&self, texts: &[&str]) {
        let began = Instant::now();
        while !texts.iter().any(|text| self.said().contains(text)) {
            let waited = began.elapsed();
            assert!(waited < PATIENCE, "no {texts:?} in {}", self.said());
            sleep(Duration::from_millis(10)).await;
        }
    }

    async fn falls_silent(&self) {
        let (began, mut said, mut since) = (Instant::now(), self.said(), Instant::now());
        while since.elapsed() < SILENCE {
            assert!(began.elapsed() < PATIENCE, "it goes on: {said}");
            sleep(Duration::from_millis(10)).await;
            let now = self.said();
            if now != said {
                (said, since) = (now, Instant::now());
            }
        }
    }

    /// Each task that it has added, with the token that it had.
    fn added(&self) -> Vec<(u64, u64)> {
        let (mut token, mut added) = (0, Vec::new());
        let said = self.said();
        let whole = said.rsplit_once('\n').map_or("", |(whole, _)| whole);
        for line in whole.lines() {
            let number = |text: &str| text.split(',').next().unwrap().parse().unwrap();
            if let Some((_, text)) = line.split_once("with token ") {
                token = number(text);
            } else if let Some((_, text)) = line.split_once("adds task ") {
                added.push((number(text), token));
            }
        }
        added
    }

    fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status();
        assert!(sent.unwrap().success(), "kill {signal}");
    }

    /// Stops it in good order.
    fn stop(&mut self) {
        drop(self.child.stdin.take());
        let ended = self.child.wait().unwrap();
        let is_good = ended.success() || self.said().contains(GAVE_UP);
        assert!(is_good, "{ended}: {}", self.said());
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        // The kill fails if the child has ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[tokio::test]
async fn generator_that_loses_its_lease_stops_and_adds_nothing_beside_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = Generator::start(folder.path(), "first");
    first.says("adds task").await;
    let mut second = Generator::start(folder.path(), "second");
    second.says("waits for its turn").await;

    // The first generator is paused while it is about to add a task. If it is paused elsewhere, the rest of the test
    // holds, too.
    let mut data = Connection::open(folder.path().join("tasks.db")).unwrap();
    data.busy_timeout(PATIENCE).unwrap();
    data.execute_batch("BEGIN IMMEDIATE").unwrap();
    first.falls_silent().await;
    first.signal("-STOP");
    data.execute_batch("ROLLBACK").unwrap();
    second.says("adds task").await;
    first.signal("-CONT");
    first
        .says_one_of(&["stops, since its lease", GAVE_UP])
        .await;

    // Work continues, with either of them.
    let count = || first.added().len() + second.added().len();
    let (began, before) = (Instant::now(), count());
    while count() < before + 3 {
        assert!(began.elapsed() < PATIENCE, "nobody adds anything any more");
        sleep(Duration::from_millis(10)).await;
    }
    first.stop();
    second.stop();

    // The tasks that were added with one token come before all that were added with a later one, and there are no
    // others.
    let mut added = [first.added(), second.added()].concat();
    added.sort_unstable();
    let tokens = || added.iter().map(|(_, token)| token);
    assert!(tokens().is_sorted(), "{}{}", first.said(), second.said());
    let rows = "SELECT count(*) FROM dlock_task";
    let rows: usize = data.query_row(rows, [], |row| row.get(0)).unwrap();
    assert_eq!(rows, added.len());
    // The fence refuses the token of the first generator, since the second one has written.
    let token = FencingToken::try_from(first.added()[0].1).unwrap();
    let transaction = data.transaction_with_behavior(TransactionBehavior::Immediate);
    let checked = Fence::new("example_fence").check(&transaction.unwrap(), "generator", token);
    assert!(matches!(checked, Err(FenceError::Stale(_))), "{checked:?}");
}
