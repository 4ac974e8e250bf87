-- What there is of the schema. $1 the table, $2 names of functions, both qualified and quoted.
-- Result: one row: whether the table is there; whether it is an ordinary one that survives a crash;
-- its columns as "name type" or "name type collation"; whether (prefix, name) is unique; those of
-- the functions that are missing.
SELECT
    t.oid IS NOT NULL,
    t.relkind = 'r' AND t.relpersistence = 'p',
    ARRAY(
        SELECT concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod), c.collname)
        FROM pg_attribute AS a LEFT JOIN pg_collation AS c ON c.oid = a.attcollation
        WHERE a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
    ),
    EXISTS (
        SELECT FROM pg_index AS i
        WHERE i.indrelid = t.oid AND i.indisunique AND i.indisvalid AND i.indimmediate
            AND i.indpred IS NULL AND i.indexprs IS NULL
            AND ARRAY(
                SELECT a.attname::text
                FROM unnest(i.indkey) AS k JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attnum = k
                ORDER BY a.attname COLLATE "C"
            ) = ARRAY['name', 'prefix']
    ),
    ARRAY(SELECT f FROM unnest((SELECT $2)) AS f WHERE to_regproc(f) IS NULL)
FROM (SELECT to_regclass($1) AS oid) AS wanted LEFT JOIN pg_class AS t ON t.oid = wanted.oid
