//! The pages show what the data say.

use std::{fs, path::Path};

use dlock_figures::{Kept, PAGES, PARTS};

#[test]
fn every_part_has_data() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for part in &PARTS {
        let kept = Kept::read(&workspace, part.name).unwrap();
        assert!(kept.is_some(), "{}", part.name);
    }
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
