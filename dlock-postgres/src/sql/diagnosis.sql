-- Reasons why a server that answers does not write. No parameters.
-- Result: one row: whether it is a standby; whether this session may only read; whether a session of
-- ours has waited for a synchronous standby for more than a second. (Only users who may read all
-- statistics see that of other users' sessions.)
SELECT
    pg_catalog.pg_is_in_recovery(),
    pg_catalog.current_setting('transaction_read_only') OPERATOR(pg_catalog.=) 'on',
    EXISTS (
        SELECT FROM pg_catalog.pg_stat_activity AS a
        WHERE a.wait_event OPERATOR(pg_catalog.=) 'SyncRep'
            AND a.query_start OPERATOR(pg_catalog.<)
                (pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) interval '1 second')
    )
