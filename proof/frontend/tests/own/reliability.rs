//! `RELIABILITY.md` answers every invariant. Whether the tests that it names were run is a matter of
//! `scripts/named-tests`.

#[test]
fn every_invariant_has_a_line_that_names_a_test() {
    let page = include_str!("../../../../RELIABILITY.md");
    for number in 1..=18 {
        let begins = format!("| I{number} |");
        let line = page.lines().find(|line| line.starts_with(&begins));
        let line = line.unwrap_or_else(|| panic!("I{number} has no line"));
        let mut words = line.split('`').skip(1).step_by(2);
        assert!(words.any(|word| word.contains('_')), "no test: {line}");
    }
}
