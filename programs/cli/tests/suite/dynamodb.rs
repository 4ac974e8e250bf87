//! Locks in a table of a compatible store, as an AWS program finds it: through its environment.
#![expect(clippy::unwrap_used, reason = "in a test, that is how it fails")]

use std::{
    fs,
    io::{Read, Write},
    net::TcpListener,
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::Duration,
};

use rustix::process::Signal;

use crate::support::{
    Scene, Stopwatch,
    stores::{
        PURGE, RELEASE, RUN, SECRET, SETUP, STATUS, STATUS_OF_ONE, TRY, all_end_without_an_answer,
        assert_all_end, assert_ended, block_on,
        command_ends_before_its_lease_when_the_store_is_gone, commands_take_turns,
        secret_is_told_to_nobody, set_up, two_setups_at_once_disturb_nobody,
    },
    stories::shared_stories,
    until,
};
use tokio::runtime::Runtime;

mod credentials;

/// A server of this process, until it is dropped.
struct Server {
    runtime: Option<Runtime>,
    url: String,
}

impl Server {
    fn start() -> Self {
        let database = dynoxide::Database::memory().unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let listener = block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let listener = listener.into_std().unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        runtime.spawn(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            dynoxide::server::serve_on(listener, database).await;
        });
        Self {
            runtime: Some(runtime),
            url,
        }
    }

    /// The variables that a program needs to use a table of this server.
    fn variables(&self, table: &str) -> Vec<(&'static str, String)> {
        variables(&self.url, table)
    }

    /// A scene on a new table.
    fn scene(&self, query: &str) -> Scene {
        static TABLES: AtomicU32 = AtomicU32::new(0);
        let n = TABLES.fetch_add(1, Ordering::Relaxed);
        Scene::with(self.variables(&format!("locks-{n}{query}")))
    }

    fn stop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn variables(url: &str, table: &str) -> Vec<(&'static str, String)> {
    vec![
        ("DLOCK_STORE", format!("dynamodb:{table}")),
        ("AWS_ENDPOINT_URL", url.to_owned()),
        ("AWS_REGION", "eu-central-1".into()),
        ("AWS_ACCESS_KEY_ID", "AKIDTEST".into()),
        ("AWS_SECRET_ACCESS_KEY", SECRET.into()),
        ("AWS_SESSION_TOKEN", format!("{SECRET}-of-the-session")),
        // Keeps it from querying a metadata service that may exist.
        ("AWS_EC2_METADATA_DISABLED", "true".into()),
    ]
}

fn without(variables: Vec<(&'static str, String)>, names: &[&str]) -> Scene {
    let kept = variables.into_iter();
    Scene::with(kept.filter(|(name, _)| !names.contains(name)).collect())
}

fn ready(scene: Scene) -> Scene {
    set_up(&scene);
    scene
}

shared_stories!(ready(Server::start().scene("")), clock: false);

/// The lock of a holder that was killed, in this scene.
fn left_by_a_dead_holder(scene: &Scene, lease: Duration) {
    let lease = format!("{}ms", lease.as_millis());
    let holder = scene.run(&["--lease", &lease], r#"echo held >> "$T/trace"; sleep 60"#);
    scene.await_trace("held");
    holder.signal(Signal::KILL);
}

/// A process that tries once: whether it was granted the lock.
fn is_granted(scene: &Scene) -> bool {
    let tried = scene.finish(TRY);
    let granted = tried.code() == 0;
    if !granted {
        assert_ended(&tried, 75, "no observation is old enough");
    }
    granted
}

#[test]
fn processes_that_ask_once_take_over_from_a_killed_holder() {
    let server = Server::start();
    let scene = ready(server.scene(""));
    let lease = Duration::from_secs(6);
    left_by_a_dead_holder(&scene, lease);
    let first = Stopwatch::start();
    assert_ended(&scene.finish(TRY), 75, "try again in ");
    until("a try that is granted", || {
        thread::sleep(lease / 6);
        is_granted(&scene).then_some(())
    });
    assert!(first.elapsed() >= lease, "{:?}", first.elapsed());
}

#[test]
fn observations_of_one_store_leave_those_of_another() {
    let server = Server::start();
    let shared = Scene::new();
    let state = shared.path("state").to_str().unwrap().to_owned();
    let on = |table: &str| {
        let mut variables = server.variables(table);
        variables.push(("XDG_STATE_HOME", state.clone()));
        ready(Scene::with(variables))
    };
    let scenes = [on("locks-a"), on("locks-b"), on("locks-b?prefix=c")];
    let lease = Duration::from_secs(6);
    for scene in &scenes {
        left_by_a_dead_holder(scene, lease);
    }
    // In turns, so that they would take one file from each other.
    let mut refused: Vec<_> = scenes.iter().collect();
    until("tries that are granted on each", || {
        thread::sleep(lease / 6);
        refused.retain(|scene| !is_granted(scene));
        refused.is_empty().then_some(())
    });
}

#[test]
fn what_can_not_be_kept_is_told() {
    let server = Server::start();
    let mut variables = server.variables("locks");
    let shut = Scene::new();
    // A file in place of the folder.
    fs::write(shut.path("state"), "").unwrap();
    let state = shut.path("state").to_str().unwrap().to_owned();
    variables.push(("XDG_STATE_HOME", state));
    let scene = ready(Scene::with(variables));
    let lease = Duration::from_secs(6);
    left_by_a_dead_holder(&scene, lease);
    assert_ended(&scene.finish(TRY), 75, "longer than 6s");
    thread::sleep(lease);
    assert_ended(&scene.finish(TRY), 75, "longer than 6s");
    let waits = ["run", "lock", "--wait", "60s", "--", "true"];
    assert_ended(&scene.finish(waits), 0, "");
}

#[test]
fn credentials_are_told_to_nobody() {
    let server = Server::start();
    secret_is_told_to_nobody(&ready(server.scene("")));
}

#[test]
fn missing_table_is_78_until_it_is_set_up() {
    let server = Server::start();
    let scene = server.scene("");
    assert_all_end(
        &scene,
        &[TRY, RUN, STATUS, STATUS_OF_ONE, RELEASE, PURGE],
        78,
        &["dlock setup"],
    );
    set_up(&scene);
    assert_ended(&scene.finish(RUN), 0, "");
}

#[test]
fn two_setups_at_once_leave_holders_their_leases() {
    let server = Server::start();
    two_setups_at_once_disturb_nobody(&server.scene(""), || {});
}

#[test]
fn keys_of_a_table_are_as_the_store_says() {
    let server = Server::start();
    let composite = ready(server.scene("?partition_key=app&sort_key=job&prefix=billing"));
    commands_take_turns(&composite);
    let store = composite.environment();
    let store = store.iter().rfind(|(name, _)| *name == "DLOCK_STORE");
    let (table, _) = store.unwrap().1.split_once('?').unwrap();
    let table = table.trim_start_matches("dynamodb:");
    // Another prefix is another set of locks; another key is another table.
    let other = format!("{table}?partition_key=app&sort_key=job&prefix=shipping");
    let other = Scene::with(server.variables(&other));
    assert_eq!(other.finish(STATUS).out, "no locks\n");
    let simple = Scene::with(server.variables(table));
    assert_all_end(&simple, &[TRY, SETUP], 78, &["has the key"]);
}

#[test]
fn region_and_credentials_that_are_missing_are_78() {
    let server = Server::start();
    let all = || server.variables("locks");
    let nowhere = without(all(), &["AWS_REGION"]);
    assert_all_end(&nowhere, &[TRY, STATUS, SETUP], 78, &["AWS_REGION"]);
    let nobody = without(all(), &["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]);
    assert_all_end(&nobody, &[TRY, STATUS, SETUP], 78, &["AWS_ACCESS_KEY_ID"]);
}

#[test]
fn profile_of_the_user_is_read() {
    let server = Server::start();
    let mut variables = server.variables("locks");
    variables.push(("AWS_PROFILE", "locker".into()));
    let scene = without(
        variables,
        &["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"],
    );
    let folder = scene.path(".aws");
    std::fs::create_dir(&folder).unwrap();
    let credentials =
        format!("[locker]\naws_access_key_id = AKIDTEST\naws_secret_access_key = {SECRET}\n");
    std::fs::write(folder.join("credentials"), credentials).unwrap();
    let config = "[profile locker]\nregion = eu-central-1\n";
    std::fs::write(folder.join("config"), config).unwrap();
    set_up(&scene);
    assert_ended(&scene.finish(RUN), 0, "");
    // The store's own profile takes precedence.
    let named = |profile: &str| {
        let mut command = scene.dlock(RUN);
        command.env("AWS_PROFILE", "nobody");
        command.env("DLOCK_STORE", format!("dynamodb:locks?profile={profile}"));
        scene.start(command).finish(Duration::from_secs(60))
    };
    assert_ended(&named("locker"), 0, "");
    assert_ended(&named("nobody"), 78, "");
}

/// IAM Identity Center with one login: a request with this token is answered with credentials.
fn identity_center(token: &'static str) -> String {
    answering(move |request| {
        if !request.contains(&format!("x-amz-sso_bearer_token: {token}")) {
            return (
                401,
                r#"{"message":"Session token not found or invalid"}"#.to_owned(),
            );
        }
        let answer = format!(
            r#"{{"roleCredentials":{{"accessKeyId":"AKIDSSO","secretAccessKey":"{SECRET}","sessionToken":"{SECRET}-of-the-session","expiration":4102444800000}}}}"#
        );
        (200, answer)
    })
}

#[test]
fn person_who_has_logged_in_by_sso_is_known() {
    let server = Server::start();
    let mut variables = server.variables("locks");
    variables.push(("AWS_PROFILE", "person".into()));
    variables.push(("AWS_ENDPOINT_URL_SSO", identity_center("of-today")));
    let scene = without(
        variables,
        &[
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
        ],
    );
    let cache = scene.path(".aws").join("sso/cache");
    fs::create_dir_all(&cache).unwrap();
    let config = "[profile person]\nsso_session = people\nsso_account_id = 123456789012\nsso_role_name = locker\n\
        [sso-session people]\nsso_region = eu-central-1\nsso_start_url = https://people.example/start\n";
    fs::write(scene.path(".aws").join("config"), config).unwrap();
    let logged_in = |token: &str, until: &str| {
        let login = format!(r#"{{"accessToken":"{token}","expiresAt":"{until}"}}"#);
        // The SHA-1 of the session's name.
        let file = "ab3ccc8dba2a0cf7a1ce4d830bb8a6238ff03833.json";
        fs::write(cache.join(file), login).unwrap();
    };
    assert_all_end(&scene, &[TRY], 69, &["aws sso login"]);
    logged_in("of-today", "2020-01-01T00:00:00Z");
    assert_all_end(&scene, &[TRY], 69, &["aws sso login"]);
    logged_in("of-another", "2099-01-01T00:00:00Z");
    assert_all_end(&scene, &[TRY], 69, &["aws sso login"]);
    logged_in("of-today", "2099-01-01T00:00:00Z");
    set_up(&scene);
    assert_ended(&scene.finish(RUN), 0, "");
}

/// A server that refuses every request with this code.
fn refusing(code: &'static str) -> String {
    answering(move |_| {
        let body = format!(r#"{{"__type":"com.amazonaws.dynamodb.v20120810#{code}"}}"#);
        (400, body)
    })
}

/// A JSON server: `answer` gives the status and the body for a request.
fn answering(answer: impl Fn(&str) -> (u16, String) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.unwrap();
            let mut request = [0; 65536];
            // One read is enough for a small request of this client; it closes its connection then.
            if let Ok(length) = client.read(&mut request) {
                let (status, body) = answer(&String::from_utf8_lossy(&request[..length]));
                let length = body.len();
                let head = "content-type: application/x-amz-json-1.0\r\nconnection: close";
                let answer = format!(
                    "HTTP/1.1 {status} -\r\n{head}\r\ncontent-length: {length}\r\n\r\n{body}"
                );
                client.write_all(answer.as_bytes()).ok();
            }
        }
    });
    url
}

#[test]
fn wrong_credentials_are_78() {
    for code in ["UnrecognizedClientException", "InvalidSignatureException"] {
        let scene = Scene::with(variables(&refusing(code), "locks"));
        assert_all_end(&scene, &[TRY, RUN, STATUS, SETUP], 78, &["credentials"]);
    }
    let scene = Scene::with(variables(&refusing("AccessDeniedException"), "locks"));
    assert_all_end(&scene, &[TRY], 78, &["dynamodb:UpdateItem"]);
}

#[test]
fn server_that_is_gone_ends_the_command_and_newcomers_are_69() {
    let mut server = Server::start();
    let scene = ready(server.scene(""));
    command_ends_before_its_lease_when_the_store_is_gone(&scene, || server.stop());
}

#[test]
fn server_that_says_nothing_is_69_in_bounded_time() {
    // The system makes the connections, but no process accepts them.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let scene = Scene::with(variables(&url, "locks"));
    all_end_without_an_answer(&scene);
}

#[test]
fn plain_server_is_not_taken_for_one_with_tls() {
    let url = refusing("None").replace("http://", "https://");
    let scene = Scene::with(variables(&url, "locks"));
    assert_all_end(&scene, &[TRY, STATUS, SETUP], 78, &["TLS"]);
}
