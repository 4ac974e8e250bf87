-- Tasks by number. ?1 queue or null, ?2 numbers above, ?3 kind or null; tasks/show.rs reverses the order. Result: in
-- the order that tasks/row.rs reads.
SELECT uuid, renewals, owner, since, token, duration, released, asked, NULL, boot, expiry,
       id, attempt, max_attempts, queue, priority, run_at, kind, key, payload, errors, created, checkpoint, checkpoints,
       lane, ending, became
FROM dlock_task
WHERE id > ?2 AND (?1 IS NULL OR queue = ?1) AND (?3 IS NULL OR kind = ?3)
ORDER BY id;
