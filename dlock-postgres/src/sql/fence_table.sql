-- The highest fencing token that each resource has seen (T3). No parameters, no result; safe to repeat.
DO $dlock$
BEGIN
    IF pg_catalog.to_regnamespace('{schema}') IS NULL THEN
        CREATE SCHEMA {schema};
    END IF;
END
$dlock$;

CREATE TABLE IF NOT EXISTS {table} (
    resource pg_catalog.text COLLATE pg_catalog."C" PRIMARY KEY
        CHECK (pg_catalog.octet_length(resource) OPERATOR(pg_catalog.<=) 1024),
    token    bigint NOT NULL
        CHECK (token OPERATOR(pg_catalog.>=) 1 AND token OPERATOR(pg_catalog.<=) 9007199254740991)
) WITH (fillfactor = 70);
