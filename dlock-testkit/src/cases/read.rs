//! The contents of a record, as shown by `read`, in `Held`, and through another provider.

use crate::{
    Bench,
    subject::{began, unchanged},
};

pub(super) async fn read_shows_the_record_and_never_a_verdict(bench: Bench) {
    let subject = bench.subject().await;
    let a = bench
        .term_of(&bench.name(""), bench.lease())
        .data(Some(vec![1]));
    assert_eq!(subject.read(&a.name).await, None);
    let token = subject.grants(&a).await;
    bench.outlast(a.duration).await;
    let expired = subject.record(&a.name).await;
    began(&expired, &a, token);
    assert_eq!(
        expired.remaining,
        bench.store_clock().then_some(std::time::Duration::ZERO)
    );
    subject.releases(&a, Some(token)).await;
    let released = subject.record(&a.name).await;
    assert!(released.released && released.uuid == a.new, "{released:?}");
    assert_eq!(
        released.remaining, None,
        "nothing remains of a released term"
    );
}

pub(super) async fn read_changes_nothing(bench: Bench) {
    let subject = bench.subject().await;
    let a = bench.term(&bench.name("")).data(Some(vec![1]));
    subject.grants(&a).await;
    let before = subject.record(&a.name).await;
    for _ in 0..3 {
        unchanged(&before, &subject.record(&a.name).await);
    }
    subject.renews(&a, 1).await;
    assert_eq!(subject.record(&a.name).await.renewals, 1);
}

pub(super) async fn data_of_every_kind_is_kept(bench: Bench) {
    let subject = bench.subject().await;
    let full: Vec<u8> = (0..dlock_core::Record::MAX_DATA)
        .map(|byte| byte.to_le_bytes()[0])
        .collect();
    let kinds: [(&str, Option<Vec<u8>>); 6] = [
        ("none", None),
        ("empty", Some(vec![])),
        ("zero", Some(vec![0])),
        ("text", Some("grün, 'quoted', \\x00 \u{1f512}".into())),
        ("no text", Some(vec![0xff, 0xfe, 0, 0x80, b'\n'])),
        ("full", Some(full)),
    ];
    for (label, data) in kinds {
        let a = bench.term(&bench.name(label)).data(data.clone());
        subject.grants(&a).await;
        assert_eq!(subject.record(&a.name).await.data, data, "{label}: read");
        assert_eq!(
            subject.refuses(&bench.term(&a.name)).await.data,
            data,
            "{label}: Held"
        );
    }
}

pub(super) async fn data_is_untouched_by_renewal_and_release(bench: Bench) {
    let subject = bench.subject().await;
    let a = bench.term(&bench.name("")).data(Some(b"payload".to_vec()));
    let token = subject.grants(&a).await;
    subject.renews(&a, 1).await;
    assert_eq!(subject.record(&a.name).await.data, a.data);
    subject.releases(&a, Some(token)).await;
    assert_eq!(subject.record(&a.name).await.data, a.data);
}

pub(super) async fn owners_of_every_kind_are_kept(bench: Bench) {
    let subject = bench.subject().await;
    let long = "o".repeat(1024);
    for (label, owner) in [
        ("empty", ""),
        ("quotes", "o'hara \"x\" \\ %s {}"),
        ("text", "größe \u{1f512}\n "),
        ("long", &long),
    ] {
        let a = bench.term(&bench.name(label)).owner(owner);
        subject.grants(&a).await;
        assert_eq!(subject.record(&a.name).await.owner, owner, "{label}");
        assert_eq!(
            subject.refuses(&bench.term(&a.name)).await.owner,
            owner,
            "{label}"
        );
    }
}

pub(super) async fn every_provider_on_the_store_sees_the_same(bench: Bench) {
    let (one, two) = (bench.subject().await, bench.subject().await);
    let a = bench.term(&bench.name(""));
    let token = one.grants(&a).await;
    began(&two.record(&a.name).await, &a, token);
    two.refuses(&bench.term(&a.name)).await;
    assert_eq!(two.grants(&a).await, token);
    two.renews(&a, 1).await;
    two.releases(&a, Some(token)).await;
    assert!(one.loses(&a, 2).await.is_some_and(|record| record.released));
    let b = bench.term(&a.name);
    assert!(one.grants(&b).await > token);
    assert!(matches!(two.holds_not(&a).await, Some(record) if record.uuid == b.new));
}

pub(super) async fn provider_says_what_the_fixture_says(bench: Bench) {
    let clones = bench.clones(2).await;
    for provider in &clones {
        let (said, expected) = (provider.capabilities(), bench.capabilities());
        let fields = [
            ("backend", said.backend == expected.backend),
            ("discipline", said.discipline == expected.discipline),
            ("watch", said.watch == expected.watch),
            ("batch", said.batch == expected.batch),
            ("durability", said.durability == expected.durability),
            ("cheap_reads", said.cheap_reads == expected.cheap_reads),
            ("closing", said.closing == expected.closing),
            ("marks", said.marks == expected.marks),
        ];
        let differ = fields.iter().filter(|(_, same)| !same);
        let differ: Vec<_> = differ.map(|(field, _)| field).collect();
        assert_eq!(
            said, expected,
            "the provider, and `Fixture::CAPABILITIES`, which says something else of {differ:?}; over `dlock-cas` the \
             provider adds `closing(true)` to what the store says"
        );
        assert!(
            provider.capabilities().closing,
            "every provider closes names, and says so (B4)"
        );
        assert_eq!(
            provider.capabilities(),
            bench.capabilities(),
            "it changed its mind"
        );
        let stream = match provider.watch().await {
            Ok(stream) => stream,
            Err(error) => panic!("watch failed: {error:?}"),
        };
        assert_eq!(
            stream.is_some(),
            bench.capabilities().watch,
            "capabilities().watch"
        );
    }
}
