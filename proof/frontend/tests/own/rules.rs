//! Nothing unanswered: every rule, invariant and acceptance number in work has a case that names it,
//! or stands in a list that says why not and what answers it instead.

#![expect(clippy::expect_used, reason = "in a test, that is how it fails")]

use std::{collections::BTreeSet, fs, path::Path};

use dlock_proof::cases;
use dlock_testkit::{Case, wire};

/// What there is to cover: the protocol's rules, the invariants, and acceptance numbers.
const RULES: &[&str] = &[
    "A1",
    "A2",
    "A3",
    "A4",
    "A5",
    "A6",
    "A7",
    "R1",
    "R2",
    "R3",
    "L1",
    "L2",
    "L3",
    "read",
    "renew_many",
    "two looks",
    "E1",
    "O1",
    "O2",
    "O3",
    "O4",
    "V1",
    "V2",
    "V3",
    "V4",
    "V5",
    "V6",
    "V7",
    "V8",
    "V9",
    "T1",
    "T2",
    "T3",
    "T4",
    "T5",
    "T6",
    "G1",
    "G2",
    "G3",
    "G4",
    "C1",
    "C2",
    "C3",
    "W1",
    "W2",
    "W3",
    "W4",
    "W5",
    "W6",
    "W7",
    "W8",
    "F1",
    "F2",
    "F3",
    "F4",
    "F5",
    "F6",
    "F7",
    "F8",
    "F9",
    "F10",
    "F11",
    "F12",
    "F13",
    "F14",
    "H1",
    "H2",
    "H3",
    "H4",
    "H5",
    "H6",
    "H7",
    "H8",
    "H9",
    "H10",
    "H11",
    "S1",
    "S2",
    "S3",
    "S4",
    "S7",
    "B1",
    "B2",
    "B3",
    "B4",
    "data",
    "I1",
    "I2",
    "I3",
    "I4",
    "I5",
    "I6",
    "I7",
    "I8",
    "I9",
    "I10",
    "I11",
    "I12",
    "I13",
    "I14",
    "I15",
    "I16",
    "I17",
    "I18",
    "000-1",
    "000-2",
    "000-3",
    "000-4",
    "001-1",
    "001-2",
    "001-3",
    "001-4",
    "001-5",
    "003-1",
    "003-2",
    "003-3",
    "003-4",
    "003-5",
    "003-6",
    "003-7",
    "003-8",
    "003-9",
    "003-10",
    "003-11",
    "003-12",
];

/// What cases cover beyond the numbered rules.
const WORDS: &[&str] = &[
    "capabilities",
    "watch",
    "list",
    "longest hold",
    "no re-entrancy",
];

/// Rules that no case can check, why, and what answers them: a file of the workspace and words in it.
const ELSEWHERE: &[(&str, &str, &str, &str)] = &[
    (
        "C1",
        "callers do not see which task does their work",
        "dlock-core/src/store/driven/tests.rs",
        "fn work_that_its_caller_drives_needs_no_task_but_the_watchdog",
    ),
    (
        "T3",
        "a rule of resources, not of providers",
        "dlock-core/src/api/fence.rs",
        "fence.check(older).unwrap_err()",
    ),
    (
        "T4",
        "says what no lease can promise, so the docs must say it first",
        "README.md",
        "fencing token",
    ),
    (
        "I5",
        "needs a resource; every store's storage is proved by these stories",
        "dlock-testkit/src/storage/crowd.rs",
        "was admitted after {known:?} (I5)",
    ),
    (
        "V3",
        "of the machine's own clocks",
        "dlock-core/src/time/clock.rs",
        "system_clock_runs_forward_for_both",
    ),
    (
        "E1",
        "needs a connection that breaks; the wire cases check it",
        "dlock-testkit/src/wire/cases.rs",
        "refused_connection_is_not_applied",
    ),
    (
        "F3",
        "of one client's count of its wins: a case sees only shares, and those are a statistic",
        "dlock-core/src/names/fairness/tests.rs",
        "unseen_others_get_a_chance_now_and_then",
    ),
    (
        "F5",
        "of one client's count of idle yields",
        "dlock-core/src/names/fairness/tests.rs",
        "client_that_nobody_came_after_forgets_the_others_after_a_while",
    ),
    (
        "F10",
        "an interval between tries, which the simulation watches",
        "dlock-core/src/waiting/reserving/tests.rs",
        "lock_that_is_kept_is_not_asked_for_in_a_hurry",
    ),
    (
        "F11",
        "of when one client looks: a case sees only that others are let in",
        "dlock-core/src/names/fairness/tests.rs",
        "client_that_keeps_a_name_looks_for_a_reservation_twice_in_a_tenure",
    ),
    (
        "F14",
        "a part of a limit; that limits hold while a name is left to others is watched by the simulation",
        "dlock-core/src/waiting/leaving.rs",
        "left / 2",
    ),
    (
        "000-4",
        "needs a clock to set",
        "dlock-testkit/tests/own/memory_store.rs",
        "step_of_the_wall_clock_changes_no_lease",
    ),
    (
        "001-5",
        "an example program on a store of its own",
        "examples/tests/suite/programs/diagrams.rs",
        "001-5",
    ),
    (
        "003-5",
        "needs a clock to set",
        "dlock-dynamodb/src/tests.rs",
        "clocks_hours_apart_change_nothing",
    ),
    (
        "003-10",
        "of DynamoDB's tables alone",
        "dlock-dynamodb/tests/dynamodb/table.rs",
        "create_table",
    ),
];

#[test]
fn every_rule_has_a_case_or_a_reason() {
    let covered = covered();
    let elsewhere: BTreeSet<&str> = ELSEWHERE.iter().map(|(rule, ..)| *rule).collect();
    let open: Vec<&&str> = RULES
        .iter()
        .filter(|rule| !covered.contains(**rule) && !elsewhere.contains(**rule))
        .collect();
    assert!(open.is_empty(), "no case names these rules: {open:?}");
}

#[test]
fn every_rule_that_a_case_names_exists() {
    let on_the_wire = wire::CASES.iter().flat_map(|case| case.rules).copied();
    let unknown: Vec<&str> = covered()
        .into_iter()
        .chain(on_the_wire)
        .filter(|rule| !RULES.contains(rule) && !WORDS.contains(rule))
        .collect();
    assert!(
        unknown.is_empty(),
        "cases name rules that do not exist: {unknown:?}"
    );
    let mute: Vec<&str> = cases()
        .filter(|case| case.rules.is_empty())
        .map(|case| case.name)
        .collect();
    assert!(mute.is_empty(), "these cases name no rule: {mute:?}");
}

#[test]
fn reasons_are_not_stale() {
    let (covered, known) = (covered(), RULES.iter().collect::<BTreeSet<_>>());
    for (rule, why, file, words) in ELSEWHERE {
        assert!(known.contains(rule), "{rule} is no rule");
        assert!(
            !covered.contains(rule),
            "{rule} has a case now: it needs no reason ({why})"
        );
        let text = fs::read_to_string(root().join(file))
            .unwrap_or_else(|error| panic!("{rule}: {file}: {error}"));
        assert!(
            text.contains(words),
            "{rule}: {file} does not contain {words:?} any more"
        );
    }
}

#[test]
fn list_of_rules_is_that_of_the_protocol_as_explained() {
    // DESIGN.md explains the rules to readers; a number that it mentions must be in the list.
    let design = design();
    let numbers = numbers(&design);
    assert!(numbers.len() > 30, "DESIGN.md mentions only {numbers:?}");
    let missing: Vec<&&str> = numbers
        .iter()
        .filter(|number| !RULES.contains(number))
        .collect();
    assert!(
        missing.is_empty(),
        "rules that DESIGN.md explains and nothing covers: {missing:?}"
    );
}

#[test]
fn index_of_rules_names_each_rule_and_a_file_that_quotes_it() {
    let design = design();
    let (chapters, index) = design
        .split_once("\n## The rules, and where they are kept\n")
        .expect("DESIGN.md ends with an index of its rules");
    let mut listed = BTreeSet::new();
    for row in index.lines().filter(|line| line.starts_with("| ")).skip(1) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [rule, meaning, files] = cells[..] else {
            panic!("not a row of three cells: {row}");
        };
        assert!(!meaning.is_empty(), "{rule}: no meaning");
        assert!(listed.insert(rule), "{rule}: listed twice");
        let mut links = files.split("](").skip(1);
        let mut kept = 0;
        while let Some((file, _)) = links.next().and_then(|link| link.split_once(')')) {
            let text = fs::read_to_string(root().join("dlock-core").join(file))
                .unwrap_or_else(|error| panic!("{rule}: {file}: {error}"));
            assert!(
                numbers(&text).contains(rule),
                "{rule}: {file} does not quote it"
            );
            kept += 1;
        }
        assert!(kept > 0, "{rule}: kept nowhere");
    }
    let stated = numbers(chapters);
    let missing: Vec<_> = stated.difference(&listed).collect();
    assert!(missing.is_empty(), "not in the index: {missing:?}");
    let gone: Vec<_> = listed.difference(&stated).collect();
    assert!(
        gone.is_empty(),
        "in the index, and stated nowhere: {gone:?}"
    );
}

/// What looks like the number of a rule.
fn numbers(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| {
            let mut letters = word.chars();
            letters
                .next()
                .is_some_and(|first| "ACRLEOVTGWFBHIS".contains(first))
                && !letters.as_str().is_empty()
                && letters.all(|digit| digit.is_ascii_digit())
        })
        .collect()
}

fn design() -> String {
    fs::read_to_string(root().join("dlock-core/DESIGN.md"))
        .expect("DESIGN.md explains the protocol")
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("the crate lies in a workspace")
}

fn covered() -> BTreeSet<&'static str> {
    cases().flat_map(|case| case.rules).copied().collect()
}

/// Every provider's and every one of the frontend.
fn cases() -> impl Iterator<Item = &'static Case> {
    dlock_testkit::CASES.iter().chain(cases::CASES)
}
