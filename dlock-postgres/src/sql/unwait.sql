-- This session listens for these hints no longer; each was in the result of wait.sql once. $1 the hints.
-- Result: a row for each hint.
SELECT pg_catalog.pg_advisory_unlock_shared({slot})
FROM pg_catalog.unnest($1) AS h (p_hint)
