#![doc = include_str!("../README.md")]
//! # A whole store
//! ```
#![doc = include_str!("../examples/memory/store.rs")]
//! ```

mod admin;
mod cache;
mod clock;
mod hints;
mod key;
mod provider;
mod record;
mod rounds;
mod rules;
mod store;
#[cfg(test)]
mod tests;

pub use self::{
    hints::Hints,
    provider::CasProvider,
    store::{CasAdmin, CasStore, Entry, Put},
};
