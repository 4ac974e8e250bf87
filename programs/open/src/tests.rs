//! Texts that are locations, texts that are not, and how they are shown.

use std::{ffi::OsStr, fmt, fs, sync::Arc};

use async_trait::async_trait;
use dlock_core::ProviderError;
use dlock_testkit::memory::{MemoryProvider, MemoryStore};

use crate::{
    Location, Program, Store, StoreError,
    diagnosis::Diagnosis,
    location::{KINDS, Kind},
    tables::{Tables, TablesError},
};

pub(crate) const PROGRAM: Program = Program {
    name: "program",
    folder: "programs/name",
    set_up: "set up the locks",
    set_up_queue: "set up the queue",
    serves_many: false,
    warn: |warning| panic!("{warning}"),
};

fn locate(argument: &str) -> Result<Location, StoreError> {
    crate::locate(&PROGRAM, Some(OsStr::new(argument)))
}

const SECRET: &str = "hunter2";

fn refusal(argument: &str) -> String {
    let error = locate(argument).unwrap_err();
    assert!(!error.is_temporary(), "{argument}");
    format!("{error:?}")
}

#[test]
fn what_is_no_store_is_refused_without_being_repeated() {
    for wrong in [
        "hunter2",
        "hunter2@host",
        "/tmp/hunter2.db",
        "oracle://u:hunter2@host/db",
        "POSTGRES://u:hunter2@host/db",
        "u:hunter2@host",
        "postgres:u:hunter2@host",
        "postgres://u:hunter2@host:port/db",
        "postgres://u:x@hunter2@host/db",
        "postgres://u:x/hunter2@host/db",
        "postgres://u@host/db?password=hunter2&sslmode=never",
        "postgres://u:hunter2@host/db?hunter2",
        "postgres://u:hunter2@host/db?hunter2=1",
        "postgres://u:hunter2%FF@host/%FFhunter2",
        "redis:u:hunter2@host",
        "redis://:hunter2@",
        "redis://:hunter2@host/hunter2",
        "redis://:x@hunter2@host",
        "rediss://:hunter2@host/#insecure",
        "redis://:hunter2@host:hunter2",
        "redis://:hunter2@host?hunter2=1",
        "redis://:hunter2@host?allow_eviction=hunter2",
        "redis+sentinel://:hunter2@host",
        "redis+sentinel://:hunter2@host/",
        "redis+sentinel://:hunter2@/locks",
        "redis+sentinel://:hunter2@a,/locks",
        "redis+sentinel://:hunter2@a,b:port/locks",
        "redis+sentinel://:hunter2@host/locks/one",
        "redis+sentinel://:hunter2%@host/locks",
        "redis+sentinel://:hunter2@host/locks?hunter2=1",
        "redis+sentinel://:hunter2@host/locks?allow_eviction=hunter2",
        "rediss+sentinel://:hunter2@host/locks#insecure",
        "https://u:hunter2@host",
        "https://hunter2@host",
        "https://host/?hunter2=1",
        "https://host/#hunter2",
        "http:hunter2@host:port",
        "sqlite:locks.db?hunter2=1",
        "sqlite:locks.db?prefix=hunter2%ff",
        "etcd:hunter2@host",
        "etcd://hunter2@host",
        "etcd://u:x@hunter2@host",
        "etcd://u:x/hunter2@host",
        "etcd://u:hunter2%@host",
        "etcd://u:hunter2%FF@host",
        "etcd://u:hunter2@",
        "etcd://u:hunter2@a,",
        "etcd://u:hunter2@a,b:port",
        "etcd://host/hunter2",
        "etcd://[hunter2]",
        "etcds://host?hunter2=1",
        "etcds://host#hunter2",
        "s3:hunter2",
        "s3://",
        "s3://key:hunter2@bucket",
        "s3://bucket/a//hunter2",
        "s3://bucket/hunter2%",
        "s3://bucket#hunter2",
        "s3://bucket?account=hunter2",
        "s3://bucket?endpoint=hunter2",
        "s3://bucket?endpoint=https://key:hunter2@host",
        "azure://container?region=hunter2",
        "azure://container?hunter2",
        "kubernetes:hunter2",
        "kubernetes://",
        "kubernetes://hunter2.x",
        "kubernetes://Hunter2",
        "kubernetes://-hunter2",
        "kubernetes://me:hunter2@x",
        "kubernetes://x/hunter2",
        "kubernetes://x?hunter2=1",
        "kubernetes://x?context=hunter2%f",
        "mysql:hunter2@host/d",
        "mysql://u:x@hunter2@host/d",
        "mysql://u:x/hunter2@host/d",
        "mysql://u:hunter2@host",
        "mysql://u:hunter2@host/",
        "mysql://u:hunter2@/d",
        "mysql://u:hunter2@host:port/d",
        "mysql://u:hunter2@host/d/e",
        "mysql://host/d?hunter2=1",
        "mysql://host/d#hunter2",
        "mysql://host/d?sslmode=hunter2",
        "nats:hunter2@host/b",
        "nats://host/hunter2.x",
        "nats://u:x@hunter2@host/b",
        "nats://u:x/hunter2@host/b",
        "nats://u:hunter2%@host/b",
        "nats://u:hunter2@host",
        "nats://hunter2@/b",
        "nats://hunter2@host/b?creds=x",
        "nats://host/b?hunter2=1",
        "nats://host/b?replicas=hunter2",
        "nats://host/b?sslkey=hunter2",
        "nats://host/b#hunter2",
        "dynamodb:",
        "dynamodb:table?hunter2=x",
        "dynamodb:table?sort_key",
        "dynamodb:table?sort_key=s",
    ] {
        let text = refusal(wrong);
        assert!(!text.contains(SECRET), "{wrong}: {text}");
    }
}

#[test]
fn every_kind_is_known_and_opened_or_its_feature_is_named() {
    for kind in KINDS {
        for form in kind.form.split(" or ") {
            let scheme = form.split(':').next().unwrap();
            assert!(kind.schemes.contains(&scheme), "{form}");
            match (locate(&form.to_lowercase()), kind.parse) {
                (Ok(_), Some(_)) => {}
                (Err(error), None) => {
                    let (text, advice) =
                        (format!("{error:?}"), format!("--features {}", kind.feature));
                    assert!(text.contains(&advice), "{text}");
                }
                (result, _) => panic!("{form}: {result:?}"),
            }
        }
    }
}

/// A store that is added to the list can be built into each program, and is found on the pages that list stores.
#[test]
fn every_kind_has_its_feature_and_its_pages() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let read = |file: &str| fs::read_to_string(format!("{root}/{file}")).unwrap();
    for Kind {
        feature,
        settings,
        schemes,
        ..
    } in KINDS
    {
        for program in ["cli", "server"] {
            let line = format!("\n{feature} = [\"dlock-stores/{feature}\"]\n");
            assert!(
                read(&format!("programs/{program}/Cargo.toml")).contains(&line),
                "{program}: {feature}"
            );
        }
        assert!(
            read("Cargo.toml").contains(&format!("\n{feature} = [")),
            "the facade: {feature}"
        );
        assert!(
            settings.starts_with(&format!("  {}:", schemes[0])),
            "{settings}"
        );
        // A server is no store of its own.
        if *feature != "http" {
            for page in ["README.md", "book/src/stores.md"] {
                assert!(
                    read(page).contains(&format!("`{feature}`")),
                    "{page}: {feature}"
                );
            }
        }
    }
}

#[cfg(all(feature = "postgres", feature = "redis", feature = "dynamodb"))]
#[test]
fn location_is_shown_without_its_secrets() {
    for (argument, shown) in [
        (
            "postgresql://me:hunter2@db.example:5433/app?sslmode=require&application_name=hunter2",
            "postgres://me@db.example:5433/app",
        ),
        (
            "postgres://me:a%40hunter2@a,b:7/app?options=-c%20x%3Dhunter2",
            "postgres://me@a,b:7/app",
        ),
        (
            "postgres:///app?host=/run/postgresql&password=hunter2",
            "postgres:///run/postgresql/app",
        ),
        ("postgres://[::1]/app", "postgres://[::1]/app"),
        (
            "redis://:hunter2@cache.example",
            "redis://cache.example:6379/0",
        ),
        (
            "rediss://me:hunter2@cache.example:7000/3?protocol=resp3",
            "rediss://me@cache.example:7000/3",
        ),
        (
            "postgres://h/app?schema=ours&table=locks&prefix=a%2Fb&password=hunter2&user=me",
            "postgres://me@h/app?schema=ours&table=locks&prefix=a/b",
        ),
        (
            "redis://:hunter2@h?prefix=billing&allow_eviction=true&protocol=resp3",
            "redis://h:6379/0?prefix=billing",
        ),
        (
            "redis+sentinel://:hunter2@a,[::1]:7/locks?sentinel_user=me&sentinel_password=hunter2",
            "redis+sentinel://a:26379,[::1]:7/locks/0",
        ),
        (
            "rediss+sentinel://me:a%40hunter2@a/my%20locks/3?prefix=billing",
            "rediss+sentinel://me@a:26379/my locks/3?prefix=billing",
        ),
        ("sqlite:l.db?prefix=billing", "sqlite:l.db?prefix=billing"),
        ("dynamodb:locks", "dynamodb:locks"),
        (
            "dynamodb:locks?partition_key=p&sort_key=s&prefix=billing",
            "dynamodb:locks?partition_key=p&sort_key=s&prefix=billing",
        ),
        (
            "dynamodb:arn:aws:dynamodb:eu-central-1:123456789012:table/locks",
            "dynamodb:arn:aws:dynamodb:eu-central-1:123456789012:table/locks",
        ),
    ] {
        let location = locate(argument).unwrap();
        assert_eq!(location.to_string(), shown);
        assert!(!format!("{location:?}").contains(SECRET), "{location:?}");
    }
}

/// Without reading the environment: its `PGSSLMODE` may have another value.
#[test]
fn location_tells_how_what_is_said_is_protected() {
    let protection = |argument: &str| locate(argument).unwrap().encryption();
    let mut cases = Vec::new();
    if cfg!(feature = "sqlite") {
        cases.push(("sqlite:locks.db", "Local"));
    }
    if cfg!(feature = "redis") {
        cases.push(("redis://127.0.0.1", "Local"));
        cases.push(("redis://cache.example", "None"));
        cases.push(("rediss://cache.example", "Checked"));
        cases.push(("redis+sentinel://127.0.0.1/cache", "None"));
        cases.push(("rediss+sentinel://a.example,b.example/cache", "Checked"));
    }
    if cfg!(feature = "mysql") {
        cases.push(("mysql://u@127.0.0.1/d", "Local"));
        cases.push(("mysql://u@[::1]/d?sslmode=require", "Local"));
        cases.push(("mysql://u@db.example/d", "None"));
        cases.push(("mysql://u@db.example/d?sslmode=require", "Unchecked"));
        cases.push(("mysql://u@db.example/d?sslrootcert=system", "Checked"));
        cases.push(("mysql://u@db.example/d?sslrootcert=roots.pem", "Checked"));
    }
    if cfg!(feature = "nats") {
        cases.push(("nats://localhost,[::1]:4222/locks", "Local"));
        cases.push(("nats://localhost,b.example/locks", "Unchecked"));
        cases.push(("natss://a.example/locks", "Checked"));
    }
    if cfg!(feature = "etcd") {
        cases.push(("etcd://localhost,[::1]:2379", "Local"));
        cases.push(("etcd://localhost,b.example", "None"));
        cases.push(("etcds://a.example", "Checked"));
    }
    if cfg!(feature = "http") {
        cases.push(("http://localhost:7420", "Local"));
        cases.push(("http://locks.example", "None"));
        cases.push(("https://locks.example", "Checked"));
    }
    if cfg!(feature = "postgres") {
        cases.push(("postgres://u@127.0.0.1/d?sslmode=prefer", "Local"));
        cases.push(("postgres://u@db.example/d?sslmode=disable", "None"));
        cases.push(("postgres://u@db.example/d?sslmode=prefer", "Unchecked"));
    }
    for (argument, expected) in cases {
        let shown = format!("{:?}", protection(argument).unwrap());
        assert!(shown.starts_with(expected), "{argument}: {shown}");
    }
}

/// Both files or neither, and over TLS only.
#[test]
fn certificate_without_its_key_or_without_tls_is_refused() {
    let mut schemes = Vec::new();
    if cfg!(feature = "redis") {
        schemes.push("redis");
    }
    if cfg!(feature = "etcd") {
        schemes.push("etcd");
    }
    for scheme in schemes {
        let files = "sslcert=c.pem&sslkey=k.pem";
        assert!(locate(&format!("{scheme}s://h?{files}")).is_ok());
        let plain = refusal(&format!("{scheme}://h?{files}"));
        assert!(plain.contains(&format!("use {scheme}s://")), "{plain}");
        for half in ["sslcert=c.pem", "sslkey=k.pem"] {
            let half = refusal(&format!("{scheme}s://h?{half}"));
            assert!(half.contains("without its key"), "{half}");
        }
    }
}

#[cfg(feature = "etcd")]
#[test]
fn members_of_an_etcd_are_shown_without_the_password() {
    for (argument, shown) in [
        ("etcd://h", "etcd://h:2379"),
        ("etcd://h/", "etcd://h:2379"),
        (
            "etcds://me:a%40hunter2@a,b.example:7,[::1],[::1]:8?prefix=a%2Fb",
            "etcds://me@a:2379,b.example:7,[::1]:2379,[::1]:8?prefix=a/b",
        ),
    ] {
        let location = locate(argument).unwrap();
        assert_eq!(location.to_string(), shown);
        assert!(!format!("{location:?}").contains(SECRET), "{location:?}");
        assert!(!location.has_queues());
    }
}

#[cfg(feature = "kubernetes")]
#[test]
fn namespace_is_shown_with_what_leads_to_it() {
    for (argument, shown) in [
        ("kubernetes://team-7", "kubernetes://team-7"),
        ("kubernetes://7/", "kubernetes://7"),
        (
            "kubernetes://n?prefix=a%2Fb&context=c&kubeconfig=%2Fk%20k",
            "kubernetes://n?kubeconfig=/k k&context=c&prefix=a/b",
        ),
    ] {
        let location = locate(argument).unwrap();
        assert_eq!(location.to_string(), shown);
        assert!(!location.has_queues());
    }
}

#[cfg(feature = "mysql")]
#[test]
fn database_of_mysql_is_shown_without_the_password() {
    for (argument, shown) in [
        ("mysql://me:hunter2@h/app", "mysql://me@h/app"),
        (
            "mysql://me:a%40hunter2@db.example:3307/app?table=other.locks&prefix=a%2Fb&connections=8",
            "mysql://me@db.example:3307/app?table=other.locks&prefix=a/b",
        ),
        ("mysql://me@[::1]:7/app", "mysql://me@[::1]:7/app"),
    ] {
        let location = locate(argument).unwrap();
        assert_eq!(location.to_string(), shown);
        assert!(!format!("{location:?}").contains(SECRET), "{location:?}");
        assert!(!location.has_queues());
    }
}

#[cfg(feature = "nats")]
#[test]
fn bucket_of_nats_is_shown_without_what_opens_it() {
    for (argument, shown) in [
        ("nats://h/locks", "nats://h:4222/locks"),
        ("nats://hunter2@h/locks", "nats://h:4222/locks"),
        (
            "nats://h/locks?creds=hunter2&replicas=3",
            "nats://h:4222/locks",
        ),
        (
            "natss://me:a%40hunter2@a,[::1]:8/locks?prefix=a%2Fb&sslcert=hunter2&sslkey=hunter2",
            "natss://me@a:4222,[::1]:8/locks?prefix=a/b",
        ),
    ] {
        let location = locate(argument).unwrap();
        assert_eq!(location.to_string(), shown);
        assert!(!format!("{location:?}").contains(SECRET), "{location:?}");
        assert!(!location.has_queues());
    }
}

#[cfg(feature = "object-store")]
#[test]
fn buckets_are_shown_with_their_folders() {
    for (argument, shown) in [
        ("s3://b", "s3://b/dlock"),
        ("s3://b/", "s3://b/dlock"),
        ("s3://b/apps/locks/", "s3://b/apps/locks"),
        (
            "s3://b/a%20b?region=eu-west-1&endpoint=https://h:1/x",
            "s3://b/a b?endpoint=https://h:1/x&region=eu-west-1",
        ),
        ("azure://c/locks?account=me", "azure://c/locks?account=me"),
    ] {
        let location = locate(argument).unwrap();
        assert_eq!(location.to_string(), shown);
        assert!(!location.has_queues());
    }
}

type State = fn() -> Result<(), TablesError>;

/// Tables in this state.
struct Prepared(State);

#[async_trait]
impl Tables for Prepared {
    async fn make(&self) -> Result<(), TablesError> {
        self.0()
    }

    async fn check(&self) -> Result<(), TablesError> {
        self.0()
    }
}

/// The message for such an error of a store with such tables, and whether it is a matter of time.
async fn told(tables: State, error: ProviderError) -> (bool, String) {
    let store = Store {
        provider: Arc::new(MemoryProvider::new(&MemoryStore::store_clock())),
        seen: None,
        encryption: None,
        diagnosis: Diagnosis {
            shown: "memory".into(),
            tables: Some(Arc::new(Prepared(tables))),
            if_silent: "is it up?",
            is_refusal: |error| error.is::<fmt::Error>(),
            probe: None,
            set_up: PROGRAM.set_up,
        },
    };
    let error = store.failure("can't", error).await;
    (error.is_temporary(), format!("{error:?}"))
}

#[tokio::test]
async fn kind_of_error_and_state_of_the_tables_decide_what_is_told() {
    for error in [ProviderError::unknown("x"), ProviderError::not_applied("x")] {
        let (temporary, text) = told(|| Ok(()), error).await;
        assert!(temporary, "{text}");
        assert!(text.contains("is it up?"), "{text}");
    }
    let refusal = ProviderError::not_applied("x").with_source(fmt::Error);
    let (temporary, text) = told(|| Ok(()), refusal).await;
    assert!(temporary, "{text}");
    assert!(
        text.contains("refuses") && !text.contains("is it up?"),
        "{text}"
    );
    let states: [(State, &str); 4] = [
        (|| Ok(()), "refused"),
        (|| Err(TablesError::Missing("none".into())), PROGRAM.set_up),
        (|| Err(TablesError::Wrong("another".into())), "another"),
        (
            || Err(TablesError::Store(ProviderError::fatal("x"))),
            "refused",
        ),
    ];
    for (state, words) in states {
        let (temporary, text) = told(state, ProviderError::fatal("refused")).await;
        assert!(!temporary, "{text}");
        assert!(text.contains(words), "{text}");
    }
}

#[cfg(feature = "http")]
#[tokio::test]
async fn server_that_does_not_know_the_client_is_given_a_token_by_the_environment() {
    let location = locate("http://127.0.0.1:1").unwrap();
    let diagnosis = Diagnosis {
        shown: location.to_string(),
        tables: None,
        if_silent: "is it up?",
        is_refusal: |_| false,
        probe: None,
        set_up: PROGRAM.set_up,
    };
    let error = ProviderError::fatal("x").with_source(dlock_http::Unauthenticated);
    let error = diagnosis.failure("can't", error).await;
    assert!(!error.is_temporary());
    let advice = error.advice().unwrap();
    assert!(advice.contains("DLOCK_SERVER_TOKEN"), "{advice}");
}
