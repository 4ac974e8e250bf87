//! Texts that are locations, and texts that are not.

mod diagnosis;
mod shown;

use std::{ffi::OsStr, fs};

use crate::{
    Location, Program, StoreError,
    location::{KINDS, Kind},
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
