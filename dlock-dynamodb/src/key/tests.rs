//! Keys of items, which differ if prefix or name do, and can be read back.

use super::*;

fn keys(prefix: &str) -> Keys {
    let layout = Layout::new("name".into(), None).unwrap();
    Keys::new(Arc::new(layout), prefix).unwrap()
}

#[test]
fn pairs_of_prefix_and_name_never_read_alike() {
    let pairs = [
        ("", "a/b"),
        ("", "/a/b"),
        ("a", "b"),
        ("a", "/b"),
        ("a/", "b"),
        ("a/b", "c"),
        ("a", "b/c"),
        ("a%2Fb", "c"),
        ("a%", "2Fb/c"),
        ("ab", "c"),
        ("a", "bc"),
        ("", "abc"),
    ];
    let stored: std::collections::HashSet<String> = pairs
        .iter()
        .map(|(prefix, name)| keys(prefix).stored(name))
        .collect();
    assert_eq!(stored.len(), pairs.len(), "{stored:?}");
}

#[test]
fn names_come_back_from_their_items() {
    for (prefix, name) in [("", "a/b"), ("x/%", "%2F"), ("billing", "nightly")] {
        let keys = keys(prefix);
        let name = Name::new(name).unwrap();
        let key = keys.key(&name).unwrap();
        assert_eq!(keys.name(&key.attributes), Some(name));
    }
    // Of another prefix.
    let other = keys("a").key(&Name::new("b").unwrap()).unwrap();
    assert_eq!(keys("").name(&other.attributes), None);
}

#[test]
fn key_attributes_are_none_of_the_records() {
    for taken in ["token", "uuid", "", &"x".repeat(256)] {
        assert!(Layout::new(taken.into(), None).is_err(), "{taken}");
        assert!(
            Layout::new("pk".into(), Some(taken.into())).is_err(),
            "{taken}"
        );
    }
    assert!(Layout::new("pk".into(), Some("pk".into())).is_err());
    let composite = Arc::new(Layout::new("pk".into(), Some("sk".into())).unwrap());
    assert!(Keys::new(Arc::clone(&composite), "").is_err());
    assert!(Keys::new(composite, "billing").is_ok());
}
