-- Deletes a record that ended 7 days ago and whose token the clock has passed (T5). Runs after
-- record.lua. The key's time to live does the same; this is for keys that lost it (PERSIST,
-- RESTORE).
-- KEYS[1] the lock. Result: 1 if it was deleted, 0, {'spoilt', flaw}.
if stored then
    local now = clock()
    if expiry + 604800000000 <= now and token < now then
        return redis.call('DEL', KEYS[1])
    end
end
return 0
