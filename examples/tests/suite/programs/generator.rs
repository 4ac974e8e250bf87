//! 004-4: of two generators one adds tasks, never both; one that loses its lease stops.

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

/// On a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
/// A generator that adds a task every 50 ms and has said nothing for so long waits for something, most likely.
const SILENCE: Duration = Duration::from_millis(500);
/// What it ends with if it waits to write for five seconds, which the test means to make it do for half a one.
const GAVE_UP: &str = "database is locked";

/// A generator that writes what it says to a file. It ends with this.
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

    /// Each task that it has added, and the token that it had.
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

    /// In good order.
    fn stop(&mut self) {
        drop(self.child.stdin.take());
        let ended = self.child.wait().unwrap();
        let is_good = ended.success() || self.said().contains(GAVE_UP);
        assert!(is_good, "{ended}: {}", self.said());
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        // One that has ended already is no child any more.
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

    // The first one stands still where it is about to add a task. If it does so elsewhere, what follows holds, too.
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

    // Work goes on, with either of them.
    let count = || first.added().len() + second.added().len();
    let (began, before) = (Instant::now(), count());
    while count() < before + 3 {
        assert!(began.elapsed() < PATIENCE, "nobody adds anything any more");
        sleep(Duration::from_millis(10)).await;
    }
    first.stop();
    second.stop();

    // What one has added with its token lies before all that was added with a later one; and there is nothing else.
    let mut added = [first.added(), second.added()].concat();
    added.sort_unstable();
    let tokens = || added.iter().map(|(_, token)| token);
    assert!(tokens().is_sorted(), "{}{}", first.said(), second.said());
    let rows = "SELECT count(*) FROM dlock_task";
    let rows: usize = data.query_row(rows, [], |row| row.get(0)).unwrap();
    assert_eq!(rows, added.len());
    // The token of the first one is refused where the second one has written.
    let token = FencingToken::try_from(first.added()[0].1).unwrap();
    let transaction = data.transaction_with_behavior(TransactionBehavior::Immediate);
    let checked = Fence::new("example_fence").check(&transaction.unwrap(), "generator", token);
    assert!(matches!(checked, Err(FenceError::Stale(_))), "{checked:?}");
}
