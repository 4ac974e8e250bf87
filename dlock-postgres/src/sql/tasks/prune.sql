-- Deletes tasks that ended long ago. $1 states, $2 how long ago in microseconds, for each, $3 the greatest number of
-- tasks.
-- Result: how many.
WITH old AS (
    SELECT o.id
    FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2)) AS a (state, age) CROSS JOIN LATERAL (
        SELECT d.id FROM {done} AS d
        WHERE d.state OPERATOR(pg_catalog.=) a.state
            AND d.ended OPERATOR(pg_catalog.<=) (
                (SELECT pg_catalog.clock_timestamp()) OPERATOR(pg_catalog.-)
                (a.age::double precision OPERATOR(pg_catalog.*) interval '1 microsecond'))
        ORDER BY d.ended
        LIMIT $3
        FOR UPDATE SKIP LOCKED
    ) AS o
    LIMIT $3
), deleted AS (
    DELETE FROM {done} AS d USING old WHERE d.id OPERATOR(pg_catalog.=) old.id RETURNING d.id
)
SELECT pg_catalog.count(*) FROM deleted
