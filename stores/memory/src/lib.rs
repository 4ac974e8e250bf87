#![doc = include_str!("../README.md")]

mod provider;
#[doc(hidden)]
#[expect(
    clippy::exhaustive_enums,
    clippy::exhaustive_structs,
    clippy::must_use_candidate,
    reason = "only for the bugs that prove the suite"
)]
pub mod rules;
mod store;

#[doc(hidden)]
pub use self::store::{Commit, Key};
pub use self::{provider::MemoryProvider, store::MemoryStore};
