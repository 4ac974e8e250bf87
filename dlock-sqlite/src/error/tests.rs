//! The kind, one of three, of each error of SQLite.

use rusqlite::ffi;

use super::*;

fn kind(code: i32) -> ErrorKind {
    provider_error(
        Path::new("l"),
        rusqlite::Error::SqliteFailure(ffi::Error::new(code), None),
    )
    .kind()
}

#[test]
fn kinds_follow_what_can_have_happened() {
    for code in [
        ffi::SQLITE_BUSY,
        ffi::SQLITE_BUSY_SNAPSHOT,
        ffi::SQLITE_LOCKED,
        ffi::SQLITE_PROTOCOL,
        ffi::SQLITE_FULL,
    ] {
        assert_eq!(kind(code), ErrorKind::NotApplied, "{code}");
    }
    for code in [
        ffi::SQLITE_IOERR,
        ffi::SQLITE_IOERR_FSYNC,
        ffi::SQLITE_NOMEM,
        ffi::SQLITE_INTERRUPT,
    ] {
        assert_eq!(kind(code), ErrorKind::Unknown, "{code}");
    }
    for code in [
        ffi::SQLITE_READONLY,
        ffi::SQLITE_READONLY_DBMOVED,
        ffi::SQLITE_CANTOPEN,
        ffi::SQLITE_NOTADB,
        ffi::SQLITE_CORRUPT,
        ffi::SQLITE_PERM,
        ffi::SQLITE_AUTH,
        ffi::SQLITE_CONSTRAINT,
        ffi::SQLITE_ERROR,
    ] {
        assert_eq!(kind(code), ErrorKind::Fatal, "{code}");
    }
    assert_eq!(
        provider_error(Path::new("l"), rusqlite::Error::QueryReturnedNoRows).kind(),
        ErrorKind::Fatal
    );
}

#[test]
fn full_disk_is_told_when_the_memory_of_the_log_has_no_room() {
    let error = rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_IOERR_SHMSIZE), None);
    let opened = OpenError::from_sqlite(Path::new("l"), error, Duration::ZERO);
    assert!(matches!(opened, OpenError::Full { .. }), "{opened:?}");
}

#[test]
fn proc_is_to_be_mounted_only_where_it_is_missing() {
    let advice = |source: io::ErrorKind| {
        let source = source.into();
        OpenError::Clock { source }.to_string().contains("mount")
    };
    assert!(advice(io::ErrorKind::NotFound) && !advice(io::ErrorKind::PermissionDenied));
}
