-- Admits a write to a resource and remembers its token (T3). ?1 resource, ?2 token.
-- Result: one changed row if the token is at least the highest seen, no row if it is stale. Either
-- way the transaction is the file's only writer from here on, so no other token passes before it
-- ends.
INSERT INTO {table} AS f (resource, token) VALUES (?1, ?2)
ON CONFLICT (resource) DO UPDATE SET token = excluded.token WHERE f.token BETWEEN 1 AND excluded.token;
