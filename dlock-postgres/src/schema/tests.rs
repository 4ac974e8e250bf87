//! Names that would end their quotes, be truncated or not be filled in.

use super::*;

#[test]
fn names_that_could_end_their_quotes_are_refused() {
    for bad in [
        "",
        "a\"b",
        "a$b",
        "a{b",
        "a.b",
        "a b",
        "a\0",
        "a;",
        "a'b",
        &"x".repeat(64),
    ] {
        assert!(
            matches!(
                Schema::new(bad, "lock"),
                Err(BuildError::Identifier { what: "schema", .. })
            ),
            "{bad:?}"
        );
        assert!(
            matches!(
                Schema::new("dlock", bad),
                Err(BuildError::Identifier { what: "table", .. })
            ),
            "{bad:?}"
        );
    }
}

#[test]
fn no_function_name_is_longer_than_the_server_keeps() {
    let longest = "x".repeat(MAX_IDENTIFIER - LONGEST_ENDING);
    let schema = Schema::new("Größe-1", &longest).unwrap();
    for function in schema.functions() {
        let name = function.rsplit_once('.').unwrap().1.trim_matches('"');
        assert!(name.len() <= MAX_IDENTIFIER, "{name} is cut off");
    }
    assert!(Schema::new("dlock", &format!("{longest}x")).is_err());
}

#[test]
fn every_name_is_filled_in() {
    let schema = Schema::new("Locks-of-ours", "Lock").unwrap();
    let statements = format!("{:?}", schema.statements());
    for text in [schema.sql(), statements] {
        assert!(
            !text.contains('{') || text.starts_with("Statements {"),
            "{text}"
        );
        assert!(text.contains("Locks-of-ours"), "{text}");
    }
    assert_eq!(
        schema.functions()[1],
        "\"Locks-of-ours\".\"Lock_acquire_1\""
    );
}
