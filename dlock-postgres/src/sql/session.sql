-- Whose session this is, and whether the server checks for its client while a statement runs. $1 the process number
-- that the connection received.
-- Result: one row: whether the connection has the session to itself; whether a statement ends when its client has gone.
-- In a session that the connection has to itself, if this check is not configured, the statement sets it to once a
-- second, as far as the server can: from PostgreSQL 14 on, and without an error only on Linux for certain. The setting
-- stays, and changes nothing for a connected client.
SELECT s.own, s.own AND coalesce(
    CASE WHEN s.own AND s.looks OPERATOR(pg_catalog.=) '0'
            AND pg_catalog.version() OPERATOR(pg_catalog.~~) '%-linux-%'
        THEN pg_catalog.set_config('client_connection_check_interval', '1s', false)
        ELSE s.looks
    END OPERATOR(pg_catalog.<>) '0', false)
FROM (
    SELECT pg_catalog.pg_backend_pid() OPERATOR(pg_catalog.=) $1 AS own,
        pg_catalog.current_setting('client_connection_check_interval', true) AS looks
) AS s
