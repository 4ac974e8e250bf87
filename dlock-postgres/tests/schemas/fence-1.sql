-- The first table of fences. It stays as it is.
DO $dlock$
BEGIN
    IF pg_catalog.to_regnamespace('"dlock"') IS NULL THEN
        CREATE SCHEMA "dlock";
    END IF;
END
$dlock$;

CREATE TABLE IF NOT EXISTS "dlock"."fence" (
    resource pg_catalog.text COLLATE pg_catalog."C" PRIMARY KEY
        CHECK (pg_catalog.octet_length(resource) OPERATOR(pg_catalog.<=) 1024),
    token    bigint NOT NULL
        CHECK (token OPERATOR(pg_catalog.>=) 1 AND token OPERATOR(pg_catalog.<=) 9007199254740991)
) WITH (fillfactor = 70);
