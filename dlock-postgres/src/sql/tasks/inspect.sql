-- The parts of the schema that are missing. $1 tables and indexes, $2 functions, all qualified and quoted; $3 columns,
-- each as its table, name and type with a space between.
-- Result: one row: the tables and indexes, the functions and the columns that are missing. Names are resolved as they
-- are now, and rows are read as they were when the statement began. Objects that another session has made in between
-- are missing altogether: its tables without their columns would look like those of another application.
WITH found AS (
    SELECT t, c.oid
    FROM pg_catalog.unnest((SELECT $1)) AS t
        JOIN pg_catalog.pg_class AS c ON c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass(t)::pg_catalog.oid
)
SELECT
    ARRAY(
        SELECT t FROM pg_catalog.unnest((SELECT $1)) AS t
        WHERE NOT EXISTS (SELECT FROM found AS f WHERE f.t OPERATOR(pg_catalog.=) t.t)
    ),
    ARRAY(
        SELECT f FROM pg_catalog.unnest((SELECT $2)) AS f
        WHERE NOT EXISTS (
            SELECT FROM pg_catalog.pg_proc AS p
            WHERE p.oid OPERATOR(pg_catalog.=) pg_catalog.to_regproc(f)::pg_catalog.oid)
    ),
    ARRAY(
        SELECT c FROM pg_catalog.unnest((SELECT $3)) AS c
        WHERE NOT EXISTS (
            SELECT FROM found AS f
                JOIN pg_catalog.pg_attribute AS a ON a.attrelid OPERATOR(pg_catalog.=) f.oid
                JOIN pg_catalog.pg_type AS y ON y.oid OPERATOR(pg_catalog.=) a.atttypid
            WHERE a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped
                AND pg_catalog.concat_ws(' ', f.t, a.attname, y.typname) OPERATOR(pg_catalog.=) c)
    )
