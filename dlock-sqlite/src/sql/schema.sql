-- Makes a file ours. No parameters, no result. Run inside the transaction that found it empty.
--
-- prefix    the provider's prefix, '' without one. A separate column, so that ('ab', 'c') and
--           ('a', 'bc') are two locks and both stay readable
-- name      the lock, compared byte by byte
-- uuid      the term, hyphenated
-- renewals  number of the newest applied renewal
-- owner     label of the holder, for people
-- since     when the term began: unix time in microseconds, for people
-- token     the fencing token
-- duration  the lease in milliseconds
-- released, asked   0 or 1
-- wanted    the mark of a waiter that was refused in this term, or 0 (N1)
-- data      what the holder stored with the lock, or null
-- boot      the boot whose clock `expiry` is on: see boot.rs
-- expiry    when the lease ends: nanoseconds on that clock; below 0 it ended before the boot
CREATE TABLE lock (
    prefix   TEXT    NOT NULL,
    name     TEXT    NOT NULL CHECK (length(name) > 0),
    uuid     TEXT    NOT NULL CHECK (length(uuid) = 36),
    renewals INTEGER NOT NULL CHECK (renewals BETWEEN 0 AND 9007199254740991),
    owner    TEXT    NOT NULL,
    since    INTEGER NOT NULL CHECK (since BETWEEN 0 AND 9007199254740991),
    token    INTEGER NOT NULL CHECK (token BETWEEN 1 AND 9007199254740991),
    duration INTEGER NOT NULL CHECK (duration BETWEEN 100 AND 86400000),
    released INTEGER NOT NULL CHECK (released IN (0, 1)),
    asked    INTEGER NOT NULL CHECK (asked IN (0, 1)),
    wanted   INTEGER NOT NULL CHECK (wanted BETWEEN 0 AND 4294967295),
    data     BLOB             CHECK (length(data) <= 4096),
    boot     TEXT    NOT NULL,
    expiry   INTEGER NOT NULL,
    PRIMARY KEY (prefix, name)
) STRICT, WITHOUT ROWID;
-- 'dlok', and the version of this layout.
PRAGMA application_id = 0x646c6f6b;
PRAGMA user_version = 1;
