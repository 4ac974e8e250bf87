-- The server's clock in microseconds since 1970. All of a statement happens at the instant at which it began, so one
-- that has waited for a row knows only how late it was before. For what is judged after a wait this is a statement of
-- its own.
TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
