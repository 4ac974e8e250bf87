-- Admits a write to a resource and remembers its token (T3). {resource}, {token}.
-- Result: one row: the highest token that the resource has seen, this one if it is admitted. Either way the resource's
-- row is locked until the transaction ends, so no other token passes in between. The second statement reads the current
-- row, not the one in the transaction's snapshot.
INSERT INTO {table} (resource, token) VALUES ({resource}, {token})
ON DUPLICATE KEY UPDATE token = IF(token BETWEEN 1 AND VALUES(token), VALUES(token), token);
SELECT token FROM {table} WHERE resource = {resource} FOR UPDATE
