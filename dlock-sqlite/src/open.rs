//! Opening a lock file: finding whose it is, making it ours if it is empty, and the settings of a connection. A file of
//! another application is read and left as it was.

use std::{
    fs, io,
    path::Path,
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};

use rusqlite::{Connection, MAIN_DB, OpenFlags, TransactionBehavior, config::DbConfig};

use crate::{
    error::{OpenError, is_busy},
    file_system,
    files::{FileId, Files, has_log, links},
    synchronous::Synchronous,
};

/// `dlok`, in the header of every lock file.
const APPLICATION_ID: i64 = 0x646c_6f6b;
/// The layout that this release makes and understands.
const LAYOUT: i64 = 1;
/// How long an opening waits for others that open or change the file.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How often the file may be replaced during the opening, and how many links may lead to it; the first attempt at a new
/// file only makes it.
const ATTEMPTS: usize = 5;

/// The owner of a file.
enum Whose {
    Ours,
    Nobodys,
    Foreign,
    Newer { found: i64 },
}

/// Opens the file at this absolute path and makes it a lock file if it is new or empty. Any number
/// of processes may do so at once.
pub(crate) fn open(
    path: &Path,
    synchronous: Synchronous,
    any_file_system: bool,
) -> Result<(Connection, Files), OpenError> {
    for _ in 0..ATTEMPTS {
        let before = look(path)?;
        file_system::check(path, any_file_system)?;
        let Some(id) = before else {
            make(path)?;
            continue;
        };
        let connected = connect(path);
        // The path led to the connection's file both before and after.
        if !look(path).is_ok_and(|after| after == Some(id)) {
            continue;
        }
        let mut connection = connected?;
        claim(path, &mut connection)?;
        settle(&connection, synchronous)
            .map_err(|error| OpenError::from_sqlite(path, error, TIMEOUT))?;
        let files = Files::new(path, id).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => OpenError::Replaced {
                path: path.to_owned(),
            },
            _ => OpenError::other(path, error),
        })?;
        return Ok((connection, files));
    }
    Err(OpenError::Replaced {
        path: path.to_owned(),
    })
}

/// The file at the path, if there is one that may be a database.
fn look(path: &Path) -> Result<Option<FileId>, OpenError> {
    match fs::metadata(path) {
        // SQLite takes a file of one byte for an empty one, and would overwrite it.
        Ok(metadata) if metadata.is_file() && metadata.len() == 1 => Err(OpenError::NotADatabase {
            path: path.to_owned(),
        }),
        Ok(metadata) if metadata.is_file() => match links(&metadata) {
            0 | 1 => Ok(Some(FileId::from_metadata(&metadata))),
            links => Err(OpenError::Linked {
                path: path.to_owned(),
                links,
            }),
        },
        Ok(_) => Err(OpenError::Path {
            path: path.to_owned(),
            reason: "it is not a regular file",
        }),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound => Ok(None),
            io::ErrorKind::NotADirectory => Err(OpenError::NoDirectory {
                path: path.to_owned(),
            }),
            io::ErrorKind::PermissionDenied => Err(OpenError::Permission {
                path: path.to_owned(),
            }),
            _ => Err(OpenError::other(path, error)),
        },
    }
}

/// Makes the file, for its owner alone whatever the umask is, unless it exists. SQLite would let every user read it;
/// the companions that SQLite makes later have the file's mode.
///
/// Closing a file drops the locks that this process has on it (`files.rs`). So a file is made and closed before any
/// part of this process can open it: threads that make one take turns, and SQLite makes none.
pub(crate) fn make(path: &Path) -> Result<(), OpenError> {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut target = path.to_owned();
    for _ in 0..ATTEMPTS {
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let path = || path.to_owned();
        match options.open(&target).map_err(|error| error.kind()) {
            Ok(_) => return Ok(()),
            // A link that leads nowhere yet also counts as existing.
            Err(io::ErrorKind::AlreadyExists) => match fs::read_link(&target) {
                Ok(link) => target = target.parent().unwrap_or(Path::new("/")).join(link),
                Err(_) => return Ok(()),
            },
            Err(io::ErrorKind::NotFound) => return Err(OpenError::NoDirectory { path: path() }),
            Err(io::ErrorKind::PermissionDenied) => {
                return Err(OpenError::Permission { path: path() });
            }
            Err(kind) => return Err(OpenError::other(&path(), io::Error::from(kind))),
        }
    }
    Ok(())
}

/// A connection that has written nothing. If it is closed because the file is another program's, a log that this
/// program left there stays as it is (SQLite would move it into the database); an empty log is only the trace of our
/// read, and is deleted.
fn connect(path: &Path) -> Result<Connection, OpenError> {
    // No URI: a path is a path. No mutex: one thread at a time has the connection.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, has_log(path))?;
        connection.busy_timeout(TIMEOUT)?;
        Ok(connection)
    };
    open().map_err(|error| OpenError::from_sqlite(path, error, TIMEOUT))
}

/// Checks that the file is ours and that we may write it, or makes it ours.
fn claim(path: &Path, connection: &mut Connection) -> Result<(), OpenError> {
    let sqlite = |error| OpenError::from_sqlite(path, error, TIMEOUT);
    let judge = |whose: Whose| match whose {
        Whose::Ours => Ok(false),
        Whose::Nobodys => Ok(true),
        Whose::Foreign => Err(OpenError::Foreign {
            path: path.to_owned(),
        }),
        Whose::Newer { found } => Err(OpenError::Newer {
            path: path.to_owned(),
            found,
            known: LAYOUT,
        }),
    };
    // SQLite opens a file that it may not write for reading. This is checked before the first read, which would leave
    // companions of the file behind that its owner cannot use.
    if connection.is_readonly(MAIN_DB).map_err(sqlite)? {
        return Err(OpenError::not_writable(path));
    }
    judge(inspect(connection).map_err(sqlite)?)?;
    share(path, connection)?;
    // A file that was not shared before, such as a copy by `VACUUM INTO`, has its log from this read on.
    if judge(inspect(connection).map_err(sqlite)?)? {
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(sqlite)?;
        // Another process may have been faster.
        if judge(inspect(&transaction).map_err(sqlite)?)? {
            transaction
                .execute_batch(include_str!("sql/schema.sql"))
                .map_err(sqlite)?;
        }
        transaction.commit().map_err(sqlite)?;
    }
    Ok(())
}

/// Switches to the write-ahead log, and checks that it is in use.
fn share(path: &Path, connection: &Connection) -> Result<(), OpenError> {
    match use_log(connection, TIMEOUT) {
        Ok(mode) if mode == "wal" => Ok(()),
        Ok(_) => Err(OpenError::NotShared {
            path: path.to_owned(),
        }),
        Err(error) => Err(OpenError::from_sqlite(path, error, TIMEOUT)),
    }
}

/// Switches to the write-ahead log, where readers and the writer do not wait for each other. The file remembers it.
/// Returns the mode that the file then has. While other processes open the file at the same time, the switch is retried
/// for up to `patience`.
pub(crate) fn use_log(connection: &Connection, patience: Duration) -> rusqlite::Result<String> {
    const PAUSE: Duration = Duration::from_millis(5);
    let mut waited = Duration::ZERO;
    loop {
        let mode = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0));
        // The switch begins as a reader, and SQLite does not let a reader wait to become the writer.
        if waited >= patience || !mode.as_ref().is_err_and(is_busy) {
            return mode;
        }
        thread::sleep(PAUSE);
        waited += PAUSE;
    }
}

/// The settings that a connection to a file of ours needs.
fn settle(connection: &Connection, synchronous: Synchronous) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    connection.execute_batch(match synchronous {
        Synchronous::Normal => "PRAGMA synchronous = NORMAL",
        Synchronous::Full => "PRAGMA synchronous = FULL",
    })
}

fn inspect(connection: &Connection) -> rusqlite::Result<Whose> {
    let (id, layout, things): (i64, i64, i64) =
        connection.query_row(include_str!("sql/inspect.sql"), [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?;
    Ok(match (id, layout, things) {
        (APPLICATION_ID, LAYOUT, _) => Whose::Ours,
        (APPLICATION_ID, found, _) if found > LAYOUT => Whose::Newer { found },
        (0, 0, 0) => Whose::Nobodys,
        _ => Whose::Foreign,
    })
}
