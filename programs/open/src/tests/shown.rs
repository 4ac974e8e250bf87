//! How locations are shown: without their secrets.

use super::{SECRET, locate, refusal};

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
