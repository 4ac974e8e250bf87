-- The table of locks. No parameters, no result; safe to repeat. The words in braces are filled in by `schema.rs`.
--
-- prefix    the provider's prefix, '' without one. A separate column, so that ('ab', 'c') and ('a', 'bc') are two
--           locks and both stay readable
-- name      the lock, compared and ordered byte by byte: as text, 'A' might equal 'a', and 'a' the same with a blank
-- uuid      the term
-- renewals  number of the newest applied renewal
-- owner     label of the holder, for people
-- since     when the term began, for people: microseconds since 1970, UTC, as every instant here. No type of date
--           says which zone it means
-- token     the fencing token
-- duration  the lease in milliseconds
-- expiry    when the lease ends
-- wanted    the mark of a waiter that was refused in this term (N1), 0 without one
-- data      what the holder stored with the lock, or null
--
-- No second index: a renewal changes no indexed column.
CREATE TABLE IF NOT EXISTS {table} (
    prefix   VARBINARY(1024) NOT NULL,
    name     VARBINARY(1024) NOT NULL,
    uuid     BINARY(16)      NOT NULL,
    renewals BIGINT          NOT NULL,
    owner    VARCHAR(1024)   CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    since    BIGINT          NOT NULL,
    token    BIGINT          NOT NULL,
    duration BIGINT          NOT NULL,
    expiry   BIGINT          NOT NULL,
    released TINYINT         NOT NULL,
    asked    TINYINT         NOT NULL,
    wanted   INT UNSIGNED    NOT NULL,
    data     VARBINARY(4096),
    PRIMARY KEY (prefix, name)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC
