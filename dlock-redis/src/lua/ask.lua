-- Asks the holder to release the lock (B3). Runs after record.lua.
-- KEYS[1] the lock. ARGV[1] the term's uuid.
-- Result: 1, {'changed', now, text or nil}, {'spoilt', flaw}.
if held and uuid == ARGV[1] then
    if state == 'held' then
        redis.call('SET', KEYS[1], 'dlock1 held,asked' .. string.sub(stored, #'dlock1 held' + 1), 'KEEPTTL')
    end
    return 1
end
return {'changed', clock(), stored}
