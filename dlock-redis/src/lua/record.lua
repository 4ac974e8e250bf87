-- The beginning of every script of a lock: the record, checked.
-- KEYS[1] the lock: one text of words with a space between them, as GET shows it:
--   dlock1    the format
--   state     held, or released; with ',asked' behind it once a client asked for the lock
--   uuid      the term, hyphenated, lower case
--   renewals  number of the newest applied renewal
--   extended  the time of that renewal, or of the grant: unix time in microseconds on this server's clock.
--             The lease ends one duration later
--   token     the fencing token
--   duration  the lease in milliseconds
--   since     when the term began: unix time in microseconds, for people
--   wanted    the mark of a waiter that was refused in this term, or 0 (N1)
--   owner     the length of the holder's label in bytes
--   data      the length in bytes of the data that the holder stored with the lock; - without
-- and then the label, for people, and the data, verbatim. Numbers are decimal digits.
-- Any other text is corrupted or foreign: the script says so and writes nothing.
-- Result, before any other: {'too old', version} from a server that cannot serve.
--
-- One text, because one call reads it, one pattern checks it and one call writes it: a hash of the same
-- fields takes the server nearly twice as long. The words that change within a term come first; the
-- rest is copied. For the same reason the usual results are plain numbers, and the code has few
-- functions.

-- Redis 5 has no SET .. KEEPTTL: it would grant, and never release. Redis 6 introduced `setresp`,
-- and checking for it takes some 20 ns; the server is queried for its version only if it is missing.
if not redis.setresp then
    local info = redis.pcall('INFO', 'server')
    local version = type(info) == 'string' and string.match(info, 'redis_version:([%w.]+)') or 'unknown'
    if (tonumber(string.match(version, '^%d+')) or 0) < 6 then
        return {'too old', version}
    end
end

-- Lua's numbers are doubles, exact below this (T2).
local ceiling = 9007199254740992

-- tostring would turn 1795253490374226 into 1.7952534903742e+15.
local function digits(number)
    return string.format('%.0f', number)
end

-- The server's time in microseconds, read after Redis began to run this script, so after any wait for
-- another.
local function clock()
    local time = redis.call('TIME')
    return time[1] * 1000000 + time[2]
end

-- How long the key lives from now on, in milliseconds: until max(now, the token as an instant) + the
-- lease + 7 days (T5), so that the token and the answer to a repeated release outlive the lease. Every
-- write that begins or extends a lease sets it; so do repeats that find their work done (A2, R2),
-- because WAIT promises to wait for the writes of its own connection only, and another connection may
-- have done the work. The other writes leave the life as it is.
local function life(now, token, duration)
    return math.floor(math.max(token - now, 0) / 1000) + duration + 604800000
end

local stored = redis.call('GET', KEYS[1]) -- false without a record
-- The words of the record: texts and numbers, nil without a record.
local state, uuid, renewals, expiry, token, duration, wanted
local held = false
local rest, mark -- where the text behind `extended` begins, and where `wanted` does
if stored then
    local extended, since, owner, data, label
    state, uuid, renewals, extended, rest, token, duration, since, mark, wanted, owner, data, label = string.match(stored,
        '^dlock1 (%S+) (%x%x%x%x%x%x%x%x%-%x%x%x%x%-%x%x%x%x%-%x%x%x%x%-%x%x%x%x%x%x%x%x%x%x%x%x) (%d+) (%d+)() (%d+) (%d+) (%d+) ()(%d+) (%d+) (%d*%-?) ()')
    local sound = false
    if state then
        -- A text becomes a number if Lua computes with it.
        renewals, extended, token, duration = renewals + 0, extended + 0, token + 0, duration + 0
        expiry = extended + duration * 1000
        data = data == '-' and 0 or tonumber(data)
        held = state == 'held' or state == 'held,asked'
        sound = (held or state == 'released' or state == 'released,asked')
            and uuid == string.lower(uuid) -- Texts are compared.
            and renewals < ceiling and extended < ceiling and since + 0 < ceiling
            and token >= 1 and token < ceiling
            and duration >= 100 and duration <= 86400000
            and wanted + 0 <= 4294967295
            and owner + 0 <= 1024
            and data and data <= 4096
            and label + owner + data == #stored + 1
    end
    if not sound then
        if not string.find(stored, '^dlock%d+ ') then
            return {'spoilt', 'another program wrote it'}
        elseif not string.find(stored, '^dlock1 ') then
            return {'spoilt', 'another release of dlock wrote it'}
        end
        local function outside(word, least, most)
            return not string.find(word, '^%d+$') or tonumber(word) < least or tonumber(word) > most
        end
        local words = {string.match(stored, '^dlock1' .. string.rep(' ([^ ]*)', 10) .. ' ()')}
        local flaw
        if #words == 0 then
            return {'spoilt', 'it has too few words'}
        elseif not string.find(' held held,asked released released,asked ', ' ' .. words[1] .. ' ', 1, true) then
            flaw = 'state'
        elseif outside(words[3], 0, ceiling - 1) then flaw = 'renewals'
        elseif outside(words[4], 0, ceiling - 1) then flaw = 'extended'
        elseif outside(words[5], 1, ceiling - 1) then flaw = 'token'
        elseif outside(words[6], 100, 86400000) then flaw = 'duration'
        elseif outside(words[7], 0, ceiling - 1) then flaw = 'since'
        elseif outside(words[8], 0, 4294967295) then flaw = 'wanted'
        elseif outside(words[9], 0, 1024) then flaw = 'owner'
        elseif words[10] ~= '-' and outside(words[10], 0, 4096) then flaw = 'data'
        elseif words[11] + words[9] + (words[10] == '-' and 0 or words[10]) ~= #stored + 1 then
            return {'spoilt', 'its label and data are not as long as it says'}
        else
            flaw = 'uuid'
        end
        return {'spoilt', 'its word for ' .. flaw .. ' is missing or out of range'}
    end
end
