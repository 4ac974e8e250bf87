-- Shows the record as it is. Runs after record.lua. KEYS[1] the lock.
-- Result: {'record', now, record}, {'record'} without one, {'spoilt', flaw}.
return show('record', record)
