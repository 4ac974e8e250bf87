-- Extends a term by its own lease (R1 to R3). Runs after record.lua.
-- KEYS[1] the lock. ARGV[1] the term's uuid, [2] number of the renewal.
-- Result: 1 if the holder was asked for the lock or 0, {'lost', now, text or nil},
-- {'spoilt', flaw}.
local now = clock()
if held and uuid == ARGV[1] then
    local asked = state == 'held' and 0 or 1
    if renewals >= tonumber(ARGV[2]) then
        -- No change, but a write for WAIT.
        redis.call('SET', KEYS[1], stored, 'PX', life(now, token, duration))
        return asked -- R2
    end
    if now < expiry then -- R1
        local text = 'dlock1 ' .. state .. ' ' .. uuid .. ' ' .. ARGV[2] .. ' '
            .. digits(now) .. string.sub(stored, rest)
        redis.call('SET', KEYS[1], text, 'PX', life(now, token, duration))
        return asked
    end
end
return {'lost', now, stored} -- R3
