-- Put into both walks of claim.sql, as what an UPDATE sets.
--
-- A new term of the task t. A1, A4, A5, T1: every field of the old one goes.
uuid = p_uuid, renewals = 0, owner = p_owner, since = clock_timestamp(),
token = greatest(t.token + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint),
duration = p_duration,
expiry = clock_timestamp() + p_duration::double precision * interval '1 millisecond',
released = false, asked = false, attempt = t.attempt + 1, checkpoints = 0,
errors = CASE
    WHEN t.uuid IS NULL OR t.released THEN t.errors
    ELSE {failed}(t.errors, t.attempt, v_now, {silence}(t.owner))
END
