use super::{Change, Edit, Refused, apply};

const SOURCE: &str = "fn due(&self) -> u64 {\n    let every = self.plan\n        .every;\n    self.sent + every\n}\n";

fn edit(find: &str, change: Change) -> Edit {
    Edit {
        package: String::new(),
        file: String::new(),
        within: None,
        find: find.to_owned(),
        change,
    }
}

fn swap(find: &str, new: &str) -> Edit {
    edit(find, Change::Swap(new.to_owned()))
}

fn applied(edits: &[Edit]) -> Result<String, (usize, Refused)> {
    let numbered: Vec<_> = edits.iter().enumerate().collect();
    apply(SOURCE, &numbered)
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}

#[test]
fn expression_is_swapped_while_its_bug_is_on() {
    let text = applied(&[swap("self.sent + every", "self.sent")]).unwrap();
    assert!(
        text.contains("(if crate::planted::is_on(0) { self.sent } else { self.sent + every })"),
        "{text}"
    );
}

#[test]
fn formatting_of_the_source_does_not_matter() {
    let text = applied(&[swap("let every = self.plan.every;", "let every = 0;")]).unwrap();
    assert!(
        squeezed(&text).contains(
            "ifcrate::planted::is_on(0){letevery=0;}else{letevery=self.plan.every;}self.sent"
        ),
        "{text}"
    );
}

#[test]
fn bugs_that_swap_the_same_text_are_told_apart() {
    let text = applied(&[swap("self.sent + every", "0"), swap("self.sent+every", "1")]).unwrap();
    assert!(
        text.contains(
            "(if crate::planted::is_on(0) { 0 } else if crate::planted::is_on(1) { 1 } else { self.sent + every })"
        ),
        "{text}"
    );
}

#[test]
fn statements_are_put_before_the_text_variables_first() {
    let before = edit("self.sent + every", Change::Before("return 7;".to_owned()));
    let insert = edit("self.sent + every", Change::Insert("let n = 7;".to_owned()));
    let text = applied(&[before, insert, swap("self.sent", "n")]).unwrap();
    assert!(
        squeezed(&text).contains(
            "letn=7;ifcrate::planted::is_on(0){return7;}(ifcrate::planted::is_on(2){n}else{self.sent})+every"
        ),
        "{text}"
    );
}

#[test]
fn patch_knows_its_switch_and_items_come_last() {
    let patch = edit(
        "-> u64 {",
        Change::Patch("-> u64 { dbg(PLANTED);".to_owned()),
    );
    let items = edit("", Change::Append("fn dbg(_: bool) {}".to_owned()));
    let text = applied(&[patch, items]).unwrap();
    assert!(
        text.contains("-> u64 { dbg(crate::planted::is_on(0));"),
        "{text}"
    );
    assert!(text.ends_with("fn dbg(_: bool) {}\n"), "{text}");
}

#[test]
fn text_that_is_not_there_once_is_refused() {
    let refused = applied(&[swap("every", "0")]).unwrap_err();
    assert!(
        matches!(refused, (0, Refused::Found { times: 3, .. })),
        "{refused:?}"
    );
    let refused = applied(&[swap("gone", "0")]).unwrap_err();
    assert!(
        matches!(refused, (0, Refused::Found { times: 0, .. })),
        "{refused:?}"
    );
    let refused = applied(&[swap(" ", "0")]).unwrap_err();
    assert!(
        matches!(refused, (0, Refused::Found { times: 0, .. })),
        "{refused:?}"
    );
}

#[test]
fn text_is_found_within_a_part() {
    let mut every = swap("every", "0");
    every.within = Some("self.sent + every".to_owned());
    let text = applied(&[every]).unwrap();
    assert!(
        text.contains("self.sent + (if crate::planted::is_on(0) { 0 } else { every })"),
        "{text}"
    );
}

#[test]
fn overlapping_texts_are_refused() {
    for (one, other) in [
        ("self.sent + every", "self.sent"),
        ("self.sent", "sent + every"),
    ] {
        let refused = applied(&[swap(one, "0"), swap(other, "1")]).unwrap_err();
        assert!(matches!(refused, (1, Refused::Overlaps(_))), "{refused:?}");
    }
    let patch = edit("self.sent", Change::Patch("0".to_owned()));
    let refused = applied(&[swap("self.sent", "0"), patch.clone()]).unwrap_err();
    assert!(matches!(refused, (1, Refused::Overlaps(_))), "{refused:?}");
    let refused = applied(&[patch, swap("self.sent", "0")]).unwrap_err();
    assert!(matches!(refused, (1, Refused::Overlaps(_))), "{refused:?}");
}
