//! Names that differ in any byte are different locks.

use dlock_core::{
    FencingToken, Name,
    provider::{Acquire, AcquireOutcome},
};

use crate::Bench;

/// Pairs and families of names that stores confuse: case, padding, normal forms, wildcards, separators, quoting,
/// look-alikes.
const TROUBLE: [&str; 59] = [
    "a",
    "A",
    "a ",
    " a",
    "a  ",
    "a\t",
    "a\n",
    "a\r\n",
    "aa",
    "a.",
    "a/",
    "a:",
    "a;",
    "a,",
    "a|",
    "a#b",
    "a%",
    "a_",
    "a%b",
    "a_b",
    "axb",
    "a*",
    "a?",
    "a>",
    "a=2E",
    "a~2E",
    "a%2F",
    "a&b=c",
    "a//b",
    "a/./b",
    "a/../b",
    "..",
    "$KV",
    "[a]",
    "{a}",
    "(a)",
    "a'",
    "a''",
    "a\"",
    "a\\",
    "a'; --",
    "$1",
    ":a",
    "@a",
    "\u{e1}",
    "a\u{301}",
    "\u{c1}",
    "ss",
    "\u{df}",
    "\u{fb01}",
    "fi",
    "i",
    "\u{131}",
    "\u{130}",
    "a\u{7f}",
    "\u{200b}",
    "\u{ffff}",
    "\u{1f512}",
    "\u{10ffff}",
];

pub(super) async fn names_that_differ_in_a_byte_are_different_locks(bench: Bench) {
    let subject = bench.subject().await;
    let mut terms: Vec<(&str, Acquire, FencingToken)> = Vec::new();
    for label in TROUBLE {
        let a = bench.term(&bench.name(label));
        match subject.acquire(&a).await {
            AcquireOutcome::Acquired(tokens) => terms.push((label, a, tokens.last())),
            AcquireOutcome::Held(record) => {
                let met = terms.iter().find(|(_, other, _)| other.new == record.uuid);
                let met = met.map(|(label, ..)| label);
                panic!("{label:?} is one lock with another name: {met:?}, held by {record:?}");
            }
            AcquireOutcome::Spent => panic!("a fresh term of {label:?} is spent"),
        }
    }
    for (label, a, token) in &terms {
        let record = subject.record(&a.name).await;
        assert_eq!(
            (record.uuid, record.token),
            (a.new, *token),
            "{label:?} met another name"
        );
    }
    // A release frees only its own name.
    let (_, first, token) = &terms[0];
    subject.releases(first, Some(*token)).await;
    for (label, a, _) in &terms[1..] {
        assert!(
            !subject.record(&a.name).await.released,
            "{label:?} was released under the name {:?}",
            terms[0].0
        );
    }
}

pub(super) async fn long_names_are_compared_to_their_end(bench: Bench) {
    let subject = bench.subject().await;
    let longest = bench.name_bytes();
    for bytes in [64, 128, 200, 255, 256, 257, 512, 767, 1000, longest] {
        let stem = bench.name("").as_str().to_owned();
        if bytes <= stem.len() + 1 || bytes > longest {
            continue;
        }
        let padded = format!("{stem}{}", "x".repeat(bytes - stem.len() - 1));
        let (one, two) = (named(&format!("{padded}1")), named(&format!("{padded}2")));
        let (a, b) = (bench.term(&one), bench.term(&two));
        subject.grants(&a).await;
        subject.grants(&b).await;
        assert_eq!(subject.record(&one).await.uuid, a.new, "{bytes} bytes");
        assert_eq!(subject.record(&two).await.uuid, b.new, "{bytes} bytes");
    }
}

pub(super) async fn longest_name_may_be_of_any_script(bench: Bench) {
    let subject = bench.subject().await;
    let stem = bench.name("").as_str().to_owned();
    let room = bench.name_bytes() - stem.len();
    // Two bytes per character, and the remainder in ASCII; the names differ at the very end.
    let padded = format!(
        "{stem}{}{}",
        "x".repeat(room % 2),
        "\u{fc}".repeat(room / 2 - 1)
    );
    let (one, two) = (
        named(&format!("{padded}\u{fc}")),
        named(&format!("{padded}\u{e4}")),
    );
    let (a, b) = (bench.term(&one), bench.term(&two));
    let token = subject.grants(&a).await;
    subject.grants(&b).await;
    subject.renews(&a, 1).await;
    subject.releases(&a, Some(token)).await;
    assert_eq!(subject.record(&one).await.uuid, a.new);
    assert_eq!(subject.record(&two).await.uuid, b.new);
}

pub(super) async fn prefix_and_name_are_kept_apart(bench: Bench) {
    let plain = bench.subject().await;
    let (ab, a) = (bench.prefixed("ab").await, bench.prefixed("a").await);
    let tail = bench.name("");
    let (c, bc) = (named(&format!("c{tail}")), named(&format!("bc{tail}")));
    let abc = named(&format!("abc{tail}"));
    let (one, two, three) = (bench.term(&c), bench.term(&bc), bench.term(&abc));
    // ("ab", "c"), ("a", "bc") and ("", "abc") look alike if prefix and name are merely concatenated.
    ab.grants(&one).await;
    a.grants(&two).await;
    plain.grants(&three).await;
    assert_eq!(ab.record(&c).await.uuid, one.new);
    assert_eq!(a.record(&bc).await.uuid, two.new);
    assert_eq!(plain.record(&abc).await.uuid, three.new);
    // One name under two prefixes is two locks, and under one prefix it is one.
    a.grants(&bench.term(&c)).await;
    bench.prefixed("ab").await.refuses(&bench.term(&c)).await;
}

pub(super) async fn name_that_is_too_long_with_its_prefix_is_refused(bench: Bench) {
    // If it were cut short, it would be another name's lock.
    let prefixed = bench.prefixed("a").await;
    let stem = bench.name("").as_str().to_owned();
    let padded = format!("{stem}{}", "x".repeat(Name::MAX_BYTES - stem.len() - 1));
    for last in ["1", "2"] {
        prefixed
            .fails(&bench.term(&named(&format!("{padded}{last}"))))
            .await;
    }
}

fn named(name: &str) -> Name {
    Name::new(name).unwrap_or_else(|error| panic!("{name:?}: {error}"))
}
