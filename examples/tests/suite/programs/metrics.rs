//! `metrics` exports the metrics that its alerts query, and resigns when it is interrupted.

use std::{collections::BTreeSet, net::SocketAddr, process::Stdio, time::Duration};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines},
    net::TcpStream,
    process::{Child, ChildStdout, Command},
    time::{Instant, sleep, timeout},
};

const METRICS: &str = env!("CARGO_BIN_EXE_metrics");
const RULES: &str = include_str!("../../../src/bin/metrics/alerts.yml");
const README: &str = include_str!("../../../src/bin/metrics/README.md");
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn every_metric_of_the_alerts_is_on_the_page() {
    let names = names(RULES);
    assert!(names.len() >= 7, "{names:?}");
    let folder = tempfile::tempdir().unwrap();
    let store = format!("sqlite:{}", folder.path().join("locks.db").display());
    let mut program = Command::new(METRICS)
        .args(["--store", &store])
        .env_remove("METRICS_LISTEN")
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(program.stdout.take().unwrap()).lines();
    let place = line(&mut lines).await;
    let place = place.strip_prefix("metrics: http://").unwrap();
    let place: SocketAddr = place.strip_suffix("/metrics").unwrap().parse().unwrap();
    // The first renewals and runs of tasks take a while.
    let started = Instant::now();
    let page = loop {
        let page = scrape(place).await;
        let missing: Vec<&String> = names.iter().filter(|name| !has(&page, name)).collect();
        if missing.is_empty()
            && page.contains("dlock_election_is_leader{election=\"background\"} 1")
        {
            break page;
        }
        assert!(
            started.elapsed() < PATIENCE,
            "{missing:?} are missing:\n{page}"
        );
        sleep(Duration::from_millis(100)).await;
    };
    // The name of a lock is not a label; its group is.
    assert!(page.contains("group=\"customers\""), "{page}");
    assert!(!page.contains("customer-1"), "{page}");
    assert!(line(&mut lines).await.starts_with("Gained"));
    interrupt(&mut program).await;
    let resigned = line(&mut lines).await;
    assert!(resigned.starts_with("Resigned"), "{resigned}");
}

/// The alerts and the README use only existing metrics.
#[test]
fn every_alert_is_explained_beside_it() {
    let alerts: Vec<&str> = RULES
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "))
        .collect();
    assert!(alerts.len() >= 4, "{alerts:?}");
    for alert in alerts {
        assert!(README.contains(&format!("`{alert}`")), "{alert}");
    }
}

/// The names of dlock's metrics in a text.
fn names(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words
        .filter(|word| word.starts_with("dlock_"))
        .map(str::to_owned)
        .collect()
}

fn has(page: &str, name: &str) -> bool {
    page.lines().any(|line| {
        let rest = line.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with(['{', ' ']))
    })
}

async fn line(lines: &mut Lines<BufReader<ChildStdout>>) -> String {
    let line = timeout(PATIENCE, lines.next_line()).await;
    line.unwrap().unwrap().unwrap()
}

/// One request, as Prometheus makes it.
async fn scrape(place: SocketAddr) -> String {
    let asking = async {
        let mut stream = TcpStream::connect(place).await.unwrap();
        let request = "GET /metrics HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n";
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).await.unwrap();
        page
    };
    let page = timeout(PATIENCE, asking).await.unwrap();
    assert!(page.starts_with("HTTP/1.1 200 OK"), "{page}");
    page
}

async fn interrupt(program: &mut Child) {
    let id = program.id().unwrap().to_string();
    let kill = Command::new("kill").args(["-INT", &id]).status().await;
    assert!(kill.unwrap().success());
    let ended = timeout(PATIENCE, program.wait()).await.unwrap().unwrap();
    assert!(ended.success(), "{ended}");
}
