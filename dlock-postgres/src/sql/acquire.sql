-- Acquires the lock (A1 to A7).
-- Parameters: prefix; name; owner; the claimed uuid and its renewals, null without a claim; the new uuid; the lease in
-- milliseconds; data or null; the least token, 0 for any; how many tokens to mint, 1 to 128; the mark to leave, or 0.
-- Planned once per session (plan_cache_mode): one row by its key, whatever the values.
-- Result: one row: verdict, the record shown, the store's clock. The verdict is
--   'acquired'   A1, A4, A5, A6; of the record only its token counts, the last that was minted (T1)
--   'repeated'   A2; of the record only its token counts. How many were minted with it is not known;
--                nothing was written
--   'held'       A7: nothing was written but a mark (N1), if the record shown has one
--   'spent'      A3: nothing was written, not even a dead row version
--   'exhausted'  T2: the last new token would be 2^53 or more; nothing was written
--   'unsound'    the row is no record; nothing was written
--   'unfit'      no record can hold the request; nothing was written
--   'open'       other sessions were faster, four times: no answer
CREATE OR REPLACE FUNCTION {acquire}(
    p_prefix pg_catalog.text, p_name pg_catalog.text, p_owner pg_catalog.text,
    p_prev_uuid pg_catalog.uuid, p_prev_renewals bigint, p_new pg_catalog.uuid, p_duration bigint,
    p_data pg_catalog.bytea, p_floor bigint, p_tokens bigint, p_marks bigint,
    OUT verdict pg_catalog.text, OUT shown {table}, OUT clock pg_catalog.timestamptz
) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan AS $dlock$
BEGIN
    -- A grant that a crash can undo does not count.
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;

    IF NOT (p_duration BETWEEN 100 AND 86400000 AND octet_length(p_owner) <= 1024
            AND coalesce(octet_length(p_data), 0) <= 4096 AND p_tokens BETWEEN 1 AND 128) THEN
        verdict := 'unfit';
        RETURN;
    END IF;

    FOR round IN 1..4 LOOP
        -- The clock first: a record that had expired by it had expired when it was read.
        clock := clock_timestamp();
        SELECT l.* INTO shown FROM {table} AS l WHERE l.prefix = p_prefix AND l.name = p_name;

        IF NOT FOUND THEN
            IF greatest((extract(epoch FROM clock) * 1000000)::bigint, p_floor) > 9007199254740992 - p_tokens THEN
                verdict := 'exhausted';
                RETURN;
            END IF;
            INSERT INTO {table} AS l  -- A1
                (prefix, name, uuid, renewals, owner, since, token, duration, expiry, released, asked, wanted, data)
            VALUES (
                p_prefix, p_name, p_new, 0, p_owner, clock_timestamp(),
                greatest((extract(epoch FROM clock_timestamp()) * 1000000)::bigint, p_floor) + p_tokens - 1,
                p_duration, clock_timestamp() + p_duration::double precision * interval '1 millisecond',
                false, false, 0, p_data)
            ON CONFLICT DO NOTHING
            RETURNING l.token INTO shown.token;
        ELSIF NOT {sound}(shown) THEN
            verdict := 'unsound';
            RETURN;
        ELSIF shown.uuid = p_new THEN
            IF shown.released OR shown.expiry <= clock THEN
                verdict := 'spent';  -- A3
            ELSE
                verdict := 'repeated';  -- A2
            END IF;
            RETURN;
        -- Without a claim the comparison is null, and `or null` would never refuse an acquire.
        ELSIF NOT (shown.released OR shown.expiry <= clock
                   OR coalesce(shown.uuid = p_prev_uuid AND shown.renewals = p_prev_renewals, false)) THEN
            verdict := 'held';  -- A7
            IF p_marks = 0 OR shown.wanted <> 0 THEN
                RETURN;
            END IF;
            -- N1, only in the term that was seen. The function waits 40 ms for a locked row, twice at most: for the
            -- session that has it, and behind the session that is next. Marks and renewals are committed by then.
            BEGIN
                PERFORM set_config('lock_timeout', '40ms', true);
                UPDATE {table} AS l SET wanted = p_marks
                WHERE l.prefix = p_prefix AND l.name = p_name AND l.uuid = shown.uuid AND NOT l.released
                    AND l.wanted = 0 AND l.expiry > clock_timestamp()
                RETURNING l.* INTO shown;
            EXCEPTION WHEN lock_not_available OR serialization_failure OR read_only_sql_transaction THEN
                RETURN;  -- No mark, and so no hint: the waiter polls.
            END;
            IF FOUND THEN
                -- No wait for the disk: a mark that a crash undoes costs a poll.
                PERFORM set_config('synchronous_commit', 'off', true);
                RETURN;
            END IF;
            PERFORM set_config('lock_timeout', '2s', true);
            CONTINUE;
        ELSIF greatest(shown.token + 1, (extract(epoch FROM clock) * 1000000)::bigint, p_floor)
              > 9007199254740992 - p_tokens THEN
            verdict := 'exhausted';
            RETURN;
        ELSE
            -- A4, A5, A6: only the state that was read is taken. If an acquire waited here for another's commit, it
            -- finds the state changed, matches nothing, and reads again.
            UPDATE {table} AS l SET
                uuid = p_new, renewals = 0, owner = p_owner, since = clock_timestamp(),
                token = greatest(l.token + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, p_floor)
                    + p_tokens - 1,
                duration = p_duration,
                expiry = clock_timestamp() + p_duration::double precision * interval '1 millisecond',
                released = false, asked = false, data = p_data,
                -- N2: waiters of a term that is claimed wait in the next one.
                wanted = CASE WHEN shown.released OR shown.expiry <= clock THEN 0 ELSE l.wanted END
            WHERE l.prefix = p_prefix AND l.name = p_name
                AND l.uuid = shown.uuid AND l.renewals = shown.renewals AND l.released = shown.released
            RETURNING l.token INTO shown.token;
        END IF;

        IF FOUND THEN
            verdict := 'acquired';
            RETURN;
        END IF;
    END LOOP;
    verdict := 'open';
END
$dlock$;
