-- Sets a key to a text, unless a later holder has written. Runs after fence.lua.
-- KEYS[1] the key, KEYS[2] the key that remembers the highest token. ARGV[1] the token, [2] the text.
-- Result: {'written'}, {'stale', highest}, {'foreign'}.
local refused = dlock_fence(redis.call('GET', KEYS[2]), ARGV[1])
if refused then
    return refused
end
redis.call('MSET', KEYS[1], ARGV[2], KEYS[2], ARGV[1])
return {'written'}
