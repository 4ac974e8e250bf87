//! `dlock-server check`.

use crate::support::{User, str};

#[test]
fn check_says_what_would_be_served_and_makes_nothing() {
    let user = User::new();
    let checked = user.finish(&["check"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    for words in [
        "locks.db",
        "http://127.0.0.1:7420",
        "every program on this machine",
    ] {
        assert!(checked.out.contains(words), "{checked:?}");
    }
    assert!(!user.file().exists());
}

#[test]
fn check_reads_the_configuration_and_its_files() {
    let user = User::new();
    user.write(
        "tokens.toml",
        "[[certificate]]\nname = \"w\"\nrights = { a = [\"hold\"] }\n",
    );
    let config = user.write(
        "server.toml",
        "listen = \"0.0.0.0:7420\"\ninsecure = true\ntokens = \"tokens.toml\"\nstore = \"sqlite:l.db\"\n",
    );
    let checked = user.finish(&["check", "--config", str(&config)]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert!(
        checked.out.contains("sqlite:l.db") && checked.out.contains("tokens.toml"),
        "{checked:?}"
    );
    std::fs::remove_file(config.with_file_name("tokens.toml")).unwrap();
    let checked = user.finish(&["check", "--config", str(&config)]);
    assert_eq!(checked.code, Some(78), "{checked:?}");
    assert!(checked.err.contains("tokens.toml"), "{checked:?}");
}
