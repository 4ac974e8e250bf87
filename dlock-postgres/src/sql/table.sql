-- The table of locks, and the conditions for a record. No parameters, no result; safe to repeat. The words in braces
-- are the quoted names that `schema.rs` puts in.
--
-- prefix    the provider's prefix, '' without one. A separate column, so that ('ab', 'c') and
--           ('a', 'bc') are two locks and both stay readable
-- name      the lock, compared and ordered byte by byte
-- uuid      the term
-- renewals  number of the newest applied renewal
-- owner     label of the holder, for people
-- since     when the term began, for people
-- token     the fencing token
-- duration  the lease in milliseconds
-- wanted    the mark of a waiter that was refused in this term (N1), 0 without one
-- expiry    when the lease ends. With a time zone: without one, a session in another zone would
--           read another instant and steal a live lease
-- data      what the holder stored with the lock, or null
--
-- Not unlogged: such a table is emptied after a crash. Renewals change no indexed column; room on each page keeps them
-- on the page of the row they replace, where they cost no vacuum. For the same reason there is no second index.
--
-- No CHECK constraints: the server reads the text of each one anew for every statement that writes. With constraints
-- for the conditions of the function below, an update of one row took 55 us, and 9 without.
DO $dlock$
BEGIN
    -- Not IF NOT EXISTS: that requires the right to create schemas even if there is nothing to create.
    IF pg_catalog.to_regnamespace('{schema}') IS NULL THEN
        CREATE SCHEMA {schema};
    END IF;
END
$dlock$;

CREATE TABLE IF NOT EXISTS {table} (
    prefix   pg_catalog.text        COLLATE pg_catalog."C" NOT NULL,
    name     pg_catalog.text        COLLATE pg_catalog."C" NOT NULL,
    uuid     pg_catalog.uuid        NOT NULL,
    renewals bigint                 NOT NULL,
    owner    pg_catalog.text        NOT NULL,
    since    pg_catalog.timestamptz NOT NULL,
    token    bigint                 NOT NULL,
    duration bigint                 NOT NULL,
    expiry   pg_catalog.timestamptz NOT NULL,
    released boolean                NOT NULL,
    asked    boolean                NOT NULL,
    wanted   bigint                 NOT NULL,
    data     pg_catalog.bytea,
    PRIMARY KEY (prefix, name)
) WITH (fillfactor = 70);

-- The conditions for a row to be a record. Any program may have put anything into the table, and a row that is no
-- record of ours is shown as it is and never written to. The planner inlines this text in place of a call, and would
-- not if the function had its own search_path; so each name says where it is.
CREATE OR REPLACE FUNCTION {sound}(l {table}) RETURNS boolean LANGUAGE sql IMMUTABLE AS $dlock$
    SELECT coalesce(
        l.uuid IS NOT NULL
        AND l.renewals OPERATOR(pg_catalog.>=) 0 AND l.renewals OPERATOR(pg_catalog.<=) 9007199254740991
        AND pg_catalog.octet_length(l.owner) OPERATOR(pg_catalog.<=) 1024
        AND l.since OPERATOR(pg_catalog.>=) pg_catalog.to_timestamp(0)
        AND l.since OPERATOR(pg_catalog.<=) pg_catalog.to_timestamp(9007199254)
        AND l.token OPERATOR(pg_catalog.>=) 1 AND l.token OPERATOR(pg_catalog.<=) 9007199254740991
        AND l.duration OPERATOR(pg_catalog.>=) 100 AND l.duration OPERATOR(pg_catalog.<=) 86400000
        AND pg_catalog.isfinite(l.expiry) AND l.released IS NOT NULL AND l.asked IS NOT NULL
        AND l.wanted OPERATOR(pg_catalog.>=) 0 AND l.wanted OPERATOR(pg_catalog.<=) 4294967295
        AND coalesce(pg_catalog.octet_length(l.data), 0) OPERATOR(pg_catalog.<=) 4096,
        false)
$dlock$;
