//! Configurations that do not start, and their messages.

use std::net::TcpListener;

use crate::support::{User, str};

#[test]
fn what_cannot_be_served_is_refused_with_what_to_do() {
    let user = User::new();
    let typo = user.write("typo.toml", "lisen = \"127.0.0.1:0\"\n");
    let typo = str(&typo);
    for (words, code, said) in [
        (&["--listen", "0.0.0.0:0"][..], 78, "tokens"),
        (&["--listen", "[::]:0", "--insecure"], 78, "tokens"),
        (&["--tls-cert", "c.pem"], 78, "tls-key"),
        (&["--tls-cert", "c.pem", "--tls-key", "k.pem"], 78, "c.pem"),
        (&["--tokens", "none.toml"], 78, "none.toml"),
        (&["--config", "none.toml"], 78, "none.toml"),
        (&["--config", typo], 78, "lisen"),
        (&["--store", "sqlite:none/l.db"], 78, "none/l.db"),
        (&["--store", "sqlite:l.db?prefix=p"], 78, "prefix"),
        (&["--listen", "here"], 64, "--listen"),
    ] {
        let finished = user.finish(words);
        assert_eq!(finished.code, Some(code), "{words:?}: {finished:?}");
        assert!(finished.err.contains(said), "{words:?}: {finished:?}");
    }
}

#[test]
fn port_that_is_taken_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let finished = User::new().finish(&["--listen", &address]);
    assert_eq!(finished.code, Some(71), "{finished:?}");
    assert!(finished.err.contains(&address), "{finished:?}");
}
