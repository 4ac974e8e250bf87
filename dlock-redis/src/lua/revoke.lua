-- Takes a term away from its holder without granting it (B1). Runs after record.lua.
-- KEYS[1] the lock. ARGV[1] uuid and [2] renewals of the version that was read, [3] the uuid that
-- replaces it.
-- Result: 1, {'changed', now, text or nil}, {'spoilt', flaw}.
if held then
    if uuid == ARGV[1] and renewals == tonumber(ARGV[2]) then
        local before, behind = string.match(stored, '^(dlock1 %S+ )%S+ %d+(.*)$')
        redis.call('SET', KEYS[1], before .. ARGV[3] .. ' 0' .. behind, 'KEEPTTL')
        return 1
    end
    if uuid == ARGV[3] then
        return 1
    end
end
return {'changed', clock(), stored}
