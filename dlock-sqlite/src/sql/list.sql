-- Records in byte order of their names. ?1 prefix, ?2 least name, ?3 the name after which to start.
-- Result: rows as in read.sql, with the name as a thirteenth column. The reader stops when a name no
-- longer begins as requested, or when its page is full.
SELECT uuid, renewals, owner, since, token, duration, released, asked, data, boot, expiry, wanted, name
FROM lock
WHERE prefix = ?1 AND name >= ?2 AND name > ?3
ORDER BY name;
