-- The tables of a queue, and the conditions for a task. No parameters, no result; safe to repeat. The words in braces
-- are the quoted names that `tasks/schema.rs` puts in.
--
-- dlock_task: a task that has not ended. Its record (uuid to asked) is that of a lock, see ../table.sql, and null until
-- a worker has claimed it; token stays when the rest of the record is deleted.
--
-- run_at      the earliest time to run; for a task that may run at once the same as created, until claims find it
-- attempt     attempts so far, the one in progress included
-- key_until_start  its first claim removes its key; also of a task that has ended
-- lane        of the tasks of a queue and a lane, one runs at a time
-- payload     json, not jsonb: it comes out exactly as it was enqueued, numbers included
-- errors      the newest failed attempts: [{"attempt": 1, "at": .., "error": "..", "lost": 0}], at in microseconds of Unix time;
--             lost: how many in a row, with this one, were lost since the lease of their worker ran out
-- checkpoint  what an attempt has stored for the next one; checkpoints: the number of its newest of this claim
-- ending      the token of the newest claim that ended by its own ending, and the task's outcome then: became
-- behind      another task of its lane and priority comes first: no claim looks at it
--
-- The columns that a claim and a heartbeat change come last: of a new version the log has only the part that begins
-- with the first byte that differs, so it repeats no payload.
--
-- No index has a column that a claim, a heartbeat or a checkpoint changes, and each page has room for the claims and
-- heartbeats of its tasks: so nearly all of them add no entry to an index. A claim makes a row half as long again, and
-- one claim of many tasks takes all rows of a page at once, so rows may fill little more than a third of it.
--
-- dlock_task_schedule: periodic tasks. last: the newest instant that was served.
--
-- dlock_task_paused: the queues whose tasks no worker gets, and since when.
--
-- dlock_task_limit: the queues with a limit on how many of their tasks run at a time. dlock_task_slot: the claims of
-- those queues. A claim holds no place if its task has ended, was given back or has another claim, or if its lease has
-- run out; the next claim deletes its row.
--
-- dlock_task_held: claims and the tasks that each got, see held.sql. A row is never changed, and may stay when its
-- tasks have ended.
--
-- dlock_task_changed: the lanes whose first tasks may have changed, see lanes.sql.
--
-- dlock_task_done: a task that has ended. ending: the token of the claim whose own ending it was, null if no claim
-- ended it.
DO $dlock$
BEGIN
    -- Not IF NOT EXISTS: that requires the right to create schemas even if there is nothing to create.
    IF pg_catalog.to_regnamespace('{schema}') IS NULL THEN
        CREATE SCHEMA {schema};
    END IF;
END
$dlock$;

CREATE TABLE IF NOT EXISTS {task} (
    id           bigint                 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue        pg_catalog.text        COLLATE pg_catalog."C" NOT NULL,
    priority     smallint               NOT NULL,
    run_at       pg_catalog.timestamptz NOT NULL,
    max_attempts integer                NOT NULL,
    kind         pg_catalog.text        NOT NULL,
    key          pg_catalog.text        COLLATE pg_catalog."C",
    key_until_start boolean             NOT NULL DEFAULT false,
    lane         pg_catalog.text        COLLATE pg_catalog."C",
    payload      pg_catalog.json        NOT NULL,
    created      pg_catalog.timestamptz NOT NULL,
    behind       boolean                NOT NULL DEFAULT false,
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
    asked        boolean,
    ending       bigint,
    became       pg_catalog.text
) WITH (fillfactor = 35);

CREATE TABLE IF NOT EXISTS {done} (
    id           bigint                 PRIMARY KEY,
    queue        pg_catalog.text        COLLATE pg_catalog."C" NOT NULL,
    priority     smallint               NOT NULL,
    run_at       pg_catalog.timestamptz NOT NULL,
    attempt      integer                NOT NULL,
    max_attempts integer                NOT NULL,
    kind         pg_catalog.text        NOT NULL,
    key          pg_catalog.text        COLLATE pg_catalog."C",
    key_until_start boolean             NOT NULL DEFAULT false,
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

CREATE TABLE IF NOT EXISTS {schedule} (
    name pg_catalog.text        COLLATE pg_catalog."C" PRIMARY KEY,
    last pg_catalog.timestamptz NOT NULL
);

CREATE TABLE IF NOT EXISTS {paused} (
    queue pg_catalog.text        COLLATE pg_catalog."C" PRIMARY KEY,
    since pg_catalog.timestamptz NOT NULL
);

CREATE TABLE IF NOT EXISTS {limit} (
    queue pg_catalog.text COLLATE pg_catalog."C" PRIMARY KEY,
    most  bigint          NOT NULL
);

CREATE TABLE IF NOT EXISTS {slot} (
    queue pg_catalog.text COLLATE pg_catalog."C",
    id    bigint,
    token bigint NOT NULL,
    PRIMARY KEY (queue, id)
);

CREATE TABLE IF NOT EXISTS {held} (
    uuid pg_catalog.uuid NOT NULL,
    ids  bigint[]        NOT NULL
);

CREATE TABLE IF NOT EXISTS {changed} (
    queue pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
    lane  pg_catalog.text COLLATE pg_catalog."C" NOT NULL
);

DO $dlock$
BEGIN
    -- Not IF NOT EXISTS: that locks out all writers for as long as this transaction lasts, even if there is nothing to
    -- create.
    IF pg_catalog.to_regclass('{schema}.dlock_task_due') IS NULL THEN
        -- The index that a claim walks along. The number is an expression, so that no search for a task by its number
        -- can use this index: if the statistics see hardly any tasks among many that have ended, the planner considers
        -- it as good as the primary key, and each search would read all of it.
        CREATE INDEX dlock_task_due ON {task} (queue, priority, run_at, (id OPERATOR(pg_catalog.+) 0))
            WHERE NOT behind;
    END IF;
    IF pg_catalog.to_regclass('{schema}.dlock_task_at_once') IS NULL THEN
        CREATE INDEX dlock_task_at_once ON {task} (queue, run_at)
            WHERE run_at OPERATOR(pg_catalog.=) created AND NOT behind;
    END IF;
    IF pg_catalog.to_regclass('{schema}.dlock_task_key') IS NULL THEN
        CREATE UNIQUE INDEX dlock_task_key ON {task} (queue, key) WHERE key IS NOT NULL;
    END IF;
    IF pg_catalog.to_regclass('{schema}.dlock_task_lane') IS NULL THEN
        CREATE INDEX dlock_task_lane ON {task} (queue, lane, behind, priority, run_at, id) WHERE lane IS NOT NULL;
    END IF;
    IF pg_catalog.to_regclass('{schema}.dlock_task_held_uuid') IS NULL THEN
        CREATE INDEX dlock_task_held_uuid ON {held} (uuid);
    END IF;
    IF pg_catalog.to_regclass('{schema}.dlock_task_changed_lane') IS NULL THEN
        CREATE INDEX dlock_task_changed_lane ON {changed} (queue, lane);
    END IF;
    IF pg_catalog.to_regclass('{schema}.dlock_task_done_ended') IS NULL THEN
        CREATE INDEX dlock_task_done_ended ON {done} (state, ended);
    END IF;
END
$dlock$;

-- The version of this layout.
CREATE TABLE IF NOT EXISTS {layout} (version integer NOT NULL);
INSERT INTO {layout} (version) SELECT {version} WHERE NOT EXISTS (SELECT FROM {layout});

-- The planner inlines the texts of the functions below in place of the calls. They are called by functions whose
-- search_path is pg_catalog alone, except for the state.

-- Whether a row is a task that may be written to. Any program may have put anything into the table.
CREATE OR REPLACE FUNCTION {sound}(t {task}) RETURNS boolean LANGUAGE sql IMMUTABLE AS $dlock$
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

-- The state at an instant of a task that has not ended.
CREATE OR REPLACE FUNCTION {state}(t {task}, p_now pg_catalog.timestamptz) RETURNS pg_catalog.text
LANGUAGE sql IMMUTABLE AS $dlock$
    SELECT CASE
        WHEN t.uuid IS NOT NULL AND NOT t.released AND t.expiry OPERATOR(pg_catalog.<=) p_now THEN 'stalled'
        WHEN t.uuid IS NOT NULL AND NOT t.released THEN 'running'
        WHEN t.run_at OPERATOR(pg_catalog.>) p_now THEN 'scheduled'
        ELSE 'ready'
    END
$dlock$;

-- The advisory lock of a lane: a claim that gives out one of its tasks has it until it is committed.
CREATE OR REPLACE FUNCTION {lane}(p_queue pg_catalog.text, p_lane pg_catalog.text) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $dlock$
    SELECT pg_catalog.hashtextextended(
        '{schema}/' OPERATOR(pg_catalog.||) p_queue OPERATOR(pg_catalog.||) '/' OPERATOR(pg_catalog.||) p_lane, 0)
$dlock$;

-- The advisory lock that every claim shares, and that a new limit has alone: so each claim before it is committed, and
-- each one after it sees it.
CREATE OR REPLACE FUNCTION {gate}() RETURNS bigint LANGUAGE sql IMMUTABLE AS $dlock$
    SELECT pg_catalog.hashtextextended('{schema}', 1)
$dlock$;

-- A statement that needs a snapshot younger than a lock fails if all statements of a transaction have the same one.
CREATE OR REPLACE FUNCTION {fresh}() RETURNS void LANGUAGE plpgsql AS $dlock$
BEGIN
    IF pg_catalog.current_setting('transaction_isolation') OPERATOR(pg_catalog.<>) 'read committed' THEN
        RAISE EXCEPTION USING MESSAGE = 'tasks of lanes and of queues with a limit are claimed in transactions that are '
            'READ COMMITTED only: set default_transaction_isolation of this role or database to it';
    END IF;
END
$dlock$;

-- The error of an attempt whose worker did not come back.
CREATE OR REPLACE FUNCTION {silence}(p_owner pg_catalog.text) RETURNS pg_catalog.text LANGUAGE sql STABLE AS $dlock$
    SELECT format('the lease of worker %s ran out, and nothing was heard of it', to_json(p_owner))
$dlock$;

-- How many attempts of a task in a row, up to this one, were lost, since the lease of their worker ran out.
CREATE OR REPLACE FUNCTION {lost}(p_errors pg_catalog.jsonb, p_attempt integer) RETURNS integer
LANGUAGE sql STABLE AS $dlock$
    SELECT CASE
        WHEN p_errors -> -1 -> 'attempt' = to_jsonb(p_attempt) AND p_errors -> -1 ->> 'lost' ~ '^[0-9]{1,4}$'
            THEN (p_errors -> -1 ->> 'lost')::integer
        ELSE 0
    END
$dlock$;

-- The failed attempts of a task and one more, the newest ten. p_lost: how many were lost in a row with this one.
CREATE OR REPLACE FUNCTION {failed}(
    p_errors pg_catalog.jsonb, p_attempt integer, p_at pg_catalog.timestamptz, p_error pg_catalog.text, p_lost integer
) RETURNS pg_catalog.jsonb LANGUAGE sql STABLE AS $dlock$
    SELECT CASE
        WHEN jsonb_typeof(p_errors) <> 'array' THEN '[]'::jsonb
        WHEN jsonb_array_length(p_errors) >= 10 THEN p_errors - 0
        ELSE p_errors
    END || jsonb_build_object(
        'attempt', p_attempt, 'at', (extract(epoch FROM p_at) * 1000000)::bigint, 'error', p_error, 'lost', p_lost)
$dlock$;
