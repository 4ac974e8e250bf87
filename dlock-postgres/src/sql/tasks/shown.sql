-- Put into claim.sql, as its answer about the task t.
t.id, t.token, t.queue, t.kind, t.payload, t.attempt, t.max_attempts, t.checkpoint, t.priority, t.run_at,
t.lane IS NOT NULL, NULL::bigint, NULL::bigint, {lost}(t.errors, t.attempt - 1)
