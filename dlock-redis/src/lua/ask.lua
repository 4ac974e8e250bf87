-- Asks the holder for the lock (B3). Runs after record.lua.
-- KEYS[1] the lock. ARGV[1] the term's uuid.
-- Result: {'asked'}, {'changed', now, record}, {'changed'} without a record, {'spoilt', flaw}.
if record and record.held and record.uuid == ARGV[1] then
    if not record.asked then
        redis.call('HSET', KEYS[1], 'asked', '1')
        keep(record.token, record.duration)
    end
    return {'asked'}
end
return show('changed', record)
