-- Put into both walks of claim.sql, as the assignments of an UPDATE.
--
-- A new term of the task t. A1, A4, A5, T1: every field of the old one is replaced. The clock is read once for all
-- tasks of a walk: reading it for each, and making a number of it, took a sixth of a claim's time.
uuid = p_uuid, renewals = 0, owner = p_owner, since = v_granted,
token = greatest(t.token + 1, v_token), duration = p_duration, expiry = v_expiry,
released = false, asked = false, attempt = t.attempt + 1, checkpoints = 0,
key = CASE WHEN NOT t.key_until_start THEN t.key END,
errors = CASE
    WHEN t.uuid IS NULL OR t.released THEN t.errors
    ELSE {failed}(t.errors, t.attempt, v_now, {silence}(t.owner), {lost}(t.errors, t.attempt - 1) + 1)
END
