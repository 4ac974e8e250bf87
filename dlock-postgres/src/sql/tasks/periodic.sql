-- Adds the task of one instant of a schedule, unless that instant or a later one was served.
-- Parameters: the schedule; the instant, in microseconds of Unix time; how far in the future, in microseconds, a served
-- instant may lie: one that lies further comes from a clock that was wrong; the parameters of {enqueue}.
-- Result: one row: enqueued, before, begun or not yet; how long until then, in microseconds; the number of the task
-- that is in the queue; whether it is new.
CREATE OR REPLACE FUNCTION {periodic}(
    p_schedule pg_catalog.text, p_instant bigint, p_wrong_clock bigint,
    p_queues pg_catalog.text[], p_priorities integer[], p_delays bigint[], p_instants bigint[],
    p_max_attempts integer[], p_kinds pg_catalog.text[], p_keys pg_catalog.text[], p_until_starts boolean[],
    p_lanes pg_catalog.text[], p_payloads pg_catalog.text[],
    OUT verdict pg_catalog.text, OUT wait bigint, OUT number bigint, OUT is_new boolean
) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan AS $dlock$
DECLARE
    v_instant timestamptz := to_timestamp(0) + p_instant::double precision * interval '1 microsecond';
    v_now timestamptz := clock_timestamp();
BEGIN
    IF v_instant > v_now THEN
        verdict := 'not yet';
        wait := (extract(epoch FROM v_instant - v_now) * 1000000)::bigint;
        RETURN;
    END IF;
    UPDATE {schedule} AS s SET last = v_instant
    WHERE s.name = p_schedule
        AND (s.last < v_instant OR s.last > v_now + p_wrong_clock::double precision * interval '1 microsecond');
    IF FOUND THEN
        verdict := 'enqueued';
        SELECT e.number, e.is_new INTO number, is_new
        FROM {enqueue}(
            p_queues, p_priorities, p_delays, p_instants, p_max_attempts, p_kinds, p_keys, p_until_starts, p_lanes,
            p_payloads) AS e;
        RETURN;
    END IF;
    INSERT INTO {schedule} (name, last) VALUES (p_schedule, v_instant) ON CONFLICT (name) DO NOTHING;
    verdict := CASE WHEN FOUND THEN 'begun' ELSE 'before' END;
END
$dlock$;
