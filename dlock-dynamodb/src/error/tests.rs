//! The kind of each refusal by DynamoDB.

use super::*;

#[test]
fn refusals_have_the_kind_that_their_cause_has() {
    for (code, kind) in [
        ("ResourceNotFoundException", ErrorKind::Fatal),
        ("AccessDeniedException", ErrorKind::Fatal),
        ("ValidationException", ErrorKind::Fatal),
        ("UnrecognizedClientException", ErrorKind::Fatal),
        ("ThrottlingException", ErrorKind::NotApplied),
        (
            "ProvisionedThroughputExceededException",
            ErrorKind::NotApplied,
        ),
        ("ReplicatedWriteConflictException", ErrorKind::NotApplied),
        ("ExpiredTokenException", ErrorKind::NotApplied),
        ("SomethingNew", ErrorKind::NotApplied),
    ] {
        assert_eq!(meaning(code, "locks").0, kind, "{code}");
    }
}
