//! Names that would end their quotes, be truncated or not be filled in.

use super::*;

#[test]
fn names_that_could_end_their_quotes_or_mean_two_tables_are_refused() {
    for bad in [
        "", "a`b", "a$b", "a{b", "a b", "a\0", "a;", "a'b", "ä", "Lock", "a.B", "a.b.c", ".a", "a.",
    ] {
        assert!(
            matches!(Schema::new(bad), Err(BuildError::Identifier { .. })),
            "{bad:?}"
        );
    }
    assert!(Schema::new("App-1.lock_2").is_ok());
}

#[test]
fn no_name_is_longer_than_the_server_takes() {
    let longest = "x".repeat(MAX_IDENTIFIER - LONGEST_ENDING);
    let names = Names::new(&longest).unwrap();
    for (name, _) in PROCEDURES {
        assert!(names.ending(name).len() <= MAX_IDENTIFIER);
    }
    assert!(Schema::new(&format!("{longest}x")).is_err());
    assert!(Schema::new(&format!("{}.x", "d".repeat(65))).is_err());
}

#[test]
fn every_name_is_filled_in() {
    let schema = Schema::new("app.lock").unwrap();
    for text in [schema.sql(), schema.inspect.clone()] {
        assert!(!text.contains('{'), "{text}");
    }
    assert_eq!(schema.acquire, "`app`.`lock_acquire_1`");
}
