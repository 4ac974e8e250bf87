//! Names that look alike, and names that mean something to others.

use dlock_core::{
    Name, Provider,
    provider::{Admin, List},
};
use dlock_mysql_proof::server;

use crate::support::{granted, is_held, term};

#[tokio::test]
async fn names_never_merge_and_mean_nothing() {
    let names = [
        "a",
        "A",
        "a ",
        " a",
        "a\t",
        "ä",
        "a\u{308}",
        "a/b",
        "a//b",
        "a/b/",
        "%",
        "a%",
        "_",
        "\\",
        "'",
        "''",
        "\"",
        "`",
        "a'; DROP TABLE dlock_lock; -- ",
        "x'61'",
        "0x61",
        "NULL",
        "?",
        ":a",
        "{table}",
        "\u{1f512}",
        "ß",
        "ss",
        "1",
        "01",
        "1e0",
    ];
    let database = server().await.database().await;
    let provider = database.provider(2).await;
    let mut terms = Vec::new();
    for name in names {
        let term = term(name);
        granted(&provider, &term).await;
        terms.push(term);
    }
    for term in &terms {
        assert_eq!(
            provider.read(&term.name).await.unwrap().unwrap().uuid,
            term.new
        );
        assert!(is_held(&provider, term.name.as_str()).await);
    }
    let page = provider.list(&List::new("")).await.unwrap();
    let listed: Vec<&str> = page.records.iter().map(|(name, _)| name.as_str()).collect();
    let mut sorted = names.to_vec();
    sorted.sort_unstable();
    assert_eq!(listed, sorted);
    for begin in ["a", "%", "_", "\\", "'"] {
        let page = provider.list(&List::new(begin)).await.unwrap();
        let listed = page.records.iter().map(|(name, _)| name.as_str());
        let expected = sorted
            .iter()
            .copied()
            .filter(|name| name.starts_with(begin));
        assert!(listed.eq(expected), "{begin:?}: {page:?}");
    }
}

#[tokio::test]
async fn prefix_and_name_are_not_joined() {
    let database = server().await.database().await;
    let provider = database.provider(2).await;
    for (prefix, name) in [
        ("ab", "c"),
        ("a", "bc"),
        ("", "abc"),
        ("A", "bc"),
        ("a ", "bc"),
    ] {
        let prefixed = provider.with_prefix(prefix).unwrap();
        assert!(
            prefixed
                .read(&Name::new(name).unwrap())
                .await
                .unwrap()
                .is_none()
        );
        granted(&prefixed, &term(name)).await;
        assert_eq!(
            prefixed.list(&List::new("")).await.unwrap().records.len(),
            1
        );
    }
}
