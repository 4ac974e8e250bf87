-- What of the schema is missing. $1 tables and $2 functions, all qualified and quoted; $3 columns, each as its table,
-- name and type with a space between.
-- Result: one row: the tables, the functions and the columns that are missing.
SELECT
    ARRAY(SELECT t FROM pg_catalog.unnest((SELECT $1)) AS t WHERE pg_catalog.to_regclass(t) IS NULL),
    ARRAY(SELECT f FROM pg_catalog.unnest((SELECT $2)) AS f WHERE pg_catalog.to_regproc(f) IS NULL),
    ARRAY(
        SELECT c FROM pg_catalog.unnest((SELECT $3)) AS c
        WHERE NOT EXISTS (
            SELECT FROM pg_catalog.unnest((SELECT $1)) AS t
                JOIN pg_catalog.pg_attribute AS a
                    ON a.attrelid OPERATOR(pg_catalog.=) pg_catalog.to_regclass(t)::pg_catalog.oid
                JOIN pg_catalog.pg_type AS y ON y.oid OPERATOR(pg_catalog.=) a.atttypid
            WHERE a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped
                AND pg_catalog.concat_ws(' ', t, a.attname, y.typname) OPERATOR(pg_catalog.=) c)
    )
