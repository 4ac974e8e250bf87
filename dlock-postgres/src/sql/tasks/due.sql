-- Put into both walks of claim.sql, as a condition.
--
-- Whether the task t lies after the start w of a walk and may be claimed, regardless of its lane.
t.queue = w.queue AND t.priority = w.priority AND t.run_at <= v_now AND NOT t.behind
AND (t.run_at, t.id + 0) > (w.start, w.number)
AND (t.uuid IS NULL OR t.released OR t.expiry <= v_now)
-- A3: a uuid that was used begins no second term.
AND (t.uuid IS DISTINCT FROM p_uuid
    OR t.attempt >= t.max_attempts OR t.asked AND NOT t.released)
AND (p_kinds IS NULL OR t.kind = ANY (p_kinds)
    OR t.attempt >= t.max_attempts OR t.asked AND NOT t.released)
AND {sound}(t)
