//! Locks in a real PostgreSQL database.
#![expect(clippy::unwrap_used, reason = "in a test, that is how it fails")]

use std::{
    fs, io,
    os::unix::fs::PermissionsExt,
    path::Path,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

use dlock_postgres::deadpool_postgres::tokio_postgres::{Config, NoTls};
use dlock_test_servers::{Service, certificates::Certificates, postgres::postgres};

use crate::support::{
    Scene,
    looking::{healthy_store_is_told_so, store_is_found_wrong, store_is_measured_and_left_clean},
    stores::{
        PURGE, RELEASE, RUN, SECRET, SETUP, STATUS, STATUS_OF_ONE, TRY, assert_all_end,
        assert_ended, block_on, candidates_lead_in_turn,
        command_ends_before_its_lease_when_the_store_is_gone, commands_take_turns,
        force_frees_at_once, freeze, killed_holder_is_followed, nothing_is_purged,
        prefixes_are_stores_of_their_own, revoked_holder_ends_before_the_next_one,
        secret_is_told_to_nobody, set_up, status_tells_who_holds_what,
        two_setups_at_once_disturb_nobody,
    },
    tickets::{holder_gives_back_when_asked, ticket_holds_from_one_command_to_the_next},
};

fn start(settings: &[&str]) -> Service {
    let service = block_on(postgres(settings))
        .unwrap_or_else(|error| panic!("no PostgreSQL server; scripts/test installs it: {error}"));
    let login = format!("CREATE ROLE guarded LOGIN PASSWORD '{SECRET}'");
    execute(&service, &login);
    service
}

/// The server that tests share which do no harm to it.
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

/// A database of a test's own.
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

fn at(url: String) -> Scene {
    Scene::with(vec![("DLOCK_STORE", url)])
}

/// A scene on a new database with its tables.
fn scene(service: &Service) -> Scene {
    let scene = at(url(service, &format!("guarded:{SECRET}"), ""));
    set_up(&scene);
    scene
}

#[test]
fn commands_never_run_at_the_same_time() {
    commands_take_turns(&scene(shared()));
}

#[test]
fn waiter_follows_a_killed_holder() {
    killed_holder_is_followed(&scene(shared()));
}

#[test]
fn operator_releases_a_lock() {
    revoked_holder_ends_before_the_next_one(&scene(shared()));
}

#[test]
fn operator_releases_a_lock_by_force() {
    force_frees_at_once(&scene(shared()));
}

#[test]
fn ticket_holds_a_lock() {
    ticket_holds_from_one_command_to_the_next(&scene(shared()));
}

#[test]
fn holder_that_is_asked_gives_back() {
    holder_gives_back_when_asked(&scene(shared()));
}

#[test]
fn store_is_examined_and_measured() {
    let scene = scene(shared());
    healthy_store_is_told_so(&scene);
    store_is_measured_and_left_clean(&scene);
}

#[test]
fn purge_leaves_what_is_not_old() {
    nothing_is_purged(&scene(shared()));
}

#[test]
fn candidates_lead_one_after_the_other() {
    candidates_lead_in_turn(&scene(shared()));
}

#[test]
fn status_shows_the_records() {
    status_tells_who_holds_what(&scene(shared()), true);
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
    // The tables of others were not made.
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
        &["lacks a right"],
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
    assert_all_end(&scene, &[TRY, RUN, STATUS, SETUP], 69, &["does not answer"]);
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

/// A server with TLS, and a way to it.
struct Tls {
    service: Service,
    certificates: Certificates,
    _folder: tempfile::TempDir,
}

impl Tls {
    fn start(make: fn(&Path, &str) -> io::Result<Certificates>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let certificates = make(&folder.path().join("tls"), "localhost").unwrap();
        let certificates = certificates.for_postgres().unwrap();
        let service = start(&[
            "ssl=on",
            &format!("ssl_cert_file={}", certificates.certificate.display()),
            &format!("ssl_key_file={}", certificates.key.display()),
            // Of clients that show one.
            &format!("ssl_ca_file={}", certificates.authority.display()),
        ]);
        Self {
            service,
            certificates,
            _folder: folder,
        }
    }

    /// A scene on a new database that only lets in clients that come over TLS, unless `plain`.
    fn scene(&self, query: &str) -> Scene {
        let url = url(&self.service, &format!("guarded:{SECRET}"), query);
        at(url.replace("127.0.0.1", "localhost"))
    }

    fn root(&self) -> String {
        self.certificates.authority.display().to_string()
    }
}

/// Whether the sessions of this program are encrypted.
fn is_encrypted(tls: &Tls, scene: &Scene) -> bool {
    has(tls, scene, "ssl")
}

/// Whether the server says so of all sessions of this program, which holds a lock meanwhile; or of none.
fn has(tls: &Tls, scene: &Scene, what: &str) -> bool {
    set_up(scene);
    let holder = scene.run(&[], r#"echo in >> "$T/trace"; sleep 60"#);
    scene.await_trace("in");
    let mut config = Config::new();
    config
        .host("127.0.0.1")
        .port(tls.service.place().port())
        .user("postgres")
        .dbname("postgres");
    let url = url_of(scene);
    let (url, _) = url.split_once('?').unwrap_or((&url, ""));
    let (_, name) = url.rsplit_once('/').unwrap();
    let sessions: Vec<bool> = block_on(async {
        let (client, connection) = config.connect(NoTls).await.unwrap();
        let driving = tokio::spawn(connection);
        let query = format!(
            "SELECT {what} FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
             WHERE application_name = 'dlock' AND datname = $1"
        );
        let rows = client.query(&query, &[&name]).await.unwrap();
        driving.abort();
        rows.iter().map(|row| row.get(0)).collect()
    });
    drop(holder);
    assert!(!sessions.is_empty());
    assert!(sessions.iter().all(|session| *session == sessions[0]));
    sessions[0]
}

#[test]
fn certificate_says_who_one_is() {
    let tls = Tls::start(Certificates::new);
    let by = |certificates: &Certificates, key: &Path| {
        let certificate = certificates.certificate.display();
        format!(
            "?sslmode=require&sslcert={certificate}&sslkey={}",
            key.display()
        )
    };
    let known = "client_dn IS NOT NULL";
    let ours = &tls.certificates;
    assert!(has(&tls, &tls.scene(&by(ours, &ours.key)), known));
    assert!(!has(&tls, &tls.scene("?sslmode=require"), known));
    let by_variable = Scene::with(vec![
        ("PGSSLCERT", ours.certificate.display().to_string()),
        ("PGSSLKEY", ours.key.display().to_string()),
        ("DLOCK_STORE", url_of(&tls.scene("?sslmode=require"))),
    ]);
    assert!(has(&tls, &by_variable, known));
    // Of an authority that the server does not know.
    let folder = tempfile::tempdir().unwrap();
    let stranger = Certificates::new(folder.path(), "localhost").unwrap();
    let refused = tls.scene(&by(&stranger, &stranger.key)).finish(SETUP);
    assert_ne!(refused.code(), 0, "{refused:?}");
    let swapped = tls.scene(&by(ours, &stranger.key)).finish(SETUP);
    assert_ended(&swapped, 78, "no certificate with its key");
    let absent = tls
        .scene(&by(ours, Path::new("/no/such/file")))
        .finish(SETUP);
    assert_ended(&absent, 78, "can't read /no/such/file");
    let half = format!("?sslcert={}", ours.certificate.display());
    assert_ended(&tls.scene(&half).finish(SETUP), 78, "without its key");
}

#[test]
fn sslmode_means_what_it_means_to_postgres() {
    let tls = Tls::start(Certificates::new);
    let root = tls.root();
    // Nothing to trust: encrypted all the same.
    assert!(!is_encrypted(&tls, &tls.scene("?sslmode=disable")));
    for query in ["", "?sslmode=prefer", "?sslmode=require"] {
        assert!(is_encrypted(&tls, &tls.scene(query)), "{query}");
    }
    for mode in ["prefer", "require", "verify-ca", "verify-full"] {
        let query = format!("?sslmode={mode}&sslrootcert={root}");
        assert!(is_encrypted(&tls, &tls.scene(&query)), "{query}");
    }
    let by_variable = Scene::with(vec![
        ("PGSSLMODE", "verify-full".into()),
        ("PGSSLROOTCERT", root.clone()),
        ("DLOCK_STORE", url_of(&tls.scene(""))),
    ]);
    assert!(is_encrypted(&tls, &by_variable));
    let by_system = Scene::with(vec![
        ("SSL_CERT_FILE", root),
        ("DLOCK_STORE", url_of(&tls.scene("?sslrootcert=system"))),
    ]);
    assert!(is_encrypted(&tls, &by_system));
}

#[test]
fn server_that_proves_nothing_is_78() {
    let tls = Tls::start(Certificates::new);
    let folder = tempfile::tempdir().unwrap();
    let stranger = Certificates::new(folder.path(), "localhost")
        .unwrap()
        .authority;
    let (root, stranger) = (tls.root(), stranger.display().to_string());
    let subcommands = &[TRY, STATUS, SETUP][..];
    for mode in ["prefer", "require", "verify-ca", "verify-full"] {
        let scene = tls.scene(&format!("?sslmode={mode}&sslrootcert={stranger}"));
        assert_all_end(&scene, subcommands, 78, &["certificate"]);
    }
    let elsewhere = |mode: &str| {
        let scene = tls.scene(&format!("?sslmode={mode}&sslrootcert={root}"));
        let url = url_of(&scene);
        at(url.replace("localhost", "127.0.0.1"))
    };
    assert_all_end(&elsewhere("verify-full"), subcommands, 78, &["certificate"]);
    set_up(&elsewhere("verify-ca"));
    let nothing = tls.scene("?sslmode=verify-full&sslrootcert=/no/such/file");
    assert_all_end(&nothing, &[TRY], 78, &["/no/such/file"]);
    let nobody = tls.scene("?sslmode=verify-full");
    assert_all_end(&nobody, &[TRY], 78, &["sslrootcert"]);
}

#[test]
fn certificate_that_a_server_signed_itself_can_be_its_own_root() {
    let tls = Tls::start(Certificates::of_itself);
    let query = |mode: &str| format!("?sslmode={mode}&sslrootcert={}", tls.root());
    assert!(is_encrypted(&tls, &tls.scene(&query("verify-full"))));
    let scene = tls.scene(&query("verify-full"));
    let url = url_of(&scene);
    let elsewhere = at(url.replace("localhost", "127.0.0.1"));
    assert_all_end(&elsewhere, &[TRY], 78, &["certificate"]);
}

#[test]
fn server_without_tls_is_78_where_tls_is_required() {
    let plain = |query: &str| at(url(shared(), &format!("guarded:{SECRET}"), query));
    assert_all_end(
        &plain("?sslmode=require"),
        &[TRY, RUN, STATUS, SETUP],
        78,
        &["TLS"],
    );
    set_up(&plain("?sslmode=prefer"));
}

#[test]
fn password_is_told_to_nobody_over_tls_either() {
    let tls = Tls::start(Certificates::new);
    let scene = tls.scene(&format!("?sslmode=verify-full&sslrootcert={}", tls.root()));
    set_up(&scene);
    secret_is_told_to_nobody(&scene);
}
