-- Extends a term by its own lease (R1 to R3). Runs after record.lua.
-- KEYS[1] the lock. ARGV[1] the term's uuid, [2] number of the renewal.
-- Result: {'renewed', asked}, {'lost', now, record}, {'lost'} without a record, {'spoilt', flaw}.
if record and record.held and record.uuid == ARGV[1] then
    local asked = record.asked and '1' or '0'
    if record.renewals >= tonumber(ARGV[2]) then
        keep(record.token, record.duration) -- No change, but a write for WAIT.
        return {'renewed', asked} -- R2
    end
    if not record.expired then -- R1
        redis.call('HSET', KEYS[1], 'renewals', ARGV[2], 'expiry', digits(now + record.duration * 1000))
        keep(record.token, record.duration)
        return {'renewed', asked}
    end
end
return show('lost', record) -- R3
