-- Admits a write to a resource and remembers its token (T3). $1 resource, $2 token.
-- Result: one row if the token is at least the highest seen, no row if it is stale. Either way the
-- resource's row is locked until the transaction ends, so no other token passes in between.
INSERT INTO {table} AS f (resource, token) VALUES ($1, $2)
ON CONFLICT (resource) DO UPDATE SET token = excluded.token
    WHERE f.token OPERATOR(pg_catalog.>=) 1 AND f.token OPERATOR(pg_catalog.<=) excluded.token
RETURNING f.token
