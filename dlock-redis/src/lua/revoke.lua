-- Gives a term to nobody (B1). Runs after record.lua.
-- KEYS[1] the lock. ARGV[1] uuid and [2] renewals of the version that was read, [3] the uuid that
-- replaces it.
-- Result: {'revoked'}, {'changed', now, record}, {'changed'} without a record, {'spoilt', flaw}.
if record and record.held then
    if record.uuid == ARGV[1] and record.renewals == tonumber(ARGV[2]) then
        redis.call('HSET', KEYS[1], 'uuid', ARGV[3], 'renewals', '0')
        keep(record.token, record.duration)
        return {'revoked'}
    end
    if record.uuid == ARGV[3] then
        return {'revoked'}
    end
end
return show('changed', record)
