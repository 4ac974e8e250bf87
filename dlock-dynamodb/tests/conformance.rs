//! The provider passes the conformance suite on a table with one key attribute.

mod common;

struct OneKey;

impl common::table::Kind for OneKey {}

suite!(OneKey);
