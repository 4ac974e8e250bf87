//! The place of the token's assignment in a user's update.

use super::*;

#[test]
fn the_token_is_assigned_in_the_set_clause() {
    let set = "SET #dlock_fence = :dlock_token";
    for (own, expected) in [
        ("", set.to_owned()),
        ("SET a = :a", format!("{set}, a = :a")),
        (
            "set a = :a, b = :b",
            "set #dlock_fence = :dlock_token, a = :a, b = :b".into(),
        ),
        ("REMOVE b SET a = :a", format!("REMOVE b {set}, a = :a")),
        (
            "REMOVE #set, x.offset",
            format!("REMOVE #set, x.offset {set}"),
        ),
        ("ADD n :set", format!("ADD n :set {set}")),
        ("SET\n a = :a", format!("{set},\n a = :a")),
    ] {
        assert_eq!(assign(own), expected, "{own:?}");
    }
}
