-- What the version makes whose queues have layout 1 and claims of number 9. It stays as it is.
DO $dlock$
BEGIN
    IF pg_catalog.to_regnamespace('"dlock"') IS NULL THEN
        CREATE SCHEMA "dlock";
    END IF;
END
$dlock$;
CREATE TABLE IF NOT EXISTS "dlock".dlock_task (
    id           bigint                 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue        pg_catalog.text        COLLATE pg_catalog."C" NOT NULL,
    priority     smallint               NOT NULL,
    run_at       pg_catalog.timestamptz NOT NULL,
    max_attempts integer                NOT NULL,
    kind         pg_catalog.text        NOT NULL,
    key          pg_catalog.text        COLLATE pg_catalog."C",
    lane         pg_catalog.text        COLLATE pg_catalog."C",
    payload      pg_catalog.json        NOT NULL,
    created      pg_catalog.timestamptz NOT NULL,
    errors       pg_catalog.jsonb       NOT NULL,
    checkpoint   pg_catalog.json,
    attempt      integer                NOT NULL,
    checkpoints  bigint                 NOT NULL,
    token        bigint                 NOT NULL,
    uuid         pg_catalog.uuid,
    renewals     bigint,
    owner        pg_catalog.text,
    since        pg_catalog.timestamptz,
    duration     bigint,
    expiry       pg_catalog.timestamptz,
    released     boolean,
    asked        boolean
) WITH (fillfactor = 35);
CREATE TABLE IF NOT EXISTS "dlock".dlock_task_done (
    id           bigint                 PRIMARY KEY,
    queue        pg_catalog.text        COLLATE pg_catalog."C" NOT NULL,
    priority     smallint               NOT NULL,
    run_at       pg_catalog.timestamptz NOT NULL,
    attempt      integer                NOT NULL,
    max_attempts integer                NOT NULL,
    kind         pg_catalog.text        NOT NULL,
    key          pg_catalog.text        COLLATE pg_catalog."C",
    lane         pg_catalog.text        COLLATE pg_catalog."C",
    payload      pg_catalog.json        NOT NULL,
    errors       pg_catalog.jsonb       NOT NULL,
    created      pg_catalog.timestamptz NOT NULL,
    checkpoint   pg_catalog.json,
    token        bigint                 NOT NULL,
    state        pg_catalog.text        COLLATE pg_catalog."C" NOT NULL,
    output       pg_catalog.json,
    ending       bigint,
    ended        pg_catalog.timestamptz NOT NULL
);
CREATE TABLE IF NOT EXISTS "dlock".dlock_task_schedule (
    name pg_catalog.text        COLLATE pg_catalog."C" PRIMARY KEY,
    last pg_catalog.timestamptz NOT NULL
);
CREATE TABLE IF NOT EXISTS "dlock".dlock_task_paused (
    queue pg_catalog.text        COLLATE pg_catalog."C" PRIMARY KEY,
    since pg_catalog.timestamptz NOT NULL
);
CREATE TABLE IF NOT EXISTS "dlock".dlock_task_limit (
    queue pg_catalog.text COLLATE pg_catalog."C" PRIMARY KEY,
    most  bigint          NOT NULL
);
CREATE TABLE IF NOT EXISTS "dlock".dlock_task_slot (
    queue pg_catalog.text COLLATE pg_catalog."C",
    id    bigint,
    token bigint NOT NULL,
    PRIMARY KEY (queue, id)
);
DO $dlock$
DECLARE
    v_timeout pg_catalog.text := pg_catalog.current_setting('lock_timeout');
BEGIN
    IF pg_catalog.to_regclass('"dlock".dlock_task_next') IS NOT NULL THEN
        PERFORM pg_catalog.set_config('lock_timeout', '2s', true);
        DROP INDEX "dlock".dlock_task_next;
        PERFORM pg_catalog.set_config('lock_timeout', v_timeout, true);
    END IF;
EXCEPTION WHEN lock_not_available THEN
    RAISE WARNING '% was in use: drop it by hand, since claims and endings may read the whole of it for each task',
        '"dlock".dlock_task_next';
END
$dlock$;
DO $dlock$
BEGIN
    IF pg_catalog.to_regclass('"dlock".dlock_task_due') IS NULL THEN
        CREATE INDEX dlock_task_due ON "dlock".dlock_task (queue, priority, run_at, (id OPERATOR(pg_catalog.+) 0));
    END IF;
    IF pg_catalog.to_regclass('"dlock".dlock_task_key') IS NULL THEN
        CREATE UNIQUE INDEX dlock_task_key ON "dlock".dlock_task (queue, key) WHERE key IS NOT NULL;
    END IF;
    IF pg_catalog.to_regclass('"dlock".dlock_task_lane') IS NULL THEN
        CREATE INDEX dlock_task_lane ON "dlock".dlock_task (queue, lane, priority, run_at, id) WHERE lane IS NOT NULL;
    END IF;
    IF pg_catalog.to_regclass('"dlock".dlock_task_done_ended') IS NULL THEN
        CREATE INDEX dlock_task_done_ended ON "dlock".dlock_task_done (state, ended);
    END IF;
END
$dlock$;
CREATE TABLE IF NOT EXISTS "dlock".dlock_task_layout (version integer NOT NULL);
INSERT INTO "dlock".dlock_task_layout (version) SELECT 1 WHERE NOT EXISTS (SELECT FROM "dlock".dlock_task_layout);
CREATE OR REPLACE FUNCTION "dlock".dlock_task_sound_1(t "dlock".dlock_task) RETURNS boolean LANGUAGE sql IMMUTABLE AS $dlock$
    SELECT coalesce(
        t.id >= 1 AND t.attempt >= 0 AND t.max_attempts >= 1 AND t.checkpoints >= 0
        AND t.token >= 0 AND t.token < 9007199254740991
        AND (t.uuid IS NULL OR (
            t.renewals >= 0 AND t.renewals <= 9007199254740991 AND octet_length(t.owner) <= 1024
            AND t.since >= to_timestamp(0) AND t.since <= to_timestamp(9007199254)
            AND t.token >= 1 AND t.duration >= 100 AND t.duration <= 86400000
            AND isfinite(t.expiry) AND t.released IS NOT NULL AND t.asked IS NOT NULL)),
        false)
$dlock$;
CREATE OR REPLACE FUNCTION "dlock".dlock_task_state_1(t "dlock".dlock_task, p_now pg_catalog.timestamptz) RETURNS pg_catalog.text
LANGUAGE sql IMMUTABLE AS $dlock$
    SELECT CASE
        WHEN t.uuid IS NOT NULL AND NOT t.released AND t.expiry OPERATOR(pg_catalog.<=) p_now THEN 'stalled'
        WHEN t.uuid IS NOT NULL AND NOT t.released THEN 'running'
        WHEN t.run_at OPERATOR(pg_catalog.>) p_now THEN 'scheduled'
        ELSE 'ready'
    END
$dlock$;
CREATE OR REPLACE FUNCTION "dlock".dlock_task_lane_1(p_queue pg_catalog.text, p_lane pg_catalog.text) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $dlock$
    SELECT pg_catalog.hashtextextended(
        '"dlock"/' OPERATOR(pg_catalog.||) p_queue OPERATOR(pg_catalog.||) '/' OPERATOR(pg_catalog.||) p_lane, 0)
$dlock$;
CREATE OR REPLACE FUNCTION "dlock".dlock_task_gate_1() RETURNS bigint LANGUAGE sql IMMUTABLE AS $dlock$
    SELECT pg_catalog.hashtextextended('"dlock"', 1)
$dlock$;
CREATE OR REPLACE FUNCTION "dlock".dlock_task_fresh_1() RETURNS void LANGUAGE plpgsql AS $dlock$
BEGIN
    IF pg_catalog.current_setting('transaction_isolation') OPERATOR(pg_catalog.<>) 'read committed' THEN
        RAISE EXCEPTION USING MESSAGE = 'tasks of lanes and of queues with a limit are claimed in transactions that are '
            'READ COMMITTED only: set default_transaction_isolation of this role or database to it';
    END IF;
END
$dlock$;
CREATE OR REPLACE FUNCTION "dlock".dlock_task_silence_1(p_owner pg_catalog.text) RETURNS pg_catalog.text LANGUAGE sql STABLE AS $dlock$
    SELECT format('the lease of worker %s ran out, and nothing was heard of it', to_json(p_owner))
$dlock$;
CREATE OR REPLACE FUNCTION "dlock".dlock_task_failed_1(
    p_errors pg_catalog.jsonb, p_attempt integer, p_at pg_catalog.timestamptz, p_error pg_catalog.text
) RETURNS pg_catalog.jsonb LANGUAGE sql STABLE AS $dlock$
    SELECT CASE
        WHEN jsonb_typeof(p_errors) <> 'array' THEN '[]'::jsonb
        WHEN jsonb_array_length(p_errors) >= 10 THEN p_errors - 0
        ELSE p_errors
    END || jsonb_build_object(
        'attempt', p_attempt, 'at', (extract(epoch FROM p_at) * 1000000)::bigint, 'error', p_error)
$dlock$;;
CREATE OR REPLACE FUNCTION "dlock".dlock_task_move_2(
    p_id bigint, p_state pg_catalog.text, p_output pg_catalog.json, p_ending bigint, p_error pg_catalog.text
) RETURNS void LANGUAGE plpgsql AS $dlock$
DECLARE
    v_queue text := (
        SELECT t.queue FROM "dlock".dlock_task AS t
        WHERE t.id = p_id
            AND (t.lane IS NOT NULL OR EXISTS (SELECT FROM "dlock".dlock_task_limit AS l WHERE l.queue = t.queue)));
BEGIN
    IF v_queue IS NOT NULL THEN
        PERFORM "dlock".dlock_task_tell_1(ARRAY[v_queue]);
    END IF;
    WITH gone AS (
        DELETE FROM "dlock".dlock_task AS t WHERE t.id = p_id RETURNING t.*
    )
    INSERT INTO "dlock".dlock_task_done (
        id, queue, priority, run_at, attempt, max_attempts, kind, key, lane, payload, errors, created, checkpoint,
        token, state, output, ending, ended)
    SELECT
        t.id, t.queue, t.priority, t.run_at, t.attempt, t.max_attempts, t.kind, t.key, t.lane, t.payload,
        CASE WHEN p_error IS NULL THEN t.errors ELSE "dlock".dlock_task_failed_1(t.errors, t.attempt, clock_timestamp(), p_error) END,
        t.created, t.checkpoint, t.token, p_state, p_output, p_ending, clock_timestamp()
    FROM gone AS t;
END
$dlock$;;
CREATE OR REPLACE FUNCTION "dlock".dlock_task_bucket_1(p_queue pg_catalog.text) RETURNS bigint LANGUAGE sql IMMUTABLE AS $dlock$
    SELECT pg_catalog.hashtextextended(p_queue, 0) OPERATOR(pg_catalog.&) 63
$dlock$;
CREATE OR REPLACE FUNCTION "dlock".dlock_task_tell_1(p_queues pg_catalog.text[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $dlock$
BEGIN
    IF current_setting('dlock.hints', true) = 'off' OR pg_notification_queue_usage() > 0.5 THEN
        RETURN;
    END IF;
    PERFORM pg_notify('dlock_task', '"dlock"/' || b.bucket)
    FROM (SELECT DISTINCT "dlock".dlock_task_bucket_1(q.queue) AS bucket FROM unnest(p_queues) AS q (queue) OFFSET 0) AS b
    WHERE pg_try_advisory_xact_lock(
        hashtextextended('"dlock"/' || b.bucket, (extract(epoch FROM now()) * 50)::bigint));
END
$dlock$;;
CREATE OR REPLACE FUNCTION "dlock".dlock_task_enqueue_2(
    p_queues pg_catalog.text[], p_priorities integer[], p_delays bigint[], p_instants bigint[],
    p_max_attempts integer[], p_kinds pg_catalog.text[], p_keys pg_catalog.text[], p_lanes pg_catalog.text[],
    p_payloads pg_catalog.text[]
) RETURNS TABLE (place bigint, number bigint, is_new boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $dlock$
#variable_conflict use_column
DECLARE
    v_now timestamptz := clock_timestamp();
    v_open bigint[] := ARRAY(SELECT generate_series(1, cardinality(p_queues)));
    v_places bigint[];
    v_numbers bigint[];
    v_added boolean := false;
BEGIN
    FOR round IN 1..5 LOOP
        SELECT array_agg(u.place), array_agg(t.id) INTO v_places, v_numbers
        FROM unnest((SELECT v_open)) AS u (place) CROSS JOIN LATERAL (
            SELECT t.id FROM "dlock".dlock_task AS t
            WHERE t.queue = p_queues[u.place] AND t.key = p_keys[u.place]
            LIMIT 1
        ) AS t;
        IF v_places IS NOT NULL THEN
            RETURN QUERY SELECT u.place, u.number, false FROM unnest(v_places, v_numbers) AS u (place, number);
            v_open := ARRAY(SELECT unnest(v_open) EXCEPT SELECT unnest(v_places) ORDER BY 1);
        END IF;
        EXIT WHEN v_added AND cardinality(v_open) > 0;
        WITH given AS MATERIALIZED (
            SELECT u.place, nextval('"dlock".dlock_task_id_seq') AS number
            FROM (SELECT u.place FROM unnest((SELECT v_open)) AS u (place) ORDER BY u.place OFFSET 0) AS u
        ), added AS (
            INSERT INTO "dlock".dlock_task (
                id, queue, priority, run_at, attempt, max_attempts, kind, key, lane, payload, errors, created,
                checkpoints, token)
            OVERRIDING SYSTEM VALUE
            SELECT
                g.number, p_queues[g.place], p_priorities[g.place],
                CASE
                    WHEN p_instants[g.place] IS NULL
                        THEN v_now + p_delays[g.place]::double precision * interval '1 microsecond'
                    ELSE to_timestamp(0) + p_instants[g.place]::double precision * interval '1 microsecond'
                END,
                0, p_max_attempts[g.place], p_kinds[g.place], p_keys[g.place], p_lanes[g.place],
                p_payloads[g.place]::json, '[]', v_now, 0, 0
            FROM given AS g
            ORDER BY p_queues[g.place] COLLATE "C", p_keys[g.place] COLLATE "C", g.place
            ON CONFLICT (queue, key) WHERE key IS NOT NULL DO NOTHING
            RETURNING id
        )
        SELECT array_agg(g.place), array_agg(g.number) INTO v_places, v_numbers
        FROM given AS g WHERE g.number IN (SELECT a.id FROM added AS a);
        IF v_places IS NOT NULL THEN
            v_added := true;
            PERFORM "dlock".dlock_task_tell_1(p_queues);
            RETURN QUERY SELECT u.place, u.number, true FROM unnest(v_places, v_numbers) AS u (place, number);
            IF cardinality(v_places) = cardinality(v_open) THEN
                RETURN;
            END IF;
            v_open := ARRAY(SELECT unnest(v_open) EXCEPT SELECT unnest(v_places) ORDER BY 1);
        END IF;
        IF cardinality(v_open) = 0 THEN
            RETURN;
        END IF;
    END LOOP;
    RAISE EXCEPTION 'the keys of these tasks come and go' USING ERRCODE = 'serialization_failure';
END
$dlock$;;
CREATE OR REPLACE FUNCTION "dlock".dlock_task_periodic_2(
    p_schedule pg_catalog.text, p_instant bigint, p_wrong_clock bigint,
    p_queues pg_catalog.text[], p_priorities integer[], p_delays bigint[], p_instants bigint[],
    p_max_attempts integer[], p_kinds pg_catalog.text[], p_keys pg_catalog.text[], p_lanes pg_catalog.text[],
    p_payloads pg_catalog.text[],
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
    UPDATE "dlock".dlock_task_schedule AS s SET last = v_instant
    WHERE s.name = p_schedule
        AND (s.last < v_instant OR s.last > v_now + p_wrong_clock::double precision * interval '1 microsecond');
    IF FOUND THEN
        verdict := 'enqueued';
        SELECT e.number, e.is_new INTO number, is_new
        FROM "dlock".dlock_task_enqueue_2(
            p_queues, p_priorities, p_delays, p_instants, p_max_attempts, p_kinds, p_keys, p_lanes, p_payloads) AS e;
        RETURN;
    END IF;
    INSERT INTO "dlock".dlock_task_schedule (name, last) VALUES (p_schedule, v_instant) ON CONFLICT (name) DO NOTHING;
    verdict := CASE WHEN FOUND THEN 'begun' ELSE 'before' END;
END
$dlock$;;
CREATE OR REPLACE FUNCTION "dlock".dlock_task_room_2(p_queue pg_catalog.text, OUT room bigint, OUT ends pg_catalog.timestamptz)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $dlock$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('"dlock"/' || p_queue, 2));
    DELETE FROM "dlock".dlock_task_slot AS s
    WHERE s.queue = p_queue
        AND NOT EXISTS (SELECT FROM "dlock".dlock_task AS t WHERE t.id = s.id AND t.token = s.token AND NOT t.released);
    DELETE FROM "dlock".dlock_task_slot AS s USING (
        SELECT t.id
        FROM "dlock".dlock_task_slot AS s JOIN "dlock".dlock_task AS t ON t.id = ANY (ARRAY[s.id])
        WHERE s.queue = p_queue AND t.token = s.token AND NOT t.released AND t.expiry <= clock_timestamp()
        FOR UPDATE OF t SKIP LOCKED
    ) AS o
    WHERE s.queue = p_queue AND s.id = o.id;
    SELECT greatest(l.most - (SELECT count(*) FROM "dlock".dlock_task_slot AS s WHERE s.queue = p_queue), 0) INTO room
    FROM "dlock".dlock_task_limit AS l WHERE l.queue = p_queue;
    SELECT min(t.expiry) INTO ends
    FROM "dlock".dlock_task_slot AS s JOIN "dlock".dlock_task AS t ON t.id = ANY (ARRAY[s.id]) AND t.token = s.token
    WHERE s.queue = p_queue;
END
$dlock$;
CREATE OR REPLACE FUNCTION "dlock".dlock_task_claim_9(
    p_queues pg_catalog.text[], p_uuid pg_catalog.uuid, p_max integer, p_duration bigint, p_owner pg_catalog.text,
    p_again boolean, p_instants bigint[], p_numbers bigint[], p_sweep boolean,
    p_kinds pg_catalog.text[]
) RETURNS TABLE (
    id bigint, token bigint, queue pg_catalog.text, kind pg_catalog.text, payload pg_catalog.json, attempt integer,
    max_attempts integer, checkpoint pg_catalog.json, priority smallint, run_at pg_catalog.timestamptz,
    has_lane boolean, wait bigint, swept bigint
)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $dlock$
#variable_conflict use_column
DECLARE
    v_now timestamptz := clock_timestamp();
    v_room integer := p_max;
    v_is_sweep boolean := p_instants IS NULL;
    v_since timestamptz;
    v_began timestamptz := clock_timestamp();
    v_limited text[];
    v_rooms bigint[];
    v_closed text[];
    v_full timestamptz;
    v_locked bigint[] := '{}';
    v_busy bigint[] := '{}';
    v_held integer;
    v_again boolean;
    v_queue text;
    v_room_of bigint;
    v_ends timestamptz;
    v_place integer;
    v_asked integer;
    v_picked integer;
    v_row record;
    v_task "dlock".dlock_task;
    v_ids bigint[];
    v_over bigint[];
    v_granted timestamptz;
    v_expiry timestamptz;
    v_token bigint;
    v_next timestamptz;
BEGIN
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    IF (extract(epoch FROM v_now) * 1000000)::bigint > 9007199254740000 THEN
        RAISE EXCEPTION 'the next fencing token would be beyond 9007199254740991: set the server''s clock';
    END IF;
    PERFORM pg_advisory_xact_lock_shared("dlock".dlock_task_gate_1());
    SELECT coalesce(array_agg(q.queue) FILTER (WHERE q.most IS NULL), '{}'),
        array_agg(q.queue ORDER BY q.queue) FILTER (WHERE q.most IS NOT NULL)
    INTO v_closed, v_limited
    FROM (
        SELECT p.queue, NULL::bigint AS most FROM "dlock".dlock_task_paused AS p
        UNION ALL
        SELECT l.queue, l.most FROM "dlock".dlock_task_limit AS l
    ) AS q
    WHERE q.queue = ANY (p_queues);
    IF v_limited IS NOT NULL THEN
        PERFORM "dlock".dlock_task_fresh_1();
        FOREACH v_queue IN ARRAY v_limited LOOP
            SELECT r.room, r.ends INTO v_room_of, v_ends FROM "dlock".dlock_task_room_2(v_queue) AS r;
            v_rooms := v_rooms || v_room_of;
            IF v_room_of = 0 AND v_queue <> ALL (v_closed) THEN
                v_closed := v_closed || v_queue;
                v_full := least(v_full, v_ends);
            END IF;
        END LOOP;
    END IF;
    IF p_again THEN
        RETURN QUERY
        SELECT
t.id, t.token, t.queue, t.kind, t.payload, t.attempt, t.max_attempts, t.checkpoint, t.priority, t.run_at,
t.lane IS NOT NULL, NULL::bigint, NULL::bigint
        FROM "dlock".dlock_task AS t
        WHERE t.queue = ANY (p_queues) AND t.uuid = p_uuid AND NOT t.released AND t.expiry > v_now AND "dlock".dlock_task_sound_1(t)
        ORDER BY array_position(p_queues, t.queue), t.priority, t.run_at, t.id;
        GET DIAGNOSTICS v_held = ROW_COUNT;
        v_room := v_room - v_held;
    END IF;
    WHILE v_room > 0 LOOP
        v_asked := v_room;
        IF v_rooms IS NOT NULL THEN
            v_asked := least(v_room, (SELECT min(r.room) FROM unnest(v_rooms) AS r (room) WHERE r.room > 0));
        END IF;
        v_picked := 0;
        v_again := false;
        IF v_limited IS NULL AND pg_relation_size(to_regclass('"dlock".dlock_task_lane')) <= 131072
            AND NOT EXISTS (SELECT FROM "dlock".dlock_task AS t WHERE t.queue = ANY (p_queues) AND t.lane IS NOT NULL)
        THEN
            SELECT array_agg(p.id) FILTER (WHERE NOT p.is_over), array_agg(p.id) FILTER (WHERE p.is_over)
            INTO v_ids, v_over
            FROM (
                SELECT f.id, f.is_over
                FROM (
SELECT s.queue, s.priority, least(s.start, v_since) AS start, s.number
FROM (
    SELECT
        q.queue, p.priority, q.place,
        CASE
            WHEN v_is_sweep OR q.queue = ANY (v_limited)
                OR p_instants[q.place * 10 + p.priority - 9] IS NULL THEN '-infinity'
            ELSE to_timestamp(0) + interval '1 microsecond'
                * p_instants[q.place * 10 + p.priority - 9]::double precision
        END AS start,
        CASE WHEN v_is_sweep THEN 0 ELSE coalesce(p_numbers[q.place * 10 + p.priority - 9], 0) END AS number
    FROM unnest((SELECT p_queues)) WITH ORDINALITY AS q (queue, place)
        CROSS JOIN generate_series(0, 9) AS p (priority)
    WHERE q.queue <> ALL (v_closed)
) AS s
WHERE v_since IS NULL OR s.start > v_since
ORDER BY s.place, s.priority
OFFSET 0) AS w CROSS JOIN LATERAL (
                    SELECT
                        t.id,
                        t.attempt >= t.max_attempts OR coalesce(t.asked AND NOT t.released, false) AS is_over
                    FROM "dlock".dlock_task AS t
                    WHERE t.lane IS NULL AND
t.queue = w.queue AND t.priority = w.priority AND t.run_at <= v_now
AND (t.run_at, t.id + 0) > (w.start, w.number)
AND (t.uuid IS NULL OR t.released OR t.expiry <= v_now)
AND (t.uuid IS DISTINCT FROM p_uuid
    OR t.attempt >= t.max_attempts OR t.asked AND NOT t.released)
AND (p_kinds IS NULL OR t.kind = ANY (p_kinds)
    OR t.attempt >= t.max_attempts OR t.asked AND NOT t.released)
AND "dlock".dlock_task_sound_1(t)
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
                UPDATE "dlock".dlock_task AS t SET
uuid = p_uuid, renewals = 0, owner = p_owner, since = v_granted,
token = greatest(t.token + 1, v_token), duration = p_duration, expiry = v_expiry,
released = false, asked = false, attempt = t.attempt + 1, checkpoints = 0,
errors = CASE
    WHEN t.uuid IS NULL OR t.released THEN t.errors
    ELSE "dlock".dlock_task_failed_1(t.errors, t.attempt, v_now, "dlock".dlock_task_silence_1(t.owner))
END
                FROM unnest((SELECT v_ids)) AS p (id)
                WHERE t.id = ANY (ARRAY[p.id])
                RETURNING
t.id, t.token, t.queue, t.kind, t.payload, t.attempt, t.max_attempts, t.checkpoint, t.priority, t.run_at,
t.lane IS NOT NULL, NULL::bigint, NULL::bigint;
            END IF;
            IF v_over IS NOT NULL THEN
                PERFORM "dlock".dlock_task_move_2(
                    t.id, CASE WHEN t.asked AND NOT t.released THEN 'cancelled' ELSE 'dead' END, NULL, NULL,
                    CASE WHEN NOT t.released AND NOT t.asked THEN "dlock".dlock_task_silence_1(t.owner) END)
                FROM unnest((SELECT v_over)) AS p (id) JOIN "dlock".dlock_task AS t ON t.id = ANY (ARRAY[p.id]);
            END IF;
            v_room := v_room - coalesce(cardinality(v_ids), 0);
            v_picked := coalesce(cardinality(v_ids), 0) + coalesce(cardinality(v_over), 0);
        ELSE
            v_granted := clock_timestamp();
            v_expiry := v_granted + p_duration::double precision * interval '1 millisecond';
            v_token := (extract(epoch FROM v_granted) * 1000000)::bigint;
            FOR v_row IN
                WITH picked AS MATERIALIZED (
                    SELECT f.id, f.is_over, CASE WHEN NOT f.is_over THEN f.lane END AS lane
                    FROM (
SELECT s.queue, s.priority, least(s.start, v_since) AS start, s.number
FROM (
    SELECT
        q.queue, p.priority, q.place,
        CASE
            WHEN v_is_sweep OR q.queue = ANY (v_limited)
                OR p_instants[q.place * 10 + p.priority - 9] IS NULL THEN '-infinity'
            ELSE to_timestamp(0) + interval '1 microsecond'
                * p_instants[q.place * 10 + p.priority - 9]::double precision
        END AS start,
        CASE WHEN v_is_sweep THEN 0 ELSE coalesce(p_numbers[q.place * 10 + p.priority - 9], 0) END AS number
    FROM unnest((SELECT p_queues)) WITH ORDINALITY AS q (queue, place)
        CROSS JOIN generate_series(0, 9) AS p (priority)
    WHERE q.queue <> ALL (v_closed)
) AS s
WHERE v_since IS NULL OR s.start > v_since
ORDER BY s.place, s.priority
OFFSET 0) AS w CROSS JOIN LATERAL (
                        SELECT
                            t.id,
                            t.attempt >= t.max_attempts OR coalesce(t.asked AND NOT t.released, false) AS is_over,
                            CASE WHEN t.lane IS NOT NULL THEN "dlock".dlock_task_lane_1(t.queue, t.lane) END AS lane
                        FROM "dlock".dlock_task AS t
                        WHERE
t.queue = w.queue AND t.priority = w.priority AND t.run_at <= v_now
AND (t.run_at, t.id + 0) > (w.start, w.number)
AND (t.uuid IS NULL OR t.released OR t.expiry <= v_now)
AND (t.uuid IS DISTINCT FROM p_uuid
    OR t.attempt >= t.max_attempts OR t.asked AND NOT t.released)
AND (p_kinds IS NULL OR t.kind = ANY (p_kinds)
    OR t.attempt >= t.max_attempts OR t.asked AND NOT t.released)
AND "dlock".dlock_task_sound_1(t)
                            AND (t.lane IS NULL OR "dlock".dlock_task_lane_1(t.queue, t.lane) <> ALL (v_busy) AND NOT
EXISTS (
    SELECT FROM "dlock".dlock_task AS o
    WHERE o.queue = t.queue AND o.lane = t.lane AND o.id <> t.id
        AND (
            NOT o.released AND o.expiry > v_now
            OR (NOT o.released OR o.run_at <= v_now)
                AND (coalesce(o.released, true), o.priority, o.run_at, o.id)
                    < (coalesce(t.released, true), t.priority, t.run_at, t.id))
        AND "dlock".dlock_task_sound_1(o)))
                        ORDER BY t.run_at, t.id + 0
                        LIMIT v_asked
                        FOR UPDATE SKIP LOCKED
                    ) AS f
                    LIMIT v_asked
                ), unlocked AS (
                    SELECT DISTINCT p.lane FROM picked AS p WHERE p.lane IS NOT NULL AND p.lane <> ALL (v_locked)
                ), granted AS (
                    UPDATE "dlock".dlock_task AS t SET
uuid = p_uuid, renewals = 0, owner = p_owner, since = v_granted,
token = greatest(t.token + 1, v_token), duration = p_duration, expiry = v_expiry,
released = false, asked = false, attempt = t.attempt + 1, checkpoints = 0,
errors = CASE
    WHEN t.uuid IS NULL OR t.released THEN t.errors
    ELSE "dlock".dlock_task_failed_1(t.errors, t.attempt, v_now, "dlock".dlock_task_silence_1(t.owner))
END
                    FROM picked AS p
                    WHERE t.id = ANY (ARRAY[p.id]) AND NOT p.is_over AND NOT EXISTS (SELECT FROM unlocked)
                    RETURNING t AS task
                )
                SELECT NULL::"dlock".dlock_task AS task, p.id AS over, NULL::bigint AS lane FROM picked AS p WHERE p.is_over
                UNION ALL
                SELECT NULL::"dlock".dlock_task, NULL::bigint, u.lane FROM unlocked AS u
                UNION ALL
                (SELECT g.task, NULL::bigint, NULL::bigint FROM granted AS g
                ORDER BY array_position(p_queues, (g.task).queue), (g.task).priority, (g.task).run_at, (g.task).id)
            LOOP
                v_picked := v_picked + 1;
                IF v_row.lane IS NOT NULL THEN
                    v_again := true;
                    PERFORM "dlock".dlock_task_fresh_1();
                    IF pg_try_advisory_xact_lock(v_row.lane) THEN
                        v_locked := v_locked || v_row.lane;
                    ELSE
                        v_busy := v_busy || v_row.lane;
                    END IF;
                ELSIF v_row.over IS NULL THEN
                    v_task := v_row.task;
                    RETURN QUERY SELECT
t.id, t.token, t.queue, t.kind, t.payload, t.attempt, t.max_attempts, t.checkpoint, t.priority, t.run_at,
t.lane IS NOT NULL, NULL::bigint, NULL::bigint FROM (SELECT v_task.*) AS t;
                    v_room := v_room - 1;
                    v_place := array_position(v_limited, v_task.queue);
                    IF v_place IS NOT NULL THEN
                        INSERT INTO "dlock".dlock_task_slot AS s (queue, id, token) VALUES (v_task.queue, v_task.id, v_task.token)
                        ON CONFLICT (queue, id) DO UPDATE SET token = excluded.token;
                        v_rooms[v_place] := v_rooms[v_place] - 1;
                        IF v_rooms[v_place] = 0 THEN
                            v_closed := v_closed || v_task.queue;
                            v_full := least(v_full, v_task.expiry);
                        END IF;
                    END IF;
                ELSE
                    v_again := true;
                    PERFORM "dlock".dlock_task_move_2(
                        t.id, CASE WHEN t.asked AND NOT t.released THEN 'cancelled' ELSE 'dead' END, NULL, NULL,
                        CASE WHEN NOT t.released AND NOT t.asked THEN "dlock".dlock_task_silence_1(t.owner) END)
                    FROM "dlock".dlock_task AS t WHERE t.id = v_row.over;
                END IF;
            END LOOP;
        END IF;
        CONTINUE WHEN v_again;
        IF v_picked < v_asked THEN
            EXIT WHEN v_is_sweep OR v_since IS NOT NULL;
            IF p_sweep THEN
                v_is_sweep := true;
                v_began := clock_timestamp();
            ELSE
                v_since := v_now - interval '1 second';
            END IF;
        END IF;
    END LOOP;
    IF v_room > 0 THEN
        SELECT min(n.instant) INTO v_next
        FROM (
            SELECT q.queue, p.priority
            FROM unnest((SELECT p_queues)) AS q (queue) CROSS JOIN generate_series(0, 9) AS p (priority)
            WHERE q.queue <> ALL (v_closed)
            OFFSET 0
        ) AS w CROSS JOIN LATERAL (
            (SELECT t.run_at FROM "dlock".dlock_task AS t
            WHERE t.queue = w.queue AND t.priority = w.priority AND t.run_at > v_now
            ORDER BY t.run_at
            LIMIT 1)
            UNION ALL
            SELECT min(t.expiry) FROM "dlock".dlock_task AS t
            WHERE v_is_sweep AND t.queue = w.queue AND t.priority = w.priority AND t.run_at <= v_now
                AND NOT t.released AND t.expiry > v_now
        ) AS n (instant)
        WHERE n.instant < to_timestamp(99999999999);
        v_next := least(v_next, CASE WHEN v_full IS NOT NULL THEN greatest(v_full, v_now + interval '100 milliseconds') END);
        IF cardinality(v_busy) > 0 THEN
            v_next := least(v_next, v_now + interval '100 milliseconds');
        END IF;
        wait := (extract(epoch FROM v_next - v_now) * 1000000)::bigint;
    END IF;
    IF v_is_sweep THEN
        swept := (extract(epoch FROM clock_timestamp() - v_began) * 1000000)::bigint;
    END IF;
    RETURN NEXT;
END
$dlock$;;
CREATE OR REPLACE FUNCTION "dlock".dlock_task_before_4(
    p_queues pg_catalog.text[], p_instants bigint[], p_numbers bigint[], p_kinds pg_catalog.text[]
) RETURNS TABLE (queue pg_catalog.text, priority integer, instant bigint, number bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET enable_bitmapscan = off
SET jit = off AS $dlock$
#variable_conflict use_column
DECLARE
    v_now timestamptz := clock_timestamp();
    v_paused text[] := ARRAY(SELECT p.queue FROM "dlock".dlock_task_paused AS p WHERE p.queue = ANY (p_queues));
BEGIN
    RETURN QUERY
    SELECT w.queue, w.priority, (extract(epoch FROM f.run_at) * 1000000)::bigint, f.id
    FROM (
        SELECT
            q.queue, p.priority,
            to_timestamp(0) + interval '1 microsecond'
                * p_instants[q.place * 10 + p.priority - 9]::double precision AS start,
            p_numbers[q.place * 10 + p.priority - 9] AS number
        FROM unnest((SELECT p_queues)) WITH ORDINALITY AS q (queue, place)
            CROSS JOIN generate_series(0, 9) AS p (priority)
        WHERE q.queue <> ALL (v_paused) AND p_instants[q.place * 10 + p.priority - 9] IS NOT NULL
        OFFSET 0
    ) AS w CROSS JOIN LATERAL (
        SELECT t.run_at, t.id
        FROM "dlock".dlock_task AS t
        WHERE t.queue = w.queue AND t.priority = w.priority AND t.run_at <= w.start
            AND (t.run_at, t.id + 0) <= (w.start, w.number)
            AND (t.uuid IS NULL OR t.released OR t.expiry <= v_now)
            AND (p_kinds IS NULL OR t.kind = ANY (p_kinds)
                OR t.attempt >= t.max_attempts OR t.asked AND NOT t.released)
            AND (t.lane IS NULL OR NOT
EXISTS (
    SELECT FROM "dlock".dlock_task AS o
    WHERE o.queue = t.queue AND o.lane = t.lane AND o.id <> t.id
        AND (
            NOT o.released AND o.expiry > v_now
            OR (NOT o.released OR o.run_at <= v_now)
                AND (coalesce(o.released, true), o.priority, o.run_at, o.id)
                    < (coalesce(t.released, true), t.priority, t.run_at, t.id))
        AND "dlock".dlock_task_sound_1(o)))
            AND "dlock".dlock_task_sound_1(t)
        ORDER BY t.run_at, t.id + 0
        LIMIT 1
    ) AS f;
    RETURN QUERY SELECT NULL::text, NULL::integer, (extract(epoch FROM clock_timestamp() - v_now) * 1000000)::bigint, NULL::bigint;
END
$dlock$;
CREATE OR REPLACE FUNCTION "dlock".dlock_task_end_2(
    p_id bigint, p_uuid pg_catalog.uuid, p_token bigint, p_how pg_catalog.text, p_output pg_catalog.text,
    p_error pg_catalog.text, p_delay bigint, OUT own boolean, OUT state pg_catalog.text
) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan AS $dlock$
DECLARE
    v_task "dlock".dlock_task;
    v_now timestamptz;
BEGIN
    FOR round IN 1..3 LOOP
        SELECT t.* INTO v_task FROM "dlock".dlock_task AS t
        WHERE t.id = p_id AND t.uuid = p_uuid AND t.token = p_token
        FOR UPDATE;
        IF FOUND THEN
            own := true;
            v_now := clock_timestamp();
            IF v_task.released THEN
                state := "dlock".dlock_task_state_1(v_task, v_now);
            ELSIF p_how = 'complete' THEN
                state := 'succeeded';
                PERFORM "dlock".dlock_task_move_2(p_id, state, p_output::json, p_token, NULL);
            ELSIF v_task.asked THEN
                state := 'cancelled';
                PERFORM "dlock".dlock_task_move_2(p_id, state, NULL, p_token, NULL);
            ELSIF p_how = 'discard' OR p_how = 'fail' AND v_task.attempt >= v_task.max_attempts THEN
                state := 'dead';
                PERFORM "dlock".dlock_task_move_2(p_id, state, NULL, p_token, p_error);
            ELSE
                state := CASE WHEN p_delay > 0 THEN 'scheduled' ELSE 'ready' END;
                UPDATE "dlock".dlock_task AS t SET
                    released = true,
                    run_at = coalesce(v_now + p_delay::double precision * interval '1 microsecond', t.run_at),
                    attempt = CASE p_how WHEN 'fail' THEN t.attempt ELSE greatest(t.attempt - 1, 0) END,
                    errors = CASE p_how WHEN 'fail' THEN "dlock".dlock_task_failed_1(t.errors, t.attempt, v_now, p_error) ELSE t.errors END
                WHERE t.id = p_id;
                PERFORM "dlock".dlock_task_tell_1(ARRAY[v_task.queue]);
            END IF;
            RETURN;
        END IF;
        SELECT d.state, coalesce(d.ending = p_token, false) INTO state, own FROM "dlock".dlock_task_done AS d WHERE d.id = p_id;
        IF FOUND THEN
            RETURN;
        END IF;
        own := false;
        SELECT "dlock".dlock_task_state_1(t, clock_timestamp()) INTO state FROM "dlock".dlock_task AS t WHERE t.id = p_id;
        IF FOUND THEN
            RETURN;
        END IF;
    END LOOP;
END
$dlock$;;
CREATE OR REPLACE FUNCTION "dlock".dlock_task_finish_5(
    p_ids bigint[], p_uuids pg_catalog.uuid[], p_tokens bigint[], p_hows pg_catalog.text[],
    p_outputs pg_catalog.text[], p_errors pg_catalog.text[], p_delays bigint[]
) RETURNS TABLE (places bigint[], own boolean, state pg_catalog.text)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' SET enable_hashjoin = off
SET enable_mergejoin = off SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $dlock$
#variable_conflict use_column
DECLARE
    v_now timestamptz := clock_timestamp();
    v_places bigint[];
    v_queues text[];
BEGIN
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    WITH gone AS (
        DELETE FROM "dlock".dlock_task AS t USING (
            SELECT DISTINCT ON (u.id) u.id, u.place
            FROM unnest((SELECT p_ids)) WITH ORDINALITY AS u (id, place)
            ORDER BY u.id, u.place
            OFFSET 0
        ) AS u
        WHERE t.id = ANY (ARRAY[u.id]) AND t.uuid = p_uuids[u.place] AND t.token = p_tokens[u.place] AND NOT t.released
            AND p_hows[u.place] = 'complete'
        RETURNING t.id, t.queue, t.priority, t.run_at, t.attempt, t.max_attempts, t.kind, t.key, t.lane, t.payload,
            t.errors, t.created, t.checkpoint, t.token, u.place
    ), kept AS (
        INSERT INTO "dlock".dlock_task_done (
            id, queue, priority, run_at, attempt, max_attempts, kind, key, lane, payload, errors, created,
            checkpoint, token, state, output, ending, ended)
        SELECT
            g.id, g.queue, g.priority, g.run_at, g.attempt, g.max_attempts, g.kind, g.key, g.lane, g.payload,
            g.errors, g.created, g.checkpoint, g.token, 'succeeded', p_outputs[g.place]::json, g.token, v_now
        FROM gone AS g
    )
    SELECT array_agg(g.place), array_agg(g.queue) FILTER (
        WHERE g.lane IS NOT NULL OR g.queue = ANY (ARRAY(SELECT l.queue FROM "dlock".dlock_task_limit AS l)))
    INTO v_places, v_queues
    FROM gone AS g;
    IF v_queues IS NOT NULL THEN
        PERFORM "dlock".dlock_task_tell_1(v_queues);
    END IF;
    IF v_places IS NOT NULL THEN
        places := v_places;
        own := true;
        state := 'succeeded';
        RETURN NEXT;
    END IF;
    IF cardinality(v_places) = cardinality(p_ids) THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT ARRAY[u.place], e.own, e.state
    FROM (
        SELECT u.* FROM (
            SELECT u.id, u.place FROM unnest((SELECT p_ids)) WITH ORDINALITY AS u (id, place)
        ) AS u
        WHERE u.place <> ALL (coalesce(v_places, ARRAY[]::bigint[]))
        ORDER BY u.id, u.place
        OFFSET 0
    ) AS u CROSS JOIN LATERAL "dlock".dlock_task_end_2(
        p_ids[u.place], p_uuids[u.place], p_tokens[u.place], p_hows[u.place], p_outputs[u.place],
        p_errors[u.place], p_delays[u.place]
    ) AS e;
END
$dlock$;;
CREATE OR REPLACE FUNCTION "dlock".dlock_task_release_2(
    p_id bigint, p_uuid pg_catalog.uuid, p_token bigint,
    OUT own boolean, OUT shown "dlock".dlock_task, OUT clock pg_catalog.timestamptz
) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan AS $dlock$
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    SELECT e.own INTO own FROM "dlock".dlock_task_end_2(p_id, p_uuid, p_token, 'give back', NULL, NULL, NULL) AS e;
    IF NOT own THEN
        clock := clock_timestamp();
        SELECT t.* INTO shown FROM "dlock".dlock_task AS t WHERE t.id = p_id;
    END IF;
END
$dlock$;;
CREATE OR REPLACE FUNCTION "dlock".dlock_task_renew_2(
    p_ids bigint[], p_uuids pg_catalog.uuid[], p_tokens bigint[], p_ns bigint[]
) RETURNS TABLE (
    verdict pg_catalog.text, asked boolean, shown "dlock".dlock_task, clock pg_catalog.timestamptz, place bigint
) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' SET enable_hashjoin = off
SET enable_mergejoin = off SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $dlock$
#variable_conflict use_column
DECLARE
    v_places bigint[];
    v_asked boolean[];
    v_left record;
    v_task "dlock".dlock_task;
    v_now timestamptz;
BEGIN
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    WITH free AS MATERIALIZED (
        SELECT u.id, u.n, u.place
        FROM (
            SELECT DISTINCT ON (u.id, u.uuid, u.token) u.id, u.uuid, u.token, u.n, u.place
            FROM unnest((SELECT p_ids), (SELECT p_uuids), (SELECT p_tokens), (SELECT p_ns))
                WITH ORDINALITY AS u (id, uuid, token, n, place)
            ORDER BY u.id, u.uuid, u.token, u.n DESC
            OFFSET 0
        ) AS u CROSS JOIN LATERAL (
            SELECT FROM "dlock".dlock_task AS t
            WHERE t.id = u.id AND t.uuid = u.uuid AND t.token = u.token AND NOT t.released
                AND t.renewals < u.n AND u.n <= 9007199254740991 AND t.expiry > clock_timestamp() AND "dlock".dlock_task_sound_1(t)
            FOR UPDATE SKIP LOCKED
        ) AS t
    ), renewed AS (
        UPDATE "dlock".dlock_task AS t SET
            renewals = f.n,
            expiry = clock_timestamp() + t.duration::double precision * interval '1 millisecond'
        FROM free AS f
        WHERE t.id = ANY (ARRAY[f.id]) AND t.expiry > clock_timestamp()
        RETURNING f.place, t.asked
    )
    SELECT array_agg(r.place), array_agg(r.asked) INTO v_places, v_asked FROM renewed AS r;
    RETURN QUERY
    SELECT 'renewed', u.asked, NULL::"dlock".dlock_task, NULL::timestamptz, u.place
    FROM unnest(v_places, v_asked) AS u (place, asked);
    IF cardinality(v_places) = cardinality(p_ids) THEN
        RETURN;
    END IF;
    FOR v_left IN
        SELECT u.id, u.uuid, u.token, u.n, u.place
        FROM unnest((SELECT p_ids), (SELECT p_uuids), (SELECT p_tokens), (SELECT p_ns))
            WITH ORDINALITY AS u (id, uuid, token, n, place)
        WHERE u.place <> ALL (coalesce(v_places, ARRAY[]::bigint[]))
    LOOP
        v_now := clock_timestamp();
        SELECT t.* INTO v_task FROM "dlock".dlock_task AS t WHERE t.id = v_left.id;
        verdict := CASE
            WHEN NOT FOUND THEN 'absent'
            WHEN NOT "dlock".dlock_task_sound_1(v_task) THEN 'unsound'
            WHEN v_task.uuid IS DISTINCT FROM v_left.uuid OR v_task.token <> v_left.token OR v_task.released
                THEN 'lost'
            WHEN v_task.renewals >= v_left.n THEN 'renewed'
            WHEN v_task.expiry <= v_now THEN 'lost'
            WHEN v_left.n > 9007199254740991 THEN 'unfit'
            ELSE 'locked'
        END;
        RETURN QUERY SELECT verdict, v_task.asked, v_task, v_now, v_left.place;
    END LOOP;
END
$dlock$;;
CREATE OR REPLACE FUNCTION "dlock".dlock_task_checkpoint_1(
    p_id bigint, p_uuid pg_catalog.uuid, p_token bigint, p_number bigint, p_checkpoint pg_catalog.text,
    OUT kept boolean, OUT state pg_catalog.text
) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan AS $dlock$
DECLARE
    v_task "dlock".dlock_task;
BEGIN
    FOR round IN 1..3 LOOP
        SELECT t.* INTO v_task FROM "dlock".dlock_task AS t WHERE t.id = p_id FOR UPDATE;
        IF FOUND THEN
            state := "dlock".dlock_task_state_1(v_task, clock_timestamp());
            kept := state = 'running' AND v_task.uuid = p_uuid AND v_task.token = p_token;
            IF kept AND p_number > v_task.checkpoints THEN
                UPDATE "dlock".dlock_task AS t SET checkpoints = p_number, checkpoint = p_checkpoint::json WHERE t.id = p_id;
            END IF;
            RETURN;
        END IF;
        kept := false;
        SELECT d.state INTO state FROM "dlock".dlock_task_done AS d WHERE d.id = p_id;
        IF FOUND THEN
            RETURN;
        END IF;
    END LOOP;
END
$dlock$;;
CREATE OR REPLACE FUNCTION "dlock".dlock_task_stale_1(p_id bigint, p_token bigint, p_state pg_catalog.text) RETURNS void
LANGUAGE plpgsql AS $dlock$
BEGIN
    RAISE EXCEPTION USING
        ERRCODE = 'LK001',
        MESSAGE = pg_catalog.format(
            'the claim of task %s with token %s is over, so its work must not be kept: %s', p_id, p_token,
            coalesce(pg_catalog.concat('the task is ', p_state), 'there is no such task')),
        DETAIL = coalesce(p_state, 'gone');
END
$dlock$;
CREATE OR REPLACE FUNCTION "dlock".dlock_task_complete_2(p_id bigint, p_uuid pg_catalog.uuid, p_token bigint, p_output pg_catalog.text)
RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $dlock$
DECLARE
    v_ended record;
BEGIN
    SELECT e.own, e.state INTO v_ended FROM "dlock".dlock_task_end_2(p_id, p_uuid, p_token, 'complete', p_output, NULL, NULL) AS e;
    IF (v_ended.own AND v_ended.state = 'succeeded') IS NOT TRUE THEN
        PERFORM "dlock".dlock_task_stale_1(p_id, p_token, v_ended.state);
    END IF;
END
$dlock$;
CREATE OR REPLACE FUNCTION "dlock".dlock_task_checkpoint_strictly_1(
    p_id bigint, p_uuid pg_catalog.uuid, p_token bigint, p_number bigint, p_checkpoint pg_catalog.text
) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $dlock$
DECLARE
    v_answer record;
BEGIN
    SELECT c.kept, c.state INTO v_answer FROM "dlock".dlock_task_checkpoint_1(p_id, p_uuid, p_token, p_number, p_checkpoint) AS c;
    IF v_answer.kept IS NOT TRUE THEN
        PERFORM "dlock".dlock_task_stale_1(p_id, p_token, v_answer.state);
    END IF;
END
$dlock$;;
CREATE OR REPLACE FUNCTION "dlock".dlock_enqueue(
    queue pg_catalog.text, kind pg_catalog.text, payload pg_catalog.jsonb DEFAULT 'null', priority integer DEFAULT 5,
    run_at pg_catalog.timestamptz DEFAULT NULL, key pg_catalog.text DEFAULT NULL, max_attempts integer DEFAULT 20,
    lane pg_catalog.text DEFAULT NULL
) RETURNS bigint LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $dlock$
DECLARE
    v_payload text := coalesce(payload, 'null')::text;
    v_trouble text := CASE
        WHEN (octet_length(queue) BETWEEN 1 AND 128) IS NOT TRUE THEN 'the name of a queue is 1 to 128 bytes'
        WHEN (octet_length(kind) BETWEEN 1 AND 128) IS NOT TRUE THEN 'the kind of a task is 1 to 128 bytes'
        WHEN octet_length(key) NOT BETWEEN 1 AND 256 THEN 'the key of a task is 1 to 256 bytes'
        WHEN octet_length(lane) NOT BETWEEN 1 AND 256 THEN 'the lane of a task is 1 to 256 bytes'
        WHEN (priority BETWEEN 0 AND 9) IS NOT TRUE THEN 'the priority of a task is 0, which runs first, to 9'
        WHEN (max_attempts BETWEEN 1 AND 1000) IS NOT TRUE THEN '1 to 1000 attempts are possible'
        WHEN octet_length(v_payload) > 262144
            THEN 'the payload of a task is at most 262144 bytes of JSON: put it elsewhere, and its place here'
        WHEN run_at > to_timestamp(9007199254) THEN 'a task runs before the year 2255'
    END;
BEGIN
    IF v_trouble IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = v_trouble;
    END IF;
    RETURN (
        SELECT e.number
        FROM "dlock".dlock_task_enqueue_2(
            ARRAY[queue], ARRAY[priority], ARRAY[0::bigint],
            ARRAY[CASE
                WHEN run_at > to_timestamp(0) THEN (extract(epoch FROM run_at) * 1000000)::bigint
                WHEN run_at <= to_timestamp(0) THEN 0
            END],
            ARRAY[max_attempts], ARRAY[kind], ARRAY[key], ARRAY[lane], ARRAY[v_payload]) AS e);
END
$dlock$;
CREATE OR REPLACE FUNCTION "dlock".dlock_complete(
    task bigint, claim pg_catalog.uuid, token bigint, output pg_catalog.jsonb DEFAULT 'null'
) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $dlock$
BEGIN
    PERFORM "dlock".dlock_task_complete_2(task, claim, token, coalesce(output, 'null')::text);
END
$dlock$;;
CREATE OR REPLACE FUNCTION "dlock".dlock_task_cancel_2(p_id bigint, p_force boolean, OUT state pg_catalog.text)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan AS $dlock$
DECLARE
    v_task "dlock".dlock_task;
BEGIN
    FOR round IN 1..3 LOOP
        SELECT t.* INTO v_task FROM "dlock".dlock_task AS t WHERE t.id = p_id FOR UPDATE;
        IF FOUND THEN
            state := "dlock".dlock_task_state_1(v_task, clock_timestamp());
            IF state = 'running' AND NOT p_force THEN
                UPDATE "dlock".dlock_task AS t SET asked = true WHERE t.id = p_id;
            ELSE
                PERFORM "dlock".dlock_task_move_2(p_id, 'cancelled', NULL, NULL, NULL);
            END IF;
            RETURN;
        END IF;
        SELECT d.state INTO state FROM "dlock".dlock_task_done AS d WHERE d.id = p_id;
        IF FOUND THEN
            RETURN;
        END IF;
    END LOOP;
END
$dlock$;;
CREATE OR REPLACE FUNCTION "dlock".dlock_task_retry_2(p_id bigint, OUT number bigint, OUT is_new boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan AS $dlock$
DECLARE
    v_done "dlock".dlock_task_done;
    v_now timestamptz := clock_timestamp();
BEGIN
    FOR round IN 1..5 LOOP
        SELECT d.* INTO v_done FROM "dlock".dlock_task_done AS d WHERE d.id = p_id FOR UPDATE;
        IF NOT FOUND THEN
            RETURN;
        END IF;
        IF v_done.state = 'succeeded' THEN
            INSERT INTO "dlock".dlock_task AS t (
                queue, priority, run_at, attempt, max_attempts, kind, key, lane, payload, errors, created,
                checkpoints, token)
            VALUES (
                v_done.queue, v_done.priority, v_now, 0, v_done.max_attempts, v_done.kind, v_done.key, v_done.lane,
                v_done.payload, '[]', v_now, 0, 0)
            ON CONFLICT (queue, key) WHERE key IS NOT NULL DO NOTHING
            RETURNING t.id INTO number;
        ELSE
            INSERT INTO "dlock".dlock_task AS t (
                id, queue, priority, run_at, attempt, max_attempts, kind, key, lane, payload, errors, created,
                checkpoint, checkpoints, token)
            OVERRIDING SYSTEM VALUE
            VALUES (
                v_done.id, v_done.queue, v_done.priority, v_now, 0, v_done.max_attempts, v_done.kind, v_done.key,
                v_done.lane, v_done.payload, v_done.errors, v_done.created, v_done.checkpoint, 0, v_done.token)
            ON CONFLICT (queue, key) WHERE key IS NOT NULL DO NOTHING
            RETURNING t.id INTO number;
        END IF;
        IF FOUND THEN
            is_new := true;
            PERFORM "dlock".dlock_task_tell_1(ARRAY[v_done.queue]);
            IF v_done.state <> 'succeeded' THEN
                DELETE FROM "dlock".dlock_task_done AS d WHERE d.id = p_id;
            END IF;
            RETURN;
        END IF;
        SELECT t.id, false INTO number, is_new FROM "dlock".dlock_task AS t WHERE t.queue = v_done.queue AND t.key = v_done.key;
        IF FOUND THEN
            RETURN;
        END IF;
    END LOOP;
    RAISE EXCEPTION 'the key of this task comes and goes' USING ERRCODE = 'serialization_failure';
END
$dlock$;;
CREATE OR REPLACE FUNCTION "dlock".dlock_task_pause_1(p_queue pg_catalog.text, p_paused boolean) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' AS $dlock$
BEGIN
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    IF p_paused THEN
        INSERT INTO "dlock".dlock_task_paused (queue, since) VALUES (p_queue, clock_timestamp()) ON CONFLICT (queue) DO NOTHING;
    ELSE
        DELETE FROM "dlock".dlock_task_paused AS p WHERE p.queue = p_queue;
        PERFORM "dlock".dlock_task_tell_1(ARRAY[p_queue]);
    END IF;
END
$dlock$;
CREATE OR REPLACE FUNCTION "dlock".dlock_task_set_limit_1(p_queue pg_catalog.text, p_most bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' SET enable_seqscan = off AS $dlock$
BEGIN
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    PERFORM "dlock".dlock_task_fresh_1();
    PERFORM pg_advisory_xact_lock("dlock".dlock_task_gate_1());
    IF p_most IS NULL THEN
        DELETE FROM "dlock".dlock_task_limit AS l WHERE l.queue = p_queue;
        DELETE FROM "dlock".dlock_task_slot AS s WHERE s.queue = p_queue;
    ELSE
        INSERT INTO "dlock".dlock_task_limit AS l (queue, most) VALUES (p_queue, p_most) ON CONFLICT (queue) DO NOTHING;
        IF FOUND THEN
            INSERT INTO "dlock".dlock_task_slot (queue, id, token)
            SELECT t.queue, t.id, t.token FROM "dlock".dlock_task AS t
            WHERE t.queue = p_queue AND t.run_at <= clock_timestamp() AND NOT t.released;
        ELSE
            UPDATE "dlock".dlock_task_limit AS l SET most = p_most WHERE l.queue = p_queue;
        END IF;
    END IF;
    PERFORM "dlock".dlock_task_tell_1(ARRAY[p_queue]);
END
$dlock$;
