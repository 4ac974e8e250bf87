-- Begins a term (A1 to A7). Runs after record.lua.
-- KEYS[1] the lock. ARGV[1] the new uuid, [2] uuid of prev or '', [3] renewals of prev or '',
-- [4] owner, [5] lease in milliseconds, [6] floor, [7] '1' to refuse a server that may evict the
-- record, [8] data, left out without.
-- Result: {'acquired', token}, {'spent'}, {'held', now, record}, {'ended'} if no token is left,
-- {'evicting', policy}, {'spoilt', flaw}.
local new, prev = ARGV[1], ARGV[2]
local token = math.max(now, tonumber(ARGV[6]))
if record then
    if record.uuid == new then
        if record.held and not record.expired then
            keep(record.token, record.duration) -- No change, but a write for WAIT.
            return {'acquired', digits(record.token)} -- A2
        end
        return {'spent'} -- A3
    end
    local claimed = record.uuid == prev and record.renewals == tonumber(ARGV[3])
    if record.held and not record.expired and not claimed then
        return show('held', record) -- A7
    end
    token = math.max(token, record.token + 1)
elseif ARGV[7] == '1' then
    -- A new name, or one that was evicted: every key of ours has a life, so volatile-* picks exactly
    -- ours. Who may not ask is not refused.
    local info = redis.pcall('INFO', 'memory')
    local policy = type(info) == 'string' and string.match(info, 'maxmemory_policy:([%w-]+)')
    if policy and policy ~= 'noeviction' then
        return {'evicting', policy}
    end
end
if token >= ceiling then
    return {'ended'} -- T2
end

-- A1, A4, A5, A6: every field, in one command, so that running out of memory leaves nothing behind.
local duration = tonumber(ARGV[5])
local fields = {
    'uuid', new,
    'renewals', '0',
    'owner', ARGV[4],
    'since', digits(now),
    'token', digits(token),
    'duration', ARGV[5],
    'released', '0',
    'asked', '0',
    'expiry', digits(now + duration * 1000),
}
if ARGV[8] then
    fields[19], fields[20] = 'data', ARGV[8]
end
redis.call('HSET', KEYS[1], unpack(fields))
if record and record.data and not ARGV[8] then
    redis.call('HDEL', KEYS[1], 'data')
end
keep(token, duration)
return {'acquired', digits(token)}
