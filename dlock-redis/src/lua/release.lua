-- Releases a term (L1 to L3), and notifies the listeners if it is marked (N3). Runs after record.lua.
-- KEYS[1] the lock. ARGV[1] the term's uuid, [2] a channel and [3] the one of the lock's shard, which goes first; each
-- is left out if no listener is to be notified on it. A message is the lock's key.
-- Result: 2 if it is marked or 1, {'not held', now, text or nil}, {'spoilt', flaw}.
if uuid == ARGV[1] then
    local marked = wanted ~= '0'
    if held then -- L1
        redis.call('SET', KEYS[1], 'dlock1 released' .. string.sub(stored, #'dlock1 held' + 1), 'KEEPTTL')
        -- With pcall, because the release is done: a user who may not publish, or a server without such channels, must
        -- not turn it into an error. The shard's channel is also refused if another node of the cluster serves its slot
        -- by now: then the message goes over all nodes.
        local told = marked and ARGV[3] and type(redis.pcall('SPUBLISH', ARGV[3], KEYS[1])) == 'number'
        if marked and ARGV[2] and not told then
            redis.pcall('PUBLISH', ARGV[2], KEYS[1])
        end
    end
    return marked and 2 or 1 -- L2
end
return {'not held', clock(), stored} -- L3
