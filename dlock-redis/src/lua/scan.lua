-- One step of a walk over the keys of one node. A script, because a script with a key goes to the
-- node of that key over every kind of connection; SCAN itself would go to any node of a cluster.
-- KEYS[1] any key of the node. ARGV[1] cursor, [2] pattern. Result: {next cursor, {key, ...}}.
return redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', '512', 'TYPE', 'string')
