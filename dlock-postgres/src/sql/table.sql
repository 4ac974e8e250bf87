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
    name     text        COLLATE "C" NOT NULL CHECK (octet_length(prefix) + octet_length(name) BETWEEN 1 AND 1024),
    uuid     uuid        NOT NULL,
    renewals bigint      NOT NULL CHECK (renewals BETWEEN 0 AND 9007199254740991),
    owner    text        NOT NULL CHECK (octet_length(owner) <= 1024),
    since    timestamptz NOT NULL CHECK (since BETWEEN to_timestamp(0) AND to_timestamp(9007199254)),
    token    bigint      NOT NULL CHECK (token BETWEEN 1 AND 9007199254740991),
    duration bigint      NOT NULL CHECK (duration BETWEEN 100 AND 86400000),
    expiry   timestamptz NOT NULL CHECK (isfinite(expiry)),
    released boolean     NOT NULL,
    asked    boolean     NOT NULL,
    data     bytea                CHECK (octet_length(data) <= 4096),
    PRIMARY KEY (prefix, name)
) WITH (fillfactor = 70);

-- What the constraints above say, asked of a row: somebody may have dropped them, and a row that is
-- no record of ours is shown as it is and never written to.
CREATE OR REPLACE FUNCTION {sound}(l {table}) RETURNS boolean LANGUAGE sql IMMUTABLE AS $dlock$
    SELECT coalesce(
        l.uuid IS NOT NULL AND l.renewals BETWEEN 0 AND 9007199254740991 AND octet_length(l.owner) <= 1024
        AND l.since BETWEEN to_timestamp(0) AND to_timestamp(9007199254) AND l.token BETWEEN 1 AND 9007199254740991
        AND l.duration BETWEEN 100 AND 86400000 AND isfinite(l.expiry)
        AND l.released IS NOT NULL AND l.asked IS NOT NULL AND coalesce(octet_length(l.data), 0) <= 4096,
        false)
$dlock$;
