-- Ends a term and leaves the name closed (B4). Runs after record.lua.
-- KEYS[1] the lock. ARGV[1] the term's uuid, [2] the closing's uuid, [3] how long it lasts in milliseconds.
-- Result: 1, {'not held', now, text or nil}, {'spoilt', flaw}. No waiter is notified: nothing is free.
local now = clock()
if held and uuid == ARGV[2] then
    -- No change, but a write for WAIT.
    redis.call('SET', KEYS[1], stored, 'PX', life(now, token, duration))
    return 1
end
if held and uuid == ARGV[1] then
    -- The token is kept as it is written, and so is the text after the duration.
    local written, behind = string.match(stored, '^(%d+) %d+ (.*)$', rest + 1)
    redis.call('SET', KEYS[1], 'dlock1 ' .. state .. ' ' .. ARGV[2] .. ' 0 ' .. digits(now) .. ' ' .. written .. ' '
        .. ARGV[3] .. ' ' .. behind, 'PX', life(now, token, tonumber(ARGV[3])))
    return 1
end
return {'not held', now, stored} -- L3
