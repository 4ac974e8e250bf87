-- KEYS[1] a hash, ARGV[1] the token, ARGV[2] the amount to add.
local refused = dlock_fence(redis.call('HGET', KEYS[1], 'fence'), ARGV[1])
if refused then
    return refused -- {'stale', highest}: nothing may be written
end
redis.call('HSET', KEYS[1], 'fence', ARGV[1])
return {'written', tostring(redis.call('HINCRBY', KEYS[1], 'balance', ARGV[2]))}
