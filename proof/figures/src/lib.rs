//! The figures of `RELIABILITY.md`: the commands that they come from, the data that they were, and the
//! pages that show them.
//!
//! `scripts/reliability` runs the commands of each part. They print lines that begin with `figures: ` and
//! go on in JSON; these are kept in `data/PART.json`, beside the commit and the date. The pages are
//! filled from the data between two marks, and a test fails if a page shows anything else.

mod kept;
mod page;
mod part;
mod repeat;
mod show;

pub use self::{
    kept::Kept,
    page::{PAGES, Page},
    part::{PARTS, Part},
    repeat::repeat,
};
