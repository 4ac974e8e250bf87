//! PostgreSQL and PgBouncer for tests, from the packages of the system. The variable
//! `DLOCK_TEST_POSTGRES_BIN` names the folder of another version's `initdb` and `postgres`; the user
//! below must be able to read it.
//!
//! Every client on 127.0.0.1 may connect as the superuser `postgres` without a password; only a user
//! called `guarded` needs its own. Both programs refuse to run as root, so as root they run as
//! `postgres` or `nobody`.

use std::{
    env, fs,
    io::{self, Error, ErrorKind},
    path::{Path, PathBuf},
    process::Command,
};

use super::{Place, Service, User};

/// Starts a new server. The settings are lines of its configuration, `"max_connections=50"`.
///
/// Commits are not flushed to the disk unless a setting says `"fsync=on"`: what a killed process
/// loses is the same either way, but a machine's crash would lose more.
///
/// # Errors
/// If PostgreSQL is not installed or does not start.
pub async fn postgres(settings: &[&str]) -> io::Result<Service> {
    let programs = programs()?;
    start(&programs, include_str!("postgres.sh"), "", settings).await
}

/// Starts a read-only copy that follows the server on this port.
///
/// # Errors
/// As for [`postgres`].
pub async fn postgres_standby(primary: u16, settings: &[&str]) -> io::Result<Service> {
    let programs = programs()?;
    let primary = primary.to_string();
    start(&programs, include_str!("postgres.sh"), &primary, settings).await
}

/// Starts a pooler in transaction mode in front of the server on this port. All clients together
/// share that many connections to the server.
///
/// # Errors
/// If PgBouncer is not installed or does not start.
pub async fn pgbouncer(server: u16, connections: u16) -> io::Result<Service> {
    let program = program("pgbouncer", ["/usr/sbin".into()]).ok_or_else(|| {
        Error::new(
            ErrorKind::NotFound,
            "pgbouncer is not installed (on Debian: apt-get install pgbouncer)",
        )
    })?;
    Service::builder(|place: &Place| {
        let mut shell = Command::new("sh");
        shell.args(["-euc", include_str!("pgbouncer.sh"), "sh"]);
        shell
            .arg(&program)
            .args([server, connections, place.port()].map(|number| number.to_string()));
        shell
    })
    .user(unprivileged()?)
    .spawn(|place| async move { place.accepts_connections().await })
    .await
}

async fn start(
    programs: &Path,
    script: &str,
    primary: &str,
    settings: &[&str],
) -> io::Result<Service> {
    Service::builder(|place: &Place| {
        let mut shell = Command::new("sh");
        shell.args(["-euc", script, "sh"]).arg(programs);
        shell.arg(place.port().to_string()).arg(primary);
        for setting in settings {
            shell.args(["-c", setting]);
        }
        shell
    })
    .user(unprivileged()?)
    // An orderly shutdown that does not wait for clients.
    .stop_with("INT", std::time::Duration::from_secs(5))
    .spawn(|place| async move { is_ready(&place) })
    .await
}

/// Whether a server lets clients in, according to the last line of its own file `postmaster.pid`. For
/// [`Service::restart`].
#[must_use]
pub fn is_ready(place: &Place) -> bool {
    let Ok(note) = fs::read_to_string(place.dir().join("postmaster.pid")) else {
        return false;
    };
    let pid = note
        .lines()
        .next()
        .and_then(|line| line.trim().parse().ok());
    pid.is_some()
        && pid == place.pid()
        && note
            .lines()
            .next_back()
            .is_some_and(|line| line.trim() == "ready")
}

/// The folder of the server's programs: the requested one, or the newest. Debian keeps
/// them out of the path, in one folder for each version.
fn programs() -> io::Result<PathBuf> {
    if let Some(folder) = env::var_os("DLOCK_TEST_POSTGRES_BIN") {
        let folder = PathBuf::from(folder);
        if folder.join("initdb").is_file() && folder.join("postgres").is_file() {
            return fs::canonicalize(folder);
        }
        return Err(Error::new(
            ErrorKind::NotFound,
            format!("DLOCK_TEST_POSTGRES_BIN is {folder:?}, where no initdb and postgres are"),
        ));
    }
    let mut versions: Vec<(u32, PathBuf)> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let version = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .collect();
    versions.sort_unstable();
    let newest_first = versions.into_iter().rev().map(|(_, folder)| folder);
    let found = program("initdb", newest_first).and_then(|initdb| {
        // A link in the path leads to the folder with the other programs.
        Some(fs::canonicalize(initdb).ok()?.parent()?.to_owned())
    });
    found.ok_or_else(|| {
        Error::new(
            ErrorKind::NotFound,
            "PostgreSQL's server is not installed (on Debian: apt-get install postgresql)",
        )
    })
}

/// The path of a program in these folders or in the path.
fn program(name: &str, folders: impl IntoIterator<Item = PathBuf>) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    folders
        .into_iter()
        .chain(env::split_paths(&path))
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

pub(super) fn unprivileged() -> io::Result<User> {
    User::named("postgres").or_else(|_| User::named("nobody"))
}
