-- Rule T3 for scripts: whether a resource admits a write that carries a fencing token.
-- dlock_fence(highest, presented): the highest token the resource has seen, as it is stored (false
-- or nil before the first), and the token of the write.
-- Result: nil if it is admitted: store the token in the same script. Otherwise {'stale', highest}
-- or, if the stored value is no token, {'foreign'}: return that, and write nothing.
local function dlock_fence(highest, presented)
    if not highest then
        return nil
    end
    if #highest > 16 or not string.find(highest, '^%d+$') then
        return {'foreign'}
    end
    if tonumber(presented) < tonumber(highest) then
        return {'stale', highest}
    end
    return nil
end
