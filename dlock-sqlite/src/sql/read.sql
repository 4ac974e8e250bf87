-- The record of a lock. ?1 prefix, ?2 name.
-- Result: at most one row, in the order that record.rs reads.
SELECT uuid, renewals, owner, since, token, duration, released, asked, data, boot, expiry, wanted
FROM lock
WHERE prefix = ?1 AND name = ?2;
