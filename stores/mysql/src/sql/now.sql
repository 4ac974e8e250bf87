-- The server's clock in microseconds since 1970. Within a statement it stands at the instant at which the statement
-- began, even if the statement has waited for a row since. A judgement after a wait therefore needs a separate
-- statement.
TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
