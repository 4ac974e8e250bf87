-- The parts of the schema that exist. $1 the table, $2 names of functions, both qualified and quoted.
-- Result: one row: whether the table exists; whether it is an ordinary one that survives a crash; its columns as "name
-- type" or "name type collation"; whether (prefix, name) is unique; the functions that are missing; the columns that
-- need a value.
-- Names are shown as the catalog has them: the answer of format_type() depends on the session. They are resolved as
-- they are now, and rows are read as they were when the statement began: objects that another session has made in
-- between are missing altogether.
SELECT
    t.oid IS NOT NULL,
    t.relkind OPERATOR(pg_catalog.=) 'r' AND t.relpersistence OPERATOR(pg_catalog.=) 'p',
    ARRAY(
        SELECT pg_catalog.concat_ws(' ', a.attname, y.typname, c.collname)
        FROM pg_catalog.pg_attribute AS a
            JOIN pg_catalog.pg_type AS y ON y.oid OPERATOR(pg_catalog.=) a.atttypid
            JOIN pg_catalog.pg_namespace AS n
                ON n.oid OPERATOR(pg_catalog.=) y.typnamespace AND n.nspname OPERATOR(pg_catalog.=) 'pg_catalog'
            LEFT JOIN pg_catalog.pg_collation AS c ON c.oid OPERATOR(pg_catalog.=) a.attcollation
        WHERE a.attrelid OPERATOR(pg_catalog.=) t.oid AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped
    ),
    EXISTS (
        SELECT FROM pg_catalog.pg_index AS i
        WHERE i.indrelid OPERATOR(pg_catalog.=) t.oid AND i.indisunique AND i.indisvalid AND i.indimmediate
            AND i.indpred IS NULL AND i.indexprs IS NULL
            AND ARRAY(
                SELECT a.attname::pg_catalog.text
                FROM pg_catalog.unnest(i.indkey::smallint[]) AS k
                    JOIN pg_catalog.pg_attribute AS a
                        ON a.attrelid OPERATOR(pg_catalog.=) t.oid AND a.attnum OPERATOR(pg_catalog.=) k
                ORDER BY a.attname
            ) OPERATOR(pg_catalog.=) ARRAY['name', 'prefix']
    ),
    ARRAY(
        SELECT f FROM pg_catalog.unnest((SELECT $2)) AS f
        WHERE NOT EXISTS (
            SELECT FROM pg_catalog.pg_proc AS p
            WHERE p.oid OPERATOR(pg_catalog.=) pg_catalog.to_regproc(f)::pg_catalog.oid)
    ),
    ARRAY(
        SELECT a.attname::pg_catalog.text FROM pg_catalog.pg_attribute AS a
        WHERE a.attrelid OPERATOR(pg_catalog.=) t.oid AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped
            AND a.attnotnull AND NOT a.atthasdef AND a.attidentity OPERATOR(pg_catalog.=) ''
    )
FROM (SELECT pg_catalog.to_regclass($1) AS oid) AS wanted
    LEFT JOIN pg_catalog.pg_class AS t ON t.oid OPERATOR(pg_catalog.=) wanted.oid
