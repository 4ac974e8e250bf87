//! TLS between the program and PostgreSQL.
#![expect(clippy::unwrap_used, reason = "in a test, that is how it fails")]

use std::{io, path::Path};

use dlock_postgres::deadpool_postgres::tokio_postgres::{Config, NoTls};
use dlock_test_servers::{Service, certificates::Certificates};

use super::{shared, start, url, url_of};
use crate::support::{
    Scene, at,
    stores::{
        RUN, SECRET, SETUP, STATUS, TRY, assert_all_end, assert_ended, block_on,
        secret_is_told_to_nobody, set_up,
    },
    until,
};

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
            // For clients that show one.
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

/// Whether the server says so of all sessions of this program, which holds a lock meanwhile; or of no
/// session.
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
    let query = format!(
        "SELECT {what} FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
         WHERE application_name = 'dlock' AND datname = $1"
    );
    // A renewal without an answer in time closes its session, and the next one opens another.
    let sessions = until("a session", || {
        let sessions: Vec<bool> = block_on(async {
            let (client, connection) = config.connect(NoTls).await.unwrap();
            let driving = tokio::spawn(connection);
            let rows = client.query(&query, &[&name]).await.unwrap();
            driving.abort();
            rows.iter().map(|row| row.get(0)).collect()
        });
        (!sessions.is_empty()).then_some(sessions)
    });
    drop(holder);
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
    // From an authority that the server does not know.
    let folder = tempfile::tempdir().unwrap();
    let stranger = Certificates::new(folder.path(), "localhost").unwrap();
    let refused = tls.scene(&by(&stranger, &stranger.key)).finish(SETUP);
    let advice = "sslcert and sslkey name the files of this client's";
    assert_ended(&refused, 78, advice);
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
    // No authority to trust: encrypted all the same.
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
