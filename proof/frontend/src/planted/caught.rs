//! Which cases catch which flaw: found by running all against all, and kept, so that a case that
//! stops biting, or bites too much, is noticed.

use super::Flaw;

/// A table of flaws and the cases that fail because of them.
pub(super) type Table = &'static [(Flaw, &'static [&'static str])];

macro_rules! caught {
    ($($flaw:ident: $($case:ident)*;)*) => {
        pub(super) const TABLE: super::Table = &[$((super::super::Flaw::$flaw, &[$(stringify!($case)),*])),*];
    };
}
mod acquire;
mod admin;
mod blocks;
mod list;
pub(super) mod locks;
mod names;
mod read;
mod release;
mod renew;
mod tokens;
mod watch;

/// All of them.
pub(super) const TABLES: &[Table] = &[
    acquire::TABLE,
    admin::TABLE,
    blocks::TABLE,
    list::TABLE,
    names::TABLE,
    read::TABLE,
    release::TABLE,
    renew::TABLE,
    tokens::TABLE,
    watch::TABLE,
];
