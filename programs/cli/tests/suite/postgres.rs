//! Locks in a real PostgreSQL database.
#![expect(clippy::unwrap_used, reason = "in a test, that is how it fails")]

mod tls;

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

use dlock_postgres::deadpool_postgres::tokio_postgres::{Config, NoTls};
use dlock_test_servers::{Service, postgres::postgres};

use crate::support::{
    Scene, at,
    looking::store_is_found_wrong,
    stores::{
        PURGE, RELEASE, RUN, SECRET, SETUP, STATUS, STATUS_OF_ONE, TRY, all_end_without_an_answer,
        assert_all_end, assert_ended, block_on,
        command_ends_before_its_lease_when_the_store_is_gone, freeze,
        prefixes_are_stores_of_their_own, release_wakes_a_waiter_that_listens,
        secret_is_told_to_nobody, set_up, two_setups_at_once_disturb_nobody,
    },
    stories::shared_stories,
};

fn start(settings: &[&str]) -> Service {
    let service = block_on(postgres(settings))
        .unwrap_or_else(|error| panic!("no PostgreSQL server; scripts/test installs it: {error}"));
    let login = format!("CREATE ROLE guarded LOGIN PASSWORD '{SECRET}'");
    execute(&service, &login);
    service
}

/// The server shared by tests that do no harm to it.
pub(crate) fn shared() -> &'static Service {
    static SERVER: OnceLock<Service> = OnceLock::new();
    SERVER.get_or_init(|| start(&[]))
}

fn execute(service: &Service, sql: &str) {
    execute_in(service, "postgres", sql);
}

pub(crate) fn execute_in(service: &Service, database: &str, sql: &str) {
    let mut config = Config::new();
    config
        .host("127.0.0.1")
        .port(service.place().port())
        .user("postgres")
        .dbname(database);
    block_on(async {
        let (client, connection) = config.connect(NoTls).await.unwrap();
        let driving = tokio::spawn(connection);
        client.batch_execute(sql).await.unwrap();
        driving.abort();
    });
}

/// A test's own database.
fn database(service: &Service) -> String {
    static DATABASES: AtomicU32 = AtomicU32::new(0);
    let name = format!("app{}", DATABASES.fetch_add(1, Ordering::Relaxed));
    execute(service, &format!("CREATE DATABASE {name} OWNER guarded"));
    name
}

/// The URL of a new database, with these credentials and this end.
pub(crate) fn url(service: &Service, credentials: &str, end: &str) -> String {
    let (port, name) = (service.place().port(), database(service));
    format!("postgres://{credentials}@127.0.0.1:{port}/{name}{end}")
}

fn url_of(scene: &Scene) -> String {
    let variables = scene.environment();
    let store = variables
        .into_iter()
        .rfind(|(name, _)| *name == "DLOCK_STORE");
    store.unwrap().1
}

/// A scene on a new database with its tables.
fn scene(service: &Service) -> Scene {
    let scene = at(url(service, &format!("guarded:{SECRET}"), ""));
    set_up(&scene);
    scene
}

shared_stories!(scene(shared()), clock: true);

#[test]
fn waiter_that_listens_is_woken() {
    release_wakes_a_waiter_that_listens(&scene(shared()));
}

#[test]
fn password_is_told_to_nobody() {
    secret_is_told_to_nobody(&scene(shared()));
}

#[test]
fn missing_tables_are_78_until_they_are_set_up() {
    let scene = at(url(shared(), &format!("guarded:{SECRET}"), ""));
    assert_all_end(
        &scene,
        &[TRY, RUN, STATUS, STATUS_OF_ONE, RELEASE, PURGE],
        78,
        &["dlock setup"],
    );
    let doctor = scene.finish(["doctor"]);
    assert_ended(&doctor, 78, "");
    assert!(doctor.out.contains("WRONG   tables"), "{doctor:?}");
    assert!(doctor.out.contains("'dlock setup'"), "{doctor:?}");
    set_up(&scene);
    assert_ended(&scene.finish(RUN), 0, "");
}

#[test]
fn encoding_that_lacks_characters_is_reported() {
    let name = "app_in_latin";
    let made = "OWNER guarded ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0";
    execute(shared(), &format!("CREATE DATABASE {name} {made}"));
    let port = shared().place().port();
    let scene = at(format!(
        "postgres://guarded:{SECRET}@127.0.0.1:{port}/{name}"
    ));
    set_up(&scene);
    let doctor = scene.finish(["doctor"]);
    assert_ended(&doctor, 0, "");
    assert!(doctor.out.contains("encoding \"LATIN1\""), "{doctor:?}");
}

#[test]
fn two_setups_at_once_leave_holders_their_leases() {
    let scene = at(url(shared(), &format!("guarded:{SECRET}"), ""));
    two_setups_at_once_disturb_nobody(&scene, || {
        let url = url_of(&scene);
        let (_, name) = url.rsplit_once('/').unwrap();
        execute_in(shared(), name, "DROP FUNCTION dlock.lock_close_1");
    });
}

#[test]
fn schema_table_and_prefix_are_as_the_store_says() {
    let url = url(shared(), &format!("guarded:{SECRET}"), "");
    let on = |query: &str| at(format!("{url}{query}"));
    let ours = on("?schema=ours&table=our-locks&prefix=a");
    set_up(&ours);
    prefixes_are_stores_of_their_own(&ours, &on("?schema=ours&table=our-locks&prefix=b"));
    // The tables of others were not created.
    assert_all_end(&on("?schema=ours"), &[TRY], 78, &[r#""ours"."lock""#]);
    assert_all_end(&on(""), &[TRY], 78, &[r#""dlock"."lock""#]);
    assert_all_end(
        &on("?table=no%22name"),
        &[TRY],
        78,
        &["cannot name a table"],
    );
}

#[test]
fn foreign_table_and_a_missing_right_are_78() {
    let foreign = at(url(shared(), "postgres", ""));
    set_up(&foreign);
    let url = url_of(&foreign);
    let name = url.rsplit_once('/').unwrap().1;
    let other = at(url.replace("postgres@", &format!("guarded:{SECRET}@")));
    assert_all_end(
        &other,
        &[TRY, STATUS, RELEASE, PURGE],
        78,
        &["lacks a right", "to purge DELETE"],
    );
    execute_in(shared(), name, "ALTER TABLE dlock.lock DROP COLUMN token");
    assert_all_end(&foreign, &[TRY, STATUS, SETUP], 78, &["token"]);
}

#[test]
fn wrong_password_user_and_database_are_78() {
    let all = &[TRY, RUN, STATUS, SETUP][..];
    let right = url(shared(), &format!("guarded:{SECRET}"), "");
    let wrong = at(right.replace(SECRET, &format!("wrong-{SECRET}")));
    assert_all_end(&wrong, all, 78, &["password"]);
    let once = wrong.finish(STATUS).err;
    assert!(once.ends_with(
        "can't be used: the database refused the user or the password: FATAL: password authentication failed for user \"guarded\"\n"
    ), "{once}");
    let nobody = at(right.replace("guarded:", "nobody-we-know:"));
    assert_all_end(&nobody, &[TRY], 78, &["user"]);
    let nowhere = at(format!("{right}-of-nobody"));
    assert_all_end(&nowhere, &[TRY], 78, &["does not exist"]);
}

#[test]
fn password_may_come_from_the_environment_or_the_password_file() {
    let url = url(shared(), "guarded", "");
    let none = at(url.clone());
    assert_all_end(&none, &[TRY], 78, &["password is missing"]);
    let variable = Scene::with(vec![
        ("DLOCK_STORE", url.clone()),
        ("PGPASSWORD", SECRET.to_owned()),
    ]);
    set_up(&variable);
    secret_is_told_to_nobody(&variable);
    let file = at(url);
    fs::write(
        file.path(".pgpass"),
        format!("127.0.0.1:*:*:guarded:{SECRET}\n"),
    )
    .unwrap();
    fs::set_permissions(file.path(".pgpass"), fs::Permissions::from_mode(0o644)).unwrap();
    assert_all_end(&file, &[TRY], 78, &["chmod 600"]);
    fs::set_permissions(file.path(".pgpass"), fs::Permissions::from_mode(0o600)).unwrap();
    assert_ended(&file.finish(TRY), 0, "");
}

#[test]
fn server_that_dies_ends_the_command_and_newcomers_are_69() {
    let mut service = start(&[]);
    let scene = scene(&service);
    command_ends_before_its_lease_when_the_store_is_gone(&scene, || {
        service.signal("KILL").unwrap();
    });
}

#[test]
fn server_that_falls_silent_is_69_in_bounded_time() {
    let mut service = start(&[]);
    let scene = scene(&service);
    freeze(&mut service);
    all_end_without_an_answer(&scene);
    store_is_found_wrong(&scene, 69, "does not answer");
}

#[test]
fn database_that_is_not_there_is_78() {
    let url = url(shared(), &format!("guarded:{SECRET}"), "");
    let (server, _) = url.rsplit_once('/').unwrap();
    let scene = at(format!("{server}/nowhere"));
    assert_all_end(&scene, &[TRY, STATUS, SETUP], 78, &["does not exist"]);
    store_is_found_wrong(&scene, 78, "does not exist");
}

#[test]
fn server_that_takes_no_writes_is_69_and_says_why() {
    let service = start(&[]);
    let scene = scene(&service);
    for (setting, value, why) in [
        ("default_transaction_read_only", "on", "set read-only"),
        ("synchronous_standby_names", "gone", "synchronous standby"),
    ] {
        let empty = at(url(&service, &format!("guarded:{SECRET}"), ""));
        execute(&service, &format!("ALTER SYSTEM SET {setting} = '{value}'"));
        execute(&service, "SELECT pg_reload_conf()");
        assert_all_end(&scene, &[TRY], 69, &[why]);
        assert_all_end(&empty, &[SETUP], 69, &[why]);
        assert_ended(&scene.finish(STATUS), 0, "");
        execute(&service, &format!("ALTER SYSTEM RESET {setting}"));
        execute(&service, "SELECT pg_reload_conf()");
    }
}

#[test]
fn server_that_refuses_for_now_is_69_and_says_why() {
    let service = start(&[]);
    let scene = scene(&service);
    execute(&service, "ALTER ROLE guarded CONNECTION LIMIT 0");
    let words = ["too many connections", "refuses for now"];
    assert_all_end(&scene, &[TRY, STATUS, SETUP], 69, &words);
}
