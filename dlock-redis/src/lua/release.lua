-- Gives a term back (L1 to L3), and tells whoever listens (W3). Runs after record.lua.
-- KEYS[1] the lock. ARGV[1] the term's uuid, [2] the channel for everybody and [3] the one of the lock's
-- shard, each left out where nobody is to be told on it. A message is the lock's key.
-- Result: {'released'}, {'not held', now, record}, {'not held'} without a record, {'spoilt', flaw}.

-- With pcall, because the release is done: a user who may not publish, or a server that knows no such
-- channels, must not make an error of it. The shard's channel is refused as well if another node of the
-- cluster serves its slot by now: then the message takes the way over all nodes.
local function tell()
    if ARGV[3] and type(redis.pcall('SPUBLISH', ARGV[3], KEYS[1])) == 'number' then
        return
    end
    if ARGV[2] then
        redis.pcall('PUBLISH', ARGV[2], KEYS[1])
    end
end

if record and record.uuid == ARGV[1] then
    if record.held then -- L1
        redis.call('HSET', KEYS[1], 'released', '1')
        keep(record.token, record.duration)
        tell()
    end
    return {'released'} -- L2
end
return show('not held', record) -- L3
