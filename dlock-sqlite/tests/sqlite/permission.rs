//! Files and directories that this user may not write. Root may do everything, so as root the
//! opening happens in a child that runs as another user.

use std::{env, fs, os::unix::fs::MetadataExt, path::Path};

use dlock_sqlite::{OpenError, SqliteProvider};

use crate::support::{Kid, Role, Scratch, set_mode};

const TEST: &str = "permission::a_missing_permission_is_named_and_nothing_is_left_behind";

/// The message of an opening to a user without privileges.
fn open(path: &Path) -> String {
    match SqliteProvider::open(path) {
        Ok(_) => "opened".to_owned(),
        Err(error @ OpenError::Permission { .. }) => format!("no permission; {error}"),
        Err(error) => format!("{error:?}"),
    }
}

#[test]
fn a_missing_permission_is_named_and_nothing_is_left_behind() {
    if let Some(role) = Role::get() {
        role.say(open(&role.file));
        return;
    }
    let root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let programs = Scratch::new();
    let copy = programs.directory().join("suite");
    if root {
        fs::copy(env::current_exe().unwrap(), &copy).unwrap();
        set_mode(programs.directory(), 0o755);
        set_mode(&copy, 0o755);
    }
    let unprivileged = |path: &Path| {
        if root {
            let kid = Kid::start_as_nobody(TEST, "opener", path, &copy);
            let said = kid.hear();
            kid.join();
            said
        } else {
            open(path)
        }
    };

    // (whether there is a file, its mode, the mode of the directory)
    for (there, file, directory, expected) in [
        (false, 0, 0o555, "no permission"),
        (true, 0o666, 0o555, "no permission"),
        (true, 0o444, 0o777, "no permission"),
        (true, 0o000, 0o777, "no permission"),
        (true, 0o666, 0o000, "no permission"),
        (true, 0o666, 0o777, "opened"),
    ] {
        let scratch = Scratch::new();
        if there {
            drop(scratch.provider());
            set_mode(&scratch.path(), file);
        }
        set_mode(scratch.directory(), directory);
        let said = unprivileged(&scratch.path());
        // So that a user who is not root can look and clean up.
        set_mode(scratch.directory(), 0o777);
        assert!(
            said.starts_with(expected),
            "file {file:o} in {directory:o}: {said}"
        );
        if expected == "no permission" {
            assert!(said.contains("-wal"), "{said}");
            let names: Vec<_> = fs::read_dir(scratch.directory())
                .unwrap()
                .map(|entry| entry.unwrap().file_name())
                .collect();
            assert_eq!(names.len(), usize::from(there), "{names:?}");
        }
    }
}
