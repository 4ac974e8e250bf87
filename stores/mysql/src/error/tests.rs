//! The outcome that is known after each error of the server and of the driver.

use std::io;

use ErrorKind::{Fatal, NotApplied, Unknown};

use super::*;

fn server(code: u16) -> Error {
    Error::Server(ServerError {
        code,
        message: "says the server".into(),
        state: "HY000".into(),
    })
}

#[test]
fn refused_statement_has_a_kind_for_each_code() {
    for (codes, expected) in [
        // Schema; rights; the format of the log; an error that the code does not list.
        (&[1046, 1049, 1054, 1146, 1305, 1318][..], Fatal),
        (&[1044, 1045, 1142, 1143, 1227, 1370], Fatal),
        (&[1665, 1064, 1264], Fatal),
        // Undone by the server: a lock wait, a deadlock, a changed row; not begun: read-only, no majority, no room.
        (&[1205, 1213, 1020], NotApplied),
        (&[1290, 1792, 1836, 1047], NotApplied),
        (&[1021, 1037, 1041, 1114], NotApplied),
        // Perhaps after the commit.
        (&[1026, 1030, 1053, 1180, 1317, 1927, 1969, 3024], Unknown),
    ] {
        for &code in codes {
            assert_eq!(no_result(server(code)).kind(), expected, "{code}");
        }
    }
}

#[test]
fn connection_that_breaks_or_is_silent_leaves_it_unknown_once_something_was_sent() {
    let broken = || Error::from(io::Error::from(io::ErrorKind::ConnectionReset));
    assert_eq!(no_result(broken()).kind(), Unknown);
    assert_eq!(no_connection(broken()).kind(), NotApplied);
    let limit = Duration::from_secs(1);
    assert_eq!(timed_out(true, limit).kind(), Unknown);
    assert_eq!(timed_out(false, limit).kind(), NotApplied);
}

#[test]
fn client_that_is_not_let_in_has_a_kind_for_each_code() {
    for (codes, expected) in [
        (
            &[1044, 1045, 1698, 1130, 3159, 1820, 1862, 3118, 4151][..],
            Fatal,
        ),
        (&[1049], Fatal),
        // Too many connections, of all and of this user; the server ends.
        (&[1040, 1203, 1226, 1053], NotApplied),
    ] {
        for &code in codes {
            assert_eq!(no_connection(server(code)).kind(), expected, "{code}");
        }
    }
}
