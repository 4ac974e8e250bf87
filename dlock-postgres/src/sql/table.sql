-- The table of locks, and what makes a row a record. No parameters, no result; safe to repeat.
-- The words in braces are the quoted names that `schema.rs` puts in.
--
-- prefix    the provider's prefix, '' without one. A column of its own, so that ('ab', 'c') and
--           ('a', 'bc') are two locks and both stay readable
-- name      the lock, compared and ordered byte by byte
-- uuid      the term
-- renewals  number of the newest applied renewal
-- owner     label of the holder, for people
-- since     when the term began, for people
-- token     the fencing token
-- duration  the lease in milliseconds
-- expiry    when the lease ends. With a time zone: without one, a session in another zone would
--           read another instant and steal a live lease
-- data      what the holder stored beside the lock, or null
--
-- Not unlogged: such a table is emptied after a crash. Room on each page keeps renewals, which
-- change no indexed column, on the page of the row they replace, where they cost no vacuum. For the
-- same reason there is no second index.
--
-- No CHECK constraints: the server reads the text of each one anew for every statement that writes. With
-- those that say what the function below says, an update of one row took 55 us, and 9 without.
DO $dlock$
BEGIN
    -- Not IF NOT EXISTS: that asks for the right to create schemas even where there is nothing to create.
    IF to_regnamespace('{schema}') IS NULL THEN
        CREATE SCHEMA {schema};
    END IF;
END
$dlock$;

CREATE TABLE IF NOT EXISTS {table} (
    prefix   text        COLLATE "C" NOT NULL,
    name     text        COLLATE "C" NOT NULL,
    uuid     uuid        NOT NULL,
    renewals bigint      NOT NULL,
    owner    text        NOT NULL,
    since    timestamptz NOT NULL,
    token    bigint      NOT NULL,
    duration bigint      NOT NULL,
    expiry   timestamptz NOT NULL,
    released boolean     NOT NULL,
    asked    boolean     NOT NULL,
    data     bytea,
    PRIMARY KEY (prefix, name)
) WITH (fillfactor = 70);

-- What makes a row a record. Anybody may have put anything into the table, and a row that is no record
-- of ours is shown as it is and never written to.
CREATE OR REPLACE FUNCTION {sound}(l {table}) RETURNS boolean LANGUAGE sql IMMUTABLE AS $dlock$
    SELECT coalesce(
        l.uuid IS NOT NULL AND l.renewals BETWEEN 0 AND 9007199254740991 AND octet_length(l.owner) <= 1024
        AND l.since BETWEEN to_timestamp(0) AND to_timestamp(9007199254) AND l.token BETWEEN 1 AND 9007199254740991
        AND l.duration BETWEEN 100 AND 86400000 AND isfinite(l.expiry)
        AND l.released IS NOT NULL AND l.asked IS NOT NULL AND coalesce(octet_length(l.data), 0) <= 4096,
        false)
$dlock$;
