-- Tasks by number, ended or not. $1 numbers beyond it, $2 queue or null, $3 state or null, $4 the greatest number of
-- rows, $5 kind or null. {beyond} and {direction}, which tasks/schema.rs fills in, select the smallest or the largest
-- numbers first.
-- Result: in the order that `tasks/row.rs` reads: the record, null if the task has ended, and the store's clock; then
-- the task.
SELECT b.* FROM (
    (SELECT t.uuid, t.renewals, t.owner, t.since, t.token, t.duration, t.released, t.asked,
        NULL::pg_catalog.bytea AS data, t.expiry, c.now,
        t.id, t.queue, t.priority, t.run_at, t.attempt, t.max_attempts, t.kind, t.key, t.lane, t.payload::pg_catalog.text,
        t.errors::pg_catalog.text, t.created, t.checkpoint::pg_catalog.text, {state}(t, c.now) AS state,
        NULL::pg_catalog.text AS output, NULL::pg_catalog.timestamptz AS ended
    FROM {task} AS t CROSS JOIN (SELECT pg_catalog.clock_timestamp() AS now) AS c
    WHERE t.id {beyond} $1 AND ($2 IS NULL OR t.queue OPERATOR(pg_catalog.=) $2)
        AND ($3 IS NULL OR {state}(t, c.now) OPERATOR(pg_catalog.=) $3)
        AND ($5 IS NULL OR t.kind OPERATOR(pg_catalog.=) $5)
    ORDER BY t.id {direction}
    LIMIT $4)
    UNION ALL
    (SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        d.id, d.queue, d.priority, d.run_at, d.attempt, d.max_attempts, d.kind, d.key, d.lane, d.payload::pg_catalog.text,
        d.errors::pg_catalog.text, d.created, d.checkpoint::pg_catalog.text, d.state,
        d.output::pg_catalog.text, d.ended
    FROM {done} AS d
    WHERE d.id {beyond} $1 AND ($2 IS NULL OR d.queue OPERATOR(pg_catalog.=) $2)
        AND ($3 IS NULL OR d.state OPERATOR(pg_catalog.=) $3)
        AND ($5 IS NULL OR d.kind OPERATOR(pg_catalog.=) $5)
    ORDER BY d.id {direction}
    LIMIT $4)
) AS b
ORDER BY b.id {direction}
LIMIT $4
