-- Gives a term back (L1 to L3). Runs after record.lua.
-- KEYS[1] the lock. ARGV[1] the term's uuid.
-- Result: {'released'}, {'not held', now, record}, {'not held'} without a record, {'spoilt', flaw}.
if record and record.uuid == ARGV[1] then
    if record.held then -- L1
        redis.call('HSET', KEYS[1], 'released', '1')
        keep(record.token, record.duration)
    end
    return {'released'} -- L2
end
return show('not held', record) -- L3
