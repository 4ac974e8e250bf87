-- Deletes a record that ended 7 days ago and whose token the clock has passed (T5). Runs after
-- record.lua. The key's own life does the same; this is for keys that lost it (PERSIST, RESTORE).
-- KEYS[1] the lock. Result: {'purged'}, {'kept'}, {'spoilt', flaw}.
if record and record.expiry + 604800000000 <= now and record.token < now then
    redis.call('DEL', KEYS[1])
    return {'purged'}
end
return {'kept'}
