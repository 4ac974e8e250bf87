-- The highest fencing token that each resource has seen (T3). No parameters, no result; safe to repeat.
DO $dlock$
BEGIN
    IF to_regnamespace('{schema}') IS NULL THEN
        CREATE SCHEMA {schema};
    END IF;
END
$dlock$;

CREATE TABLE IF NOT EXISTS {table} (
    resource text   COLLATE "C" PRIMARY KEY CHECK (octet_length(resource) <= 1024),
    token    bigint NOT NULL CHECK (token BETWEEN 1 AND 9007199254740991)
) WITH (fillfactor = 70);
