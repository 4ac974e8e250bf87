//! The kind, one of three, of each answer of the server.

use std::io;

use redis::make_extension_error;

use super::*;

fn kind(code: &str, text: &str) -> ErrorKind {
    let error = make_extension_error(code.into(), Some(text.into()));
    refused(error).kind()
}

#[test]
fn kinds_follow_what_can_have_happened() {
    for code in [
        "READONLY",
        "LOADING",
        "OOM",
        "BUSY",
        "CLUSTERDOWN",
        "TRYAGAIN",
        "MASTERDOWN",
        "MOVED",
        "ASK",
        "MISCONF",
        "NOREPLICAS",
    ] {
        assert_eq!(kind(code, "x"), ErrorKind::NotApplied, "{code}");
    }
    for code in ["NOAUTH", "WRONGPASS", "NOPERM", "WRONGTYPE", "ERR"] {
        assert_eq!(kind(code, "x"), ErrorKind::Fatal, "{code}");
    }
    assert_eq!(kind("UPSTREAM", "gone"), ErrorKind::Unknown);
}

#[test]
fn codes_inside_of_a_wrapped_error_count() {
    // In the words of Redis 6.
    let wrapped = "Error running script (call to f_0): @user_script:1: @user_script: 1: ";
    assert_eq!(
        kind(
            "ERR",
            &format!("{wrapped}-READONLY You can't write against a read only replica.")
        ),
        ErrorKind::NotApplied
    );
    assert_eq!(
        kind(
            "ERR",
            &format!("{wrapped}-OOM command not allowed when used memory > 'maxmemory'.")
        ),
        ErrorKind::NotApplied
    );
    assert_eq!(
        kind(
            "ERR",
            &format!("{wrapped}WRONGTYPE Operation against a key")
        ),
        ErrorKind::Fatal
    );
    // The same in Redis 7.0, and in 7.2 and later and Valkey.
    for denied in [
        &format!("{wrapped}The user executing the script can't access at least one of the keys"),
        "The user executing the script can't run this command or subcommand script: 0, on @user_script:1.",
        "ACL failure in script: User READONLY has no permissions to run the 'time' command script: 0, on @user_script:1.",
        "ACL failure in script: No permissions to access a key script: on @user_script:1.",
    ] {
        let error = make_extension_error("ERR".into(), Some(denied.into()));
        assert_eq!(code(&error), "NOPERM", "{denied}");
    }
    for (text, wanted) in [
        ("DB index is out of range", "NODB"),
        (
            "unknown command 'EVALSHA', with args beginning with: ",
            "UNKNOWN",
        ),
        // The rest repeats the command, including the name of a lock.
        (
            "unknown command 'EVALSHA', with args beginning with: '2f1a' '1' 'dlock:{max number of clients}' ",
            "UNKNOWN",
        ),
        (
            "unknown command 'EVALSHA', with args beginning with: '2f1a' '1' 'dlock:{SSUBSCRIBE}' ",
            "UNKNOWN",
        ),
        (
            "unknown command `SSUBSCRIBE`, with args beginning with: `dlock:{door}`, ",
            "SHARDLESS",
        ),
        (
            "this user has no permissions to run the 'select' command",
            "NOPERM",
        ),
    ] {
        let error = make_extension_error("ERR".into(), Some(text.into()));
        assert_eq!(code(&error), wanted, "{text}");
        assert_eq!(refused(error).kind(), ErrorKind::Fatal, "{text}");
    }
    assert_eq!(
        kind("ERR", "max number of clients reached"),
        ErrorKind::NotApplied
    );
}

#[test]
fn right_that_is_missing_is_named() {
    for (text, named) in [
        // Redis 6.
        (
            "this user has no permissions to run the 'evalsha' command or its subcommand",
            "may not run evalsha;",
        ),
        (
            "this user has no permissions to access one of the keys used as arguments",
            "may not use this key;",
        ),
        // Redis 7 and later, and Valkey.
        (
            "User app has no permissions to run the 'cluster|slots' command",
            "may not run cluster|slots;",
        ),
        (
            "No permissions to access a channel",
            "may not use this channel;",
        ),
        ("No permissions to access a key", "may not use this key;"),
        // Redis 7.0 does not say which right is missing.
        (
            "The user executing the script can't run this command or subcommand script: 0, on @user_script:1.",
            "may not run a command that is inside of a lock's script;",
        ),
    ] {
        let error = make_extension_error("NOPERM".into(), Some(text.into()));
        let told = refused(error).to_string();
        assert!(told.contains(named), "{text}: {told}");
    }
}

#[test]
fn what_was_not_sent_was_not_applied() {
    let error = |kind: io::ErrorKind, sent| {
        let error = RedisError::from(io::Error::from(kind));
        provider_error(Failure::Redis { error, sent }).kind()
    };
    assert_eq!(
        error(io::ErrorKind::ConnectionRefused, true),
        ErrorKind::NotApplied
    );
    assert_eq!(
        error(io::ErrorKind::ConnectionReset, true),
        ErrorKind::Unknown
    );
    assert_eq!(error(io::ErrorKind::TimedOut, true), ErrorKind::Unknown);
    assert_eq!(
        error(io::ErrorKind::BrokenPipe, false),
        ErrorKind::NotApplied
    );
    let limit = Duration::from_secs(1);
    assert_eq!(
        provider_error(Failure::Silent { limit, sent: true }).kind(),
        ErrorKind::Unknown
    );
    assert_eq!(
        provider_error(Failure::Silent { limit, sent: false }).kind(),
        ErrorKind::NotApplied
    );
}
