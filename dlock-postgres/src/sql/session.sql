-- Whose session this is, and whether the server looks for its client while a statement runs. $1 the process that the
-- connection was promised.
-- Result: one row: whether the session is the connection's own; whether a statement ends when its client has gone.
-- A session of its own where nothing is said of that is told to look once a second, as far as the server can: from
-- PostgreSQL 14 on, and without an error only on Linux for certain. It stays so, and changes nothing for a client that
-- is there.
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
