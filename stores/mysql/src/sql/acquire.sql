-- Acquires the lock (A1 to A7).
-- Parameters: prefix; name; owner; the claimed uuid and its renewals, null without a claim; the new uuid; the lease in
-- milliseconds; data or null; the least token, 0 for any; how many tokens to mint, 1 to 128; the mark to leave, or 0.
-- Result: one row as in answer.sql. The verdict is
--   'acquired'   A1, A4, A5, A6; of the record only its token counts, the last that was minted (T1)
--   'repeated'   A2; of the record only its token counts. How many were minted with it is not known;
--                nothing was written
--   'held'       A7: nothing was written but a mark (N1), if the record shown has one; no other session was waited for
--   'spent'      A3: nothing was written, and no other session was waited for
--   'exhausted'  T2: the last new token would be 2^53 or more; nothing was written
--   'unsound'    the row is no record; nothing was written
--   'open'       other sessions were faster, three times: no answer
CREATE PROCEDURE IF NOT EXISTS {acquire}(
    p_prefix VARBINARY(1024), p_name VARBINARY(1024), p_owner VARBINARY(1024),
    p_prev_uuid BINARY(16), p_prev_renewals BIGINT, p_new BINARY(16), p_duration BIGINT,
    p_data VARBINARY(4096), p_floor BIGINT, p_tokens BIGINT, p_marks INT UNSIGNED
) MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_locked BOOLEAN;
    DECLARE v_round INT DEFAULT 0;
    {declare}
    rounds: LOOP
        SET v_round = v_round + 1, v_locked = FALSE;
        {begin}
        looks: LOOP
            SET v_found = FALSE;
            IF NOT v_locked THEN
                -- The clock first: a record that had expired by it had expired when it was read.
                SET v_now = {now};
                {look};
            ELSEIF v_verdict = 'take' THEN
                {lock}
            ELSE
                {look} FOR UPDATE SKIP LOCKED;
                -- The row is locked, so no mark is left and no hint will come: the waiter polls.
                IF NOT v_found THEN
                    LEAVE looks;
                END IF;
                SET v_now = {now};
            END IF;
            SET v_verdict = CASE
                WHEN v_found AND NOT v_sound THEN 'unsound'
                WHEN v_found AND v_uuid = p_new THEN
                    IF(v_released OR v_expiry <= v_now, 'spent', 'repeated')  -- A3, A2
                -- Without a claim the comparison is null, and `or null` would never refuse an acquire.
                WHEN v_found AND NOT (v_released OR v_expiry <= v_now
                    OR COALESCE(v_uuid = p_prev_uuid AND v_renewals = p_prev_renewals, FALSE)) THEN
                    IF(p_marks = 0 OR v_wanted <> 0, 'held', 'mark')  -- A7
                WHEN GREATEST(IF(v_found, v_token + 1, 0), v_now, p_floor) > 9007199254740992 - p_tokens
                    THEN 'exhausted'
                ELSE 'take'
            END;
            -- A refusal by the first read waits for no other session; a row to take or to mark is read again, locked.
            IF v_verdict NOT IN ('take', 'mark') OR v_locked THEN
                LEAVE looks;
            END IF;
            SET v_locked = TRUE;
        END LOOP;
        IF v_verdict = 'mark' THEN
            IF v_found THEN
                SET v_wanted = p_marks;  -- N1
                UPDATE {table} AS l SET l.wanted = v_wanted WHERE l.prefix = p_prefix AND l.name = p_name;
            END IF;
            SET v_verdict = 'held';
        ELSEIF v_verdict = 'take' AND v_found THEN
            SET v_token = GREATEST(v_token + 1, v_now, p_floor) + p_tokens - 1, v_verdict = 'acquired';  -- A4, A5, A6
            UPDATE {table} AS l SET
                l.uuid = p_new, l.renewals = 0, l.owner = CONVERT(p_owner USING utf8mb4), l.since = v_now,
                l.token = v_token, l.duration = p_duration, l.expiry = v_now + p_duration * 1000,
                -- N2: waiters of a term that is claimed wait in the next one.
                l.wanted = IF(v_released OR v_expiry <= v_now, 0, v_wanted),
                l.released = FALSE, l.asked = FALSE, l.data = p_data
            WHERE l.prefix = p_prefix AND l.name = p_name;
        ELSEIF v_verdict = 'take' THEN
            -- Another session may have made the row since; if so, the next round reads it.
            BEGIN
                DECLARE CONTINUE HANDLER FOR 1062 SET v_verdict = 'open';
                SET v_token = GREATEST(v_now, p_floor) + p_tokens - 1, v_verdict = 'acquired';  -- A1
                INSERT INTO {table}
                    (prefix, name, uuid, renewals, owner, since, token, duration, expiry, released, asked, wanted,
                    data)
                VALUES (p_prefix, p_name, p_new, 0, CONVERT(p_owner USING utf8mb4), v_now, v_token, p_duration,
                    v_now + p_duration * 1000, FALSE, FALSE, 0, p_data);
            END;
        END IF;
        IF v_verdict <> 'open' OR v_round = 3 THEN
            LEAVE rounds;
        END IF;
    END LOOP;
    {answer}
END
