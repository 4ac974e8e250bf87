-- The tasks of a lane that claims read: of each priority the first, and those that a worker has. A task that waits for
-- another task of its lane waits for one of these, so a claim costs the same however many wait behind them.
--
-- Whether a task is the first cannot be known while other sessions change the lane. So a task that joins a lane behind
-- another, is moved in it, or leaves it, records this in the same transaction, and only a claim that has read the
-- records and has set the first tasks free gives out tasks of this lane.

-- A row that joins, moves or leaves. It may be behind only if no worker has it.
CREATE OR REPLACE FUNCTION {line_up}() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $dlock$
BEGIN
    IF TG_OP <> 'INSERT' AND OLD.lane IS NOT NULL THEN
        INSERT INTO {changed} (queue, lane) VALUES (OLD.queue, OLD.lane);
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    NEW.behind := (NEW.uuid IS NULL OR NEW.released) AND EXISTS (
        SELECT FROM {task} AS o
        WHERE o.queue = NEW.queue AND o.lane = NEW.lane AND NOT o.behind AND o.priority = NEW.priority
            AND (o.run_at, o.id) < (NEW.run_at, NEW.id) AND o.id <> NEW.id);
    IF NEW.behind THEN
        INSERT INTO {changed} (queue, lane) VALUES (NEW.queue, NEW.lane);
    END IF;
    RETURN NEW;
END
$dlock$;

DO $dlock$
BEGIN
    IF NOT EXISTS (
        SELECT FROM pg_catalog.pg_trigger AS t
        WHERE t.tgrelid OPERATOR(pg_catalog.=) '{schema}.dlock_task'::pg_catalog.regclass
            AND t.tgname OPERATOR(pg_catalog.=) 'dlock_task_joins')
    THEN
        CREATE TRIGGER dlock_task_joins BEFORE INSERT ON {task} FOR EACH ROW
            WHEN (NEW.lane IS NOT NULL) EXECUTE FUNCTION {line_up}();
        CREATE TRIGGER dlock_task_moves BEFORE UPDATE OF queue, lane, priority, run_at ON {task} FOR EACH ROW
            WHEN (OLD.lane IS NOT NULL OR NEW.lane IS NOT NULL) EXECUTE FUNCTION {line_up}();
        CREATE TRIGGER dlock_task_leaves BEFORE DELETE ON {task} FOR EACH ROW
            WHEN (OLD.lane IS NOT NULL) EXECUTE FUNCTION {line_up}();
    END IF;
END
$dlock$;

-- Sets free the first tasks of lanes that have changed: of 1,000 lanes, and until 20,000 changes were read.
-- Parameters: the queues.
-- Result: whether there are more such lanes.
--
-- Waits for no session: records that another session has locked stay for the next claim. It goes from lane to lane
-- along the index, and takes all records of a lane at once: so it does not pass the rows that it has deleted itself a
-- second time. Many tasks may have joined since the last claim, and a claim that takes too long is undone.
CREATE OR REPLACE FUNCTION {settle}(p_queues pg_catalog.text[]) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $dlock$
DECLARE
    v_queue text;
    v_lane text;
    v_places tid[];
    v_first bigint;
    v_is_settled boolean;
    v_lanes integer := 1000;
    v_changes integer := 20000;
BEGIN
    FOREACH v_queue IN ARRAY p_queues LOOP
        v_lane := '';
        LOOP
            SELECT c.lane INTO v_lane FROM {changed} AS c WHERE c.queue = v_queue AND c.lane > v_lane
            ORDER BY c.lane
            LIMIT 1;
            EXIT WHEN NOT FOUND;
            IF v_lanes = 0 OR v_changes <= 0 THEN
                RETURN true;
            END IF;
            v_places := ARRAY(
                SELECT c.ctid FROM {changed} AS c WHERE c.queue = v_queue AND c.lane = v_lane
                LIMIT v_changes
                FOR UPDATE SKIP LOCKED);
            v_lanes := v_lanes - 1;
            v_changes := v_changes - cardinality(v_places);
            v_is_settled := true;
            FOR v_first IN
                SELECT f.id
                FROM generate_series(0, 9) AS p (priority) CROSS JOIN LATERAL (
                    SELECT t.id, t.run_at FROM {task} AS t
                    WHERE t.queue = v_queue AND t.lane = v_lane AND t.behind AND t.priority = p.priority
                    ORDER BY t.run_at, t.id
                    LIMIT 1
                ) AS f
                WHERE cardinality(v_places) > 0 AND NOT EXISTS (
                    SELECT FROM {task} AS o
                    WHERE o.queue = v_queue AND o.lane = v_lane AND NOT o.behind AND o.priority = p.priority
                        AND (o.run_at, o.id) < (f.run_at, f.id))
            LOOP
                UPDATE {task} AS t SET behind = false
                WHERE t.id = (SELECT f.id FROM {task} AS f WHERE f.id = v_first AND f.behind FOR UPDATE SKIP LOCKED);
                v_is_settled := v_is_settled AND FOUND;
            END LOOP;
            IF v_is_settled THEN
                DELETE FROM {changed} AS c WHERE c.ctid = ANY (v_places);
            END IF;
        END LOOP;
    END LOOP;
    RETURN EXISTS (SELECT FROM {changed} AS c WHERE c.queue = ANY (p_queues));
END
$dlock$
