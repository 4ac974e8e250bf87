-- Says that this session listens for hints, for as long as it lasts or until unwait.sql says otherwise. It waits for
-- nobody. $1 the hints.
-- Result: a row for each hint for which it is so: its place among them, from 1. In the meantime a release may have had
-- the lock of each other one alone, and told nobody.
SELECT h.place
FROM pg_catalog.unnest($1) WITH ORDINALITY AS h (p_hint, place)
WHERE pg_catalog.pg_try_advisory_lock_shared({slot})
