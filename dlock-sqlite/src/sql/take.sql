-- Begins a term (A1, A4, A5, A6): replaces the whole row, so that no field of the old term stays.
-- ?1 prefix, ?2 name, ?3 uuid, ?4 owner, ?5 since, ?6 token, ?7 duration, ?8 data, ?9 boot, ?10 expiry, ?11 wanted.
-- Result: none; one row changes.
INSERT OR REPLACE INTO lock
    (prefix, name, uuid, renewals, owner, since, token, duration, released, asked, wanted, data, boot, expiry)
VALUES (?1, ?2, ?3, 0, ?4, ?5, ?6, ?7, 0, 0, ?11, ?8, ?9, ?10);
