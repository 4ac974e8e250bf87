-- Gives out tasks under leases.
-- Parameters: the queues, in the order in which they are served; the claim's uuid; the greatest number of tasks; the
-- lease in milliseconds; the worker's label; whether this repeats a claim that had no answer; the instants, in
-- microseconds of Unix time, and numbers after which to look, for each queue and priority, both null to look from the
-- beginning; whether to do that if there are too few tasks after them; the kinds, null for any: tasks of other kinds
-- are passed over, unless they are to end whichever claim finds them.
-- Result: a row for each task, in the order in which they should run, and one without a token for each that has died;
-- then one without a task. Its first number is how many microseconds remain until a task falls due or a lease runs out,
-- null if the claim got as many tasks as it wanted, or nothing is to come. Its second is how many microseconds the walk
-- from the beginning took, null if there was none; without one, nothing is known of leases on earlier tasks.
--
-- A caller that knows where its last claim ended need not pass all that lies before: tasks of other workers, and ended
-- tasks that remain in the index as long as an old snapshot may see them. With a million of those a claim took 260 ms,
-- and 6 with a start, 5 of them for the disk. The tasks that come to lie before a start are most often those whose
-- transaction was committed after that of a later one. So a claim that finds too few after its start, and may not look
-- from the beginning, looks at the tasks that fell due in the second before it.
--
-- In a queue with a limit the tasks that wait for a place lie before those that run: there the claim always looks from
-- the beginning.
--
-- A row that another session has locked is passed over, so claims wait for no session and for no other claim. Only as
-- many rows are locked as are given out: the walk over queues and priorities ends with the last of them. The planner
-- may only walk along the index, however it estimates, and compiles nothing. The tasks that were found are then taken
-- row by row: the number is compared with an array of one, by which an index can be searched but not walked (a session
-- keeps its plan, even if it was made while the queue was empty), and of the indexes only the primary key has the
-- number as it is.
--
-- Without lanes the walk returns the numbers of the rows it has locked, in its order, and a second statement takes the
-- rows in that order and passes them on as they are. As one statement with a loop over its rows it took a fifth longer
-- for a claim of a hundred.
--
-- Two claims could each read a lane without the task that the other one is about to take from it. So a task of a lane
-- is given out only by a statement that began, and took its snapshot, when this session already had the lock of the
-- lane: a walk that finds a task of a lane that is not locked yet gives out nothing, and is repeated with the lock. A
-- lane whose lock another claim has is passed over like a row.
--
-- Judging lanes makes a claim of one task an eighth slower, even if there are no lanes. So before each walk the claim
-- looks whether there are any, and walks without judging if there are none and no queue has a limit. It looks only
-- while the index of lanes is small: entries of tasks that have ended are passed one by one, 200,000 of them in 90 ms.
CREATE OR REPLACE FUNCTION {claim}(
    p_queues pg_catalog.text[], p_uuid pg_catalog.uuid, p_max integer, p_duration bigint, p_owner pg_catalog.text,
    p_again boolean, p_instants bigint[], p_numbers bigint[], p_sweep boolean,
    p_kinds pg_catalog.text[]
) RETURNS TABLE (
    id bigint, token bigint, queue pg_catalog.text, kind pg_catalog.text, payload pg_catalog.json, attempt integer,
    max_attempts integer, checkpoint pg_catalog.json, priority smallint, run_at pg_catalog.timestamptz,
    has_lane boolean, wait bigint, swept bigint, lost integer
)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $dlock$
#variable_conflict use_column
DECLARE
    -- The clock first: a lease that had expired by it had expired when it was read.
    v_now timestamptz := clock_timestamp();
    v_room integer := p_max;
    v_is_sweep boolean := p_instants IS NULL;
    v_since timestamptz;       -- Where a walk for late tasks begins.
    v_began timestamptz := clock_timestamp();
    v_limited text[];          -- The queues of this claim that have a limit,
    v_rooms bigint[];          -- and how many tasks more of each may run.
    v_closed text[];           -- Those of which it gives out none.
    v_full timestamptz;        -- When the first place comes free in one that is full.
    v_locked bigint[] := '{}'; -- The locks of lanes that this claim has,
    v_busy bigint[] := '{}';   -- and those that others have.
    v_is_settled boolean := false; -- Whether this claim has settled the changed lanes: once for all its walks,
    v_unsettled boolean := false; -- and whether there are more, or another session is about to settle them.
    v_held integer;
    v_again boolean;
    v_queue text;
    v_room_of bigint;
    v_ends timestamptz;
    v_place integer;
    v_asked integer;
    v_picked integer;
    v_row record;
    v_task {task};
    v_ids bigint[];            -- The result of a walk: tasks to be given out,
    v_over bigint[];           -- and to be ended.
    v_given bigint[] := '{}';  -- The tasks that this claim has given out.
    v_granted timestamptz;     -- When the leases of a walk begin,
    v_expiry timestamptz;      -- when they end,
    v_token bigint;            -- and the token of all of them but those that have had a larger one.
    v_next timestamptz;
BEGIN
    -- A claim that a crash can undo does not count.
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;

    IF (extract(epoch FROM v_now) * 1000000)::bigint > 9007199254740000 THEN
        RAISE EXCEPTION 'the next fencing token would be beyond 9007199254740991: set the server''s clock';
    END IF;

    PERFORM pg_advisory_xact_lock_shared({gate}());
    -- The queues that are paused, and those with a limit: these in the order of their names, so that two claims never
    -- wait for each other.
    SELECT coalesce(array_agg(q.queue) FILTER (WHERE q.most IS NULL), '{}'),
        array_agg(q.queue ORDER BY q.queue) FILTER (WHERE q.most IS NOT NULL)
    INTO v_closed, v_limited
    FROM (
        SELECT p.queue, NULL::bigint AS most FROM {paused} AS p
        UNION ALL
        SELECT l.queue, l.most FROM {limit} AS l
    ) AS q
    WHERE q.queue = ANY (p_queues);
    IF v_limited IS NOT NULL THEN
        PERFORM {fresh}();
        FOREACH v_queue IN ARRAY v_limited LOOP
            SELECT r.room, r.ends INTO v_room_of, v_ends FROM {room}(v_queue) AS r;
            v_rooms := v_rooms || v_room_of;
            IF v_room_of = 0 AND v_queue <> ALL (v_closed) THEN
                v_closed := v_closed || v_queue;
                v_full := least(v_full, v_ends);
            END IF;
        END LOOP;
    END IF;

    IF p_again THEN
        -- A2: the tasks that a claim without an answer holds.
        RETURN QUERY
        SELECT {shown}
        FROM {task} AS t
        WHERE t.id = ANY (ARRAY(SELECT DISTINCT unnest(h.ids) FROM {held} AS h WHERE h.uuid = p_uuid))
            AND t.queue = ANY (p_queues) AND t.uuid = p_uuid AND NOT t.released AND t.expiry > v_now AND {sound}(t)
        ORDER BY array_position(p_queues, t.queue), t.priority, t.run_at, t.id;
        GET DIAGNOSTICS v_held = ROW_COUNT;
        v_room := v_room - v_held;
    END IF;

    -- A task that may run at once is due whatever the clock said when it was enqueued, if that clock was ahead.
    WITH early AS MATERIALIZED (
        SELECT t.id FROM unnest((SELECT p_queues)) AS q (queue) CROSS JOIN LATERAL (
            SELECT t.id FROM {task} AS t
            WHERE t.queue = q.queue AND t.run_at = t.created AND NOT t.behind AND t.run_at > v_now + interval '1 second'
            ORDER BY t.run_at
            LIMIT 1000
            FOR UPDATE SKIP LOCKED
        ) AS t
    )
    UPDATE {task} AS t SET run_at = v_now FROM early AS e WHERE t.id = ANY (ARRAY[e.id]);

    WHILE v_room > 0 LOOP
        v_asked := v_room;
        IF v_rooms IS NOT NULL THEN
            -- No more than fit into the smallest room, so that none is exceeded.
            v_asked := least(v_room, (SELECT min(r.room) FROM unnest(v_rooms) AS r (room) WHERE r.room > 0));
        END IF;
        v_picked := 0;
        v_again := false;
        IF v_limited IS NULL AND pg_relation_size(to_regclass('{schema}.dlock_task_lane')) <= 131072
            AND NOT EXISTS (SELECT FROM {task} AS t WHERE t.queue = ANY (p_queues) AND t.lane IS NOT NULL)
        THEN
            -- A task of a lane that is committed after that read is passed over: nothing has judged it.
            SELECT array_agg(p.id) FILTER (WHERE NOT p.is_over), array_agg(p.id) FILTER (WHERE p.is_over)
            INTO v_ids, v_over
            FROM (
                SELECT f.id, f.is_over
                FROM ({starts}) AS w CROSS JOIN LATERAL (
                    SELECT
                        t.id,
                        t.attempt >= t.max_attempts OR coalesce(t.asked AND NOT t.released, false) AS is_over
                    FROM {task} AS t
                    WHERE t.lane IS NULL AND {due}
                    ORDER BY t.run_at, t.id + 0
                    LIMIT v_asked
                    FOR UPDATE SKIP LOCKED
                ) AS f
                LIMIT v_asked
            ) AS p;
            IF v_ids IS NOT NULL THEN
                v_granted := clock_timestamp();
                v_expiry := v_granted + p_duration::double precision * interval '1 millisecond';
                v_token := (extract(epoch FROM v_granted) * 1000000)::bigint;
                RETURN QUERY
                UPDATE {task} AS t SET {term}
                FROM unnest((SELECT v_ids)) AS p (id)
                WHERE t.id = ANY (ARRAY[p.id])
                RETURNING {shown};
                v_given := v_given || v_ids;
            END IF;
            IF v_over IS NOT NULL THEN
                {bury}
            END IF;
            v_room := v_room - coalesce(cardinality(v_ids), 0);
            v_picked := coalesce(cardinality(v_ids), 0) + coalesce(cardinality(v_over), 0);
        ELSE
            IF NOT v_is_settled THEN
                v_unsettled := {settle}(p_queues);
                v_is_settled := true;
            END IF;
            v_granted := clock_timestamp();
            v_expiry := v_granted + p_duration::double precision * interval '1 millisecond';
            v_token := (extract(epoch FROM v_granted) * 1000000)::bigint;
            FOR v_row IN
                WITH picked AS MATERIALIZED (
                    SELECT f.id, f.is_over, CASE WHEN NOT f.is_over THEN f.lane END AS lane
                    FROM ({starts}) AS w CROSS JOIN LATERAL (
                        SELECT
                            t.id,
                            -- No worker runs it any more: its last worker was asked to stop, or there is no attempt
                            -- left.
                            t.attempt >= t.max_attempts OR coalesce(t.asked AND NOT t.released, false) AS is_over,
                            CASE WHEN t.lane IS NOT NULL THEN {lane}(t.queue, t.lane) END AS lane
                        FROM {task} AS t
                        WHERE {due}
                            AND (t.lane IS NULL OR {lane}(t.queue, t.lane) <> ALL (v_busy) AND NOT {waits}
                                AND NOT EXISTS (SELECT FROM {changed} AS c WHERE c.queue = t.queue AND c.lane = t.lane))
                        ORDER BY t.run_at, t.id + 0
                        LIMIT v_asked
                        FOR UPDATE SKIP LOCKED
                    ) AS f
                    LIMIT v_asked
                ), unlocked AS (
                    SELECT DISTINCT p.lane FROM picked AS p WHERE p.lane IS NOT NULL AND p.lane <> ALL (v_locked)
                ), granted AS (
                    UPDATE {task} AS t SET {term}
                    FROM picked AS p
                    WHERE t.id = ANY (ARRAY[p.id]) AND NOT p.is_over AND NOT EXISTS (SELECT FROM unlocked)
                    RETURNING t AS task
                )
                SELECT NULL::{task} AS task, p.id AS over, NULL::bigint AS lane FROM picked AS p WHERE p.is_over
                UNION ALL
                SELECT NULL::{task}, NULL::bigint, u.lane FROM unlocked AS u
                UNION ALL
                (SELECT g.task, NULL::bigint, NULL::bigint FROM granted AS g
                ORDER BY array_position(p_queues, (g.task).queue), (g.task).priority, (g.task).run_at, (g.task).id)
            LOOP
                v_picked := v_picked + 1;
                IF v_row.lane IS NOT NULL THEN
                    v_again := true;
                    PERFORM {fresh}();
                    IF pg_try_advisory_xact_lock(v_row.lane) THEN
                        v_locked := v_locked || v_row.lane;
                    ELSE
                        v_busy := v_busy || v_row.lane;
                    END IF;
                ELSIF v_row.over IS NULL THEN
                    v_task := v_row.task;
                    RETURN QUERY SELECT {shown} FROM (SELECT v_task.*) AS t;
                    v_given := v_given || v_task.id;
                    v_room := v_room - 1;
                    v_place := array_position(v_limited, v_task.queue);
                    IF v_place IS NOT NULL THEN
                        INSERT INTO {slot} AS s (queue, id, token) VALUES (v_task.queue, v_task.id, v_task.token)
                        ON CONFLICT (queue, id) DO UPDATE SET token = excluded.token;
                        v_rooms[v_place] := v_rooms[v_place] - 1;
                        IF v_rooms[v_place] = 0 THEN
                            v_closed := v_closed || v_task.queue;
                            v_full := least(v_full, v_task.expiry);
                        END IF;
                    END IF;
                ELSE
                    v_again := true; -- Others of its lane may have waited for it.
                    v_is_settled := false;
                    v_over := ARRAY[v_row.over];
                    {bury}
                END IF;
            END LOOP;
        END IF;
        CONTINUE WHEN v_again;
        IF v_picked < v_asked THEN
            -- The walk has reached its end.
            EXIT WHEN v_is_sweep OR v_since IS NOT NULL;
            IF p_sweep THEN
                v_is_sweep := true;
                v_began := clock_timestamp();
            ELSE
                v_since := v_now - interval '1 second';
            END IF;
        END IF;
    END LOOP;

    IF v_given <> '{}' THEN
        PERFORM {keep}(p_uuid, v_given);
    END IF;

    IF v_room > 0 THEN
        SELECT min(n.instant) INTO v_next
        FROM (
            SELECT q.queue, p.priority
            FROM unnest((SELECT p_queues)) AS q (queue) CROSS JOIN generate_series(0, 9) AS p (priority)
            WHERE q.queue <> ALL (v_closed)
            OFFSET 0
        ) AS w CROSS JOIN LATERAL (
            (SELECT t.run_at FROM {task} AS t
            WHERE t.queue = w.queue AND t.priority = w.priority AND t.run_at > v_now AND NOT t.behind
            ORDER BY t.run_at
            LIMIT 1)
            UNION ALL
            SELECT min(t.expiry) FROM {task} AS t
            WHERE v_is_sweep AND t.queue = w.queue AND t.priority = w.priority AND t.run_at <= v_now
                AND NOT t.behind AND NOT t.released AND t.expiry > v_now
        ) AS n (instant)
        WHERE n.instant < to_timestamp(99999999999);
        -- A lease that has run out may hold a place as long as another session has its row locked.
        v_next := least(v_next, CASE WHEN v_full IS NOT NULL THEN greatest(v_full, v_now + interval '100 milliseconds') END);
        IF cardinality(v_busy) > 0 OR v_unsettled THEN
            -- The other claim may leave some tasks of the lane, and which ones it takes is not known here.
            v_next := least(v_next, v_now + interval '100 milliseconds');
        END IF;
        wait := (extract(epoch FROM v_next - v_now) * 1000000)::bigint;
    END IF;
    IF v_is_sweep THEN
        swept := (extract(epoch FROM clock_timestamp() - v_began) * 1000000)::bigint;
    END IF;
    RETURN NEXT;
END
$dlock$;
