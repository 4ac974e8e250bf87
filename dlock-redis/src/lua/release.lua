-- Gives a term back (L1 to L3), and tells the listeners (W3). Runs after record.lua.
-- KEYS[1] the lock. ARGV[1] the term's uuid, [2] a channel and [3] the one of the lock's shard, which goes first;
-- each is left out where nobody is to be told on it. A message is the lock's key.
-- Result: 1, {'not held', now, text or nil}, {'spoilt', flaw}.

if uuid == ARGV[1] then
    if held then -- L1
        redis.call('SET', KEYS[1], 'dlock1 released' .. string.sub(stored, #'dlock1 held' + 1), 'KEEPTTL')
        -- With pcall, because the release is done: a user who may not publish, or a server that knows no
        -- such channels, must not make an error of it. The shard's channel is refused as well if another
        -- node of the cluster serves its slot by now: then the message takes the way over all nodes.
        local told = ARGV[3] and type(redis.pcall('SPUBLISH', ARGV[3], KEYS[1])) == 'number'
        if ARGV[2] and not told then
            redis.pcall('PUBLISH', ARGV[2], KEYS[1])
        end
    end
    return 1 -- L2
end
return {'not held', clock(), stored} -- L3
