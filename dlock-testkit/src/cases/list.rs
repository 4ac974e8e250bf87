//! Listing and purging.

use std::{sync::Arc, time::Duration};

use dlock_core::{
    Name, Record,
    provider::{Admin, List, Page},
};

use super::admin::both;
use crate::Bench;

pub(super) const DAY: Duration = Duration::from_hours(24);

pub(super) async fn list_pages_through_every_name_in_byte_order(bench: Bench) {
    let (admin, subject) = both(&bench).await;
    // In an order that no collation prefers.
    let mut names: Vec<Name> = [
        "b", "B", "a", "\u{e4}", "a b", "ab", "Z", "10", "9", "a\u{301}", "_",
    ]
    .iter()
    .map(|l| bench.name(l))
    .collect();
    let mut terms = Vec::new();
    for name in &names {
        let a = bench.term(name).data(Some(vec![1]));
        let token = subject.grants(&a).await;
        terms.push((a, token));
    }
    let (released, token) = &terms[3];
    subject.releases(released, Some(*token)).await;
    names.sort_unstable_by(|a, b| a.as_str().as_bytes().cmp(b.as_str().as_bytes()));
    let prefix = bench.name("").as_str().to_owned();
    for limit in [1, 2, 3, 5, 11, 12, 1000] {
        let mut listed = Vec::new();
        let mut after = None;
        loop {
            let Page { records, next, .. } = subject
                .list(&*admin, &List::new(&*prefix).after(after).limit(limit))
                .await;
            assert!(
                records.len() <= limit,
                "{} records on a page of {limit}",
                records.len()
            );
            listed.extend(records);
            let Some(next) = next else { break };
            assert_eq!(
                listed.last().map(|(name, _)| name),
                Some(&next),
                "a page ends with its last name"
            );
            assert!(listed.len() <= names.len(), "pages repeat");
            after = Some(next);
        }
        let listed_names: Vec<&Name> = listed.iter().map(|(name, _)| name).collect();
        assert_eq!(
            listed_names,
            names.iter().collect::<Vec<_>>(),
            "pages of {limit}"
        );
        for (name, record) in &listed {
            let read = subject.record(name).await;
            let still = |record: &Record| {
                (
                    record.version(),
                    record.token,
                    record.released,
                    record.data.clone(),
                )
            };
            assert_eq!(still(record), still(&read), "{name}");
        }
    }
}

pub(super) async fn list_takes_its_prefix_literally(bench: Bench) {
    let (admin, subject) = both(&bench).await;
    for label in ["a%b", "axb", "a_b", "a%bc", "A%b", "a\\b", "a*b", "aab"] {
        subject.grants(&bench.term(&bench.name(label))).await;
    }
    for (prefix, expected) in [
        ("a%b", &["a%b", "a%bc"][..]),
        ("a_", &["a_b"]),
        ("a\\", &["a\\b"]),
        ("a*", &["a*b"]),
        ("A", &["A%b"]),
        ("b", &[]),
    ] {
        let page = subject
            .list(&*admin, &List::new(bench.name(prefix).as_str()))
            .await;
        let names: Vec<Name> = page.records.into_iter().map(|(name, _)| name).collect();
        let expected: Vec<Name> = expected.iter().map(|label| bench.name(label)).collect();
        assert_eq!(names, expected, "names that start with {prefix:?}");
        assert_eq!(page.next, None);
    }
}

pub(super) async fn purge_deletes_only_what_is_a_week_past(bench: Bench) {
    let (admin, subject) = both(&bench).await;
    let (old, young) = (bench.name("old"), bench.name("young"));
    let (old_released, fresh) = (bench.name("old released"), bench.name("fresh"));
    let mut last = None;
    for name in [&young, &old_released, &fresh, &old] {
        let a = bench.term(name);
        let token = subject.grants(&a).await;
        if *name == old_released {
            subject.releases(&a, Some(token)).await;
        }
        // Kept now, since another case's purge may be faster than our read.
        last = Some(token);
    }
    // The lease is ten minutes, and the fixture counts from its end.
    for (name, days) in [(&old, 8), (&old_released, 8), (&young, 6)] {
        bench.age(name, DAY * days).await;
    }
    purge_until_gone(&bench, &admin, &[&old, &old_released]).await;
    // Whatever else the purge deleted, these records were too young.
    subject.purge(&*admin, 1000).await;
    assert!(
        subject.read(&young).await.is_some(),
        "purged a day before its time"
    );
    assert!(
        subject.read(&fresh).await.is_some(),
        "purged while it was held"
    );
    // A name that was purged continues above its old tokens (T1).
    assert!(Some(subject.grants(&bench.term(&old)).await) > last);
}

pub(super) async fn purge_keeps_a_token_that_is_ahead_of_the_clock(bench: Bench) {
    let (admin, subject) = both(&bench).await;
    let name = bench.name("");
    let witness = bench.name("witness");
    // If this record were purged, its name would restart below its last token.
    subject
        .grants(&bench.term(&name).floor((1 << 53) - 1_000))
        .await;
    subject.grants(&bench.term(&witness)).await;
    for name in [&name, &witness] {
        bench.age(name, DAY * 30).await;
    }
    purge_until_gone(&bench, &admin, &[&witness]).await;
    subject.purge(&*admin, 1000).await;
    assert!(
        subject.read(&name).await.is_some(),
        "a record was purged whose token is ahead of the clock"
    );
}

pub(super) async fn purge_stops_at_its_limit(bench: Bench) {
    let (admin, subject) = both(&bench).await;
    let names: Vec<Name> = (0..5).map(|i| bench.name(&i.to_string())).collect();
    for name in &names {
        subject.grants(&bench.term(name)).await;
        bench.age(name, DAY * 8).await;
    }
    // Their tokens are instants too; let the store's clock pass them.
    tokio::time::sleep(Duration::from_millis(50)).await;
    // Other cases purge the same store, so only the limit itself is certain.
    let before = count(&bench, &names).await;
    let purged = subject.purge(&*admin, 2).await;
    assert!(
        purged <= 2,
        "{purged} records were purged with a limit of 2"
    );
    let after = count(&bench, &names).await;
    assert!(
        bench.shared() || before - after == 2,
        "{before} records became {after} with a limit of 2"
    );
    purge_until_gone(&bench, &admin, &names.iter().collect::<Vec<_>>()).await;
}

async fn count(bench: &Bench, names: &[Name]) -> usize {
    let subject = bench.subject().await;
    let mut there = 0;
    for name in names {
        there += usize::from(subject.read(name).await.is_some());
    }
    there
}

/// Purges in small steps until these are gone; if they never are, the case's time limit ends it.
pub(super) async fn purge_until_gone(bench: &Bench, admin: &Arc<dyn Admin>, names: &[&Name]) {
    let subject = bench.subject().await;
    for name in names {
        while subject.read(name).await.is_some() {
            subject.purge(&**admin, 10).await;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}
