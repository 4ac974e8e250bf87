//! A process in its own time namespace reads other times from the same clock.

use std::{env, process::Command, time::Duration};

use dlock_core::{Provider, provider::AcquireOutcome};
use dlock_sqlite::SqliteProvider;

use crate::support::{Kid, Role, Scratch, block_on, request, take};

const LONG: Duration = Duration::from_secs(60);

#[test]
fn a_lease_lasts_as_long_in_every_time_namespace() {
    const TEST: &str = "time_namespaces::a_lease_lasts_as_long_in_every_time_namespace";
    let remaining = |provider: &dyn Provider| {
        let outcome = block_on(provider.acquire(&request("a", LONG))).unwrap();
        let AcquireOutcome::Held(record) = outcome else {
            panic!("{outcome:?}")
        };
        record.remaining.unwrap()
    };
    if let Some(role) = Role::get() {
        let provider = SqliteProvider::open(&role.file).unwrap();
        role.say(remaining(&provider).as_millis());
        return;
    }
    let scratch = Scratch::new();
    let provider = scratch.provider();
    block_on(take(&provider, "a", LONG));
    // Days ahead, and behind by less than the machine's uptime.
    for offset in ["1000000", "-30"] {
        let before = remaining(&provider);
        let kid = Kid::spawn(namespace(offset), TEST, offset, &scratch.path());
        let there = Duration::from_millis(kid.hear().parse().unwrap());
        let after = remaining(&provider);
        assert!(
            (after..=before).contains(&there),
            "{offset}: {after:?} {there:?} {before:?}"
        );
        kid.join();
    }
}

/// Runs this program in a time namespace whose clock is ahead by that many seconds.
fn namespace(offset: &str) -> Command {
    let mut command = Command::new("unshare");
    if !rustix::process::getuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--time", "--fork", "--boottime", offset]);
    let tried = {
        let mut tried = Command::new("unshare");
        tried.args(command.get_args()).arg("true").output()
    };
    assert!(
        matches!(&tried, Ok(output) if output.status.success()),
        "this test needs time namespaces (Linux 5.6 with CONFIG_TIME_NS, unshare(1) of util-linux, and \
         root, CAP_SYS_ADMIN or user namespaces): {tried:?}. To leave it out: cargo test .. -- --skip \
         time_namespaces::"
    );
    command.arg(env::current_exe().unwrap());
    command
}
