-- Shows the record as it is. Runs after record.lua. KEYS[1] the lock.
-- Result: {'record', now, text or nil}, {'spoilt', flaw}.
return {'record', clock(), stored}
