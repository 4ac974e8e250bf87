-- What every script of a lock begins with: the record, checked, and the server's time.
-- KEYS[1] the lock: one hash. Its fields, all text, numbers in decimal digits:
--   uuid      the term, hyphenated, lower case
--   renewals  number of the newest applied renewal
--   owner     label of the holder, for people
--   since     when the term began: unix time in microseconds, for people
--   token     the fencing token
--   duration  the lease in milliseconds
--   released, asked   0 or 1
--   expiry    when the lease ends: unix time in microseconds on this server's clock
--   data      what the holder stored beside the lock; missing without
-- A hash that is not exactly that is spoilt or foreign: the script says so and writes nothing.

-- Lua's numbers are doubles, exact below this (T2).
local ceiling = 9007199254740992

-- tostring would turn 1795253490374226 into 1.7952534903742e+15.
local function digits(number)
    return string.format('%.0f', number)
end

-- Read after Redis began to run this script, so after any wait for another (protocol section 3).
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

local function within(text, least, most)
    if not text or #text > 16 or not string.find(text, '^%d+$') then
        return nil
    end
    local number = tonumber(text)
    return number >= least and number <= most and number or nil
end

-- Five groups of digits of the right length, and nothing in upper case: texts are compared.
local function is_uuid(text)
    local a, b, c, d, e = string.match(text, '^(%x+)%-(%x+)%-(%x+)%-(%x+)%-(%x+)$')
    return a and #a == 8 and #b == 4 and #c == 4 and #d == 4 and #e == 12 and text == string.lower(text)
end

-- Returns the record, or nil if there is none, or nil and what is wrong with it.
local function load()
    local fields = redis.call('HMGET', KEYS[1], 'uuid', 'renewals', 'owner', 'since', 'token',
        'duration', 'released', 'asked', 'expiry', 'data')
    local uuid = fields[1]
    if not uuid then
        if redis.call('EXISTS', KEYS[1]) == 0 then
            return nil
        end
        return nil, 'it has no uuid, so another program wrote it'
    end
    local record = {
        uuid = uuid,
        renewals = within(fields[2], 0, ceiling - 1),
        token = within(fields[5], 1, ceiling - 1),
        duration = within(fields[6], 100, 86400000),
        released = fields[7] == '1',
        asked = fields[8] == '1',
        expiry = within(fields[9], 0, ceiling - 1),
        data = fields[10],
        fields = fields,
    }
    local flaw
    if not is_uuid(uuid) then flaw = 'uuid'
    elseif not record.renewals then flaw = 'renewals'
    elseif not fields[3] or #fields[3] > 1024 then flaw = 'owner'
    elseif not within(fields[4], 0, ceiling - 1) then flaw = 'since'
    elseif not record.token then flaw = 'token'
    elseif not record.duration then flaw = 'duration'
    elseif not record.released and fields[7] ~= '0' then flaw = 'released'
    elseif not record.asked and fields[8] ~= '0' then flaw = 'asked'
    elseif not record.expiry then flaw = 'expiry'
    elseif record.data and #record.data > 4096 then flaw = 'data'
    else
        record.held = not record.released
        record.expired = now >= record.expiry
        return record
    end
    return nil, 'its field ' .. flaw .. ' is missing or out of range'
end

-- The record as it is, behind a verdict: {verdict}, or
-- {verdict, now, uuid, renewals, owner, since, token, duration, released, asked, expiry, data or nil}.
local function show(verdict, record)
    if not record then
        return {verdict}
    end
    return {verdict, digits(now), unpack(record.fields, 1, 10)}
end

-- The key outlives the lease, so that the token and the answer to a repeated release stay: until
-- max(now, the token as an instant) + the lease + 7 days (T5). Every write says so again; so do
-- repeats that find their work done (A2, R2), because WAIT promises to wait for the writes of its own
-- connection only, and the one that did the work may have been another.
local function keep(token, duration)
    redis.call('PEXPIREAT', KEYS[1], digits(math.floor(math.max(now, token) / 1000) + duration + 604800000))
end

local record, flaw = load()
if flaw then
    return {'spoilt', flaw}
end
