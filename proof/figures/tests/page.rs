//! The pages show what the data say.

use std::{fs, path::Path};

use dlock_figures::{Kept, PAGES, PARTS};

/// Parts whose figures on the pages are still those of older code, written by hand.
const PENDING: [&str; 1] = ["suite"];

#[test]
fn parts_have_data_but_for_those_that_are_pending() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let lacks = |part: &&str| Kept::read(&workspace, part).unwrap().is_none();
    let names = PARTS.iter().map(|part| part.name);
    assert_eq!(names.filter(lacks).collect::<Vec<_>>(), PENDING);
}

#[test]
fn pages_show_the_kept_figures() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for page in PAGES {
        let text = fs::read_to_string(workspace.join(page.file)).unwrap();
        let filled = page.filled(&workspace, &text);
        let filled = filled.unwrap_or_else(|error| panic!("{}: {error}", page.file));
        let differs = filled
            .lines()
            .zip(text.lines())
            .find(|(kept, shown)| kept != shown);
        assert!(
            filled == text,
            "{} shows other figures of `{}` than the data (`scripts/reliability fill` writes them): {differs:?}",
            page.file,
            page.part
        );
    }
}

#[test]
fn every_part_is_shown() {
    for part in &PARTS {
        assert!(
            PAGES.iter().any(|page| page.part == part.name),
            "{}",
            part.name
        );
    }
}
