//! The provider passes the conformance suite on a table with one key attribute.

struct OneKey;

impl crate::common::table::Kind for OneKey {}

crate::suite!(OneKey);
