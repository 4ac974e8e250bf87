-- The highest token that a resource has seen. $1 resource.
-- Result: at most one row.
SELECT f.token FROM {table} AS f WHERE f.resource OPERATOR(pg_catalog.=) $1
