-- Sets fields of a hash, unless a later holder has written. Runs after fence.lua.
-- KEYS[1] the hash. ARGV[1] its field for the highest token, [2] the token, then fields and values.
-- Result: {'written'}, {'stale', highest}, {'foreign'}.
local refused = dlock_fence(redis.call('HGET', KEYS[1], ARGV[1]), ARGV[2])
if refused then
    return refused
end
-- The token last, in case the caller's fields include its field; all in one command.
local fields = {unpack(ARGV, 3)}
fields[#fields + 1] = ARGV[1]
fields[#fields + 1] = ARGV[2]
redis.call('HSET', KEYS[1], unpack(fields))
return {'written'}
