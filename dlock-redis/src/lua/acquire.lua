-- Begins a term (A1 to A7). Runs after record.lua.
-- KEYS[1] the lock. ARGV[1] the new uuid, [2] uuid of prev or '', [3] renewals of prev or '', [4] lease in
-- milliseconds, [5] floor, [6] '1' to refuse a server that may evict the record, [7] the end of the new record, from
-- the lengths of owner and data on, [8] how many tokens to mint, 1 to 128, or 0 to take nothing and only mark, [9] what
-- marks the term that refuses, or '0'.
-- Result: the token, the only one that was minted, or the one that a repeat finds (A2: how many were minted with it is
-- not known); {'block', last, how many} if more were minted; {'spent'}, {'held', now, text}, {'ended'} if fewer tokens
-- remain, {'evicting', policy}, {'spoilt', flaw}.
local new, lease = ARGV[1], ARGV[4]
local now = clock()
local next = math.max(now, ARGV[5])
local marked = '0'
if stored then
    local open = not held or now >= expiry
    if uuid == new then
        if open then
            return {'spent'} -- A3
        end
        -- No change, but a write for WAIT.
        redis.call('SET', KEYS[1], stored, 'PX', life(now, token, duration))
        return token -- A2
    end
    if not open and not (uuid == ARGV[2] and renewals == tonumber(ARGV[3])) then
        if wanted == '0' and ARGV[9] ~= '0' then -- N1
            local text = string.sub(stored, 1, mark - 1) .. ARGV[9] .. string.sub(stored, mark + 1)
            -- With pcall: a server that accepts no write now (its memory is full, say) refuses this one, and nothing
            -- else fails.
            if redis.pcall('SET', KEYS[1], text, 'KEEPTTL').ok then
                stored = text
            end
        end
        return {'held', now, stored} -- A7
    end
    if not open then
        marked = wanted -- A6 keeps it (N2).
    end
    next = math.max(next, token + 1)
elseif ARGV[6] == '1' then
    -- A new name, or one that was evicted: every key of ours has a time to live, so volatile-* picks exactly ours. A
    -- user who may not read the policy is not refused.
    local info = redis.pcall('INFO', 'memory')
    if type(info) == 'string' then
        -- A plain search first: a pattern over the whole text takes longer than everything else here.
        local _, at = string.find(info, 'maxmemory_policy:', 1, true)
        local policy = at and string.match(info, '^[%w-]+', at + 1)
        if policy and policy ~= 'noeviction' then
            return {'evicting', policy}
        end
    end
end
if ARGV[8] == '0' then
    return {'spent'}
end
-- The record shows the last of the new tokens (T1). In this order no sum at the ceiling is rounded down below it.
local last = next + (ARGV[8] - 1)
if last >= ceiling then
    return {'ended'} -- T2
end

-- A1, A4, A5, A6: every field.
local since = digits(now)
local text = 'dlock1 held ' .. new .. ' 0 ' .. since .. ' ' .. (last == now and since or digits(last)) .. ' '
    .. lease .. ' ' .. since .. ' ' .. marked .. ' ' .. ARGV[7]
redis.call('SET', KEYS[1], text, 'PX', life(now, last, lease))
if ARGV[8] == '1' then
    return last
end
return {'block', last, tonumber(ARGV[8])}
