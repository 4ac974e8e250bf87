//! Stores by their URLs, as programs open them.

use std::ffi::OsStr;

use dlock_stores::{Program, Store, StoreError, locate};

/// The program that opens them.
pub(crate) const PROGRAM: Program = Program {
    name: "program",
    folder: "folder",
    set_up: "run 'program setup'",
    set_up_queue: "no queue",
    serves_many: false,
    warn: |warning| panic!("{warning}"),
};

pub(crate) async fn open(url: &str) -> Result<Store, StoreError> {
    locate(&PROGRAM, Some(OsStr::new(url)))?.open().await
}
