//! The key that remembers the token of a single value.

use super::*;

#[test]
fn the_fence_of_a_key_is_in_its_slot_and_its_own() {
    for (key, beside) in [
        ("profile", "fence:{profile}"),
        ("{u7}:profile", "{u7}:profile:fence"),
        ("a{b}c}", "a{b}c}:fence"),
        ("{profile}", "{profile}:fence"),
        ("a{b", "fence:{a{b}"),
    ] {
        assert_eq!(Fence::beside(key).unwrap(), beside);
    }
    for key in ["", "a}b", "{}x", "x{}"] {
        assert!(Fence::beside(key).is_err(), "{key:?}");
    }
}
