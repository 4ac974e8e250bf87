//! Places where a lock file may not be, since another process that opens it would not see its locks.
//! Each test runs in its own mount namespace, so that nothing it mounts is seen outside.

mod fuse;

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use dlock_core::Provider;
use dlock_sqlite::SqliteProvider;

use crate::support::{Kid, Role, Scratch, block_on, request, take};

const LONG: Duration = Duration::from_secs(60);

/// The outcome of an attempt through this path.
fn attempt(path: &Path) -> String {
    match SqliteProvider::open(path) {
        Ok(provider) => format!("{:?}", block_on(provider.acquire(&request("a", LONG)))),
        Err(error) => error.to_string(),
    }
}

fn mount(what: &Path, at: &Path) {
    let mount = Command::new("mount")
        .arg("--bind")
        .args([what, at])
        .status();
    assert!(mount.unwrap().success());
}

#[test]
fn a_file_that_is_mounted_by_itself_is_refused() {
    const TEST: &str = "mounts::a_file_that_is_mounted_by_itself_is_refused";
    if let Some(role) = Role::get() {
        // As a container gets it. The kernel escapes this name when it writes it.
        let there = Scratch::new();
        let file = there.directory().join("my locks\\.db");
        fs::write(&file, "").unwrap();
        mount(&role.file, &file);
        role.say(attempt(&file));
        // Nor by a link to it.
        let link = there.directory().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        role.say(attempt(&link));
        return;
    }
    let scratch = Scratch::new();
    let provider = scratch.provider();
    block_on(take(&provider, "a", LONG));
    let kid = Kid::start_with_mounts(TEST, "container", &scratch.path());
    for said in [kid.hear(), kid.hear()] {
        assert!(said.contains("mount its directory instead"), "{said}");
    }
    kid.join();
}

#[test]
fn a_directory_that_is_mounted_has_the_same_locks() {
    const TEST: &str = "mounts::a_directory_that_is_mounted_has_the_same_locks";
    if let Some(role) = Role::get() {
        let there = Scratch::new();
        mount(role.file.parent().unwrap(), there.directory());
        role.say(attempt(&there.path()));
        return;
    }
    let scratch = Scratch::new();
    let provider = scratch.provider();
    block_on(take(&provider, "a", LONG));
    let kid = Kid::start_with_mounts(TEST, "container", &scratch.path());
    let said = kid.hear();
    assert!(said.starts_with("Ok(Held("), "{said}");
    kid.join();
}

#[test]
fn a_file_system_that_machines_may_share_is_refused_unless_told_otherwise() {
    const TEST: &str =
        "mounts::a_file_system_that_machines_may_share_is_refused_unless_told_otherwise";
    if let Some(role) = Role::get() {
        let there = Scratch::new();
        fuse::mount(there.directory(), &role.role);
        role.say(attempt(&there.path()));
        let told = SqliteProvider::builder()
            .path(there.path())
            .danger_accept_any_file_system(true)
            .build();
        // It has no files, so nothing can be opened there.
        role.say(told.unwrap_err());
        return;
    }
    let scratch = Scratch::new();
    for (kind, refused) in [("fuse.sshfs", true), ("fuse.fuse-overlayfs", false)] {
        let kid = Kid::start_with_mounts(TEST, kind, &scratch.path());
        let says_it = |said: &str| {
            said.contains(kind) && said.contains("local disk") && said.contains("PostgreSQL")
        };
        let said = kid.hear();
        assert_eq!(says_it(&said), refused, "{kind}: {said}");
        let told = kid.hear();
        assert!(!says_it(&told), "{kind}: {told}");
        kid.join();
    }
}

/// Whether this machine lets a test do all that.
pub(crate) fn namespace() -> Command {
    let command = || {
        let mut command = Command::new("unshare");
        command.arg("--mount");
        if !rustix::process::getuid().is_root() {
            command.args(["--user", "--map-root-user"]);
        }
        command
    };
    let scratch = Scratch::new();
    let tried = command()
        .args(["mount", "-t", "tmpfs", "none"])
        .arg(scratch.directory())
        .stdin(Stdio::null())
        .output();
    assert!(
        matches!(&tried, Ok(output) if output.status.success()),
        "this test mounts things in a namespace of its own, and this machine does not let it: {tried:?}. \
         It takes unshare(1) and mount(8) of util-linux; without root also user namespaces (sysctl \
         kernel.unprivileged_userns_clone=1 or kernel.apparmor_restrict_unprivileged_userns=0, where there \
         is such a thing), and in a container the capability SYS_ADMIN. To leave such tests out, name \
         them: cargo test .. -- --skip mounts::"
    );
    command()
}
