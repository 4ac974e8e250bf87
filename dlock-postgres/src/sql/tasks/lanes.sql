-- Which tasks of a lane claims look at (K8): of each priority the first, and what somebody has. Whoever waits for another
-- task of its lane waits for one of these, so a claim costs the same however many wait behind them.
--
-- Whether a task is the first cannot be known while others change the lane. So a task that joins a lane behind another, is
-- moved in it, or leaves it, says so in the same transaction, and tasks of this lane are given out by a claim that has seen
-- what was said and has set the first ones free.

-- A row that joins, moves or leaves. It may be behind only if nobody has it.
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

-- Sets the first tasks free of lanes that have changed.
-- Parameters: the queues.
-- Result: whether there are more such lanes.
--
-- Waits for nobody: what another session has locked stays for the next claim.
CREATE OR REPLACE FUNCTION {settle}(p_queues pg_catalog.text[]) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $dlock$
DECLARE
    v_said record;
    v_first bigint;
    v_is_settled boolean;
    v_goes_on boolean;
BEGIN
    -- Many tasks may have joined since the last claim.
    FOR round IN 1..20 LOOP
        v_goes_on := false;
        FOR v_said IN
            SELECT c.queue, c.lane, array_agg(c.place) AS places
            FROM (
                SELECT c.queue, c.lane, c.ctid AS place FROM {changed} AS c WHERE c.queue = ANY (p_queues)
                LIMIT 1000
                FOR UPDATE SKIP LOCKED
            ) AS c
            GROUP BY c.queue, c.lane
        LOOP
            v_is_settled := true;
            FOR v_first IN
                SELECT f.id
                FROM generate_series(0, 9) AS p (priority) CROSS JOIN LATERAL (
                    SELECT t.id, t.run_at FROM {task} AS t
                    WHERE t.queue = v_said.queue AND t.lane = v_said.lane AND t.behind AND t.priority = p.priority
                    ORDER BY t.run_at, t.id
                    LIMIT 1
                ) AS f
                WHERE NOT EXISTS (
                    SELECT FROM {task} AS o
                    WHERE o.queue = v_said.queue AND o.lane = v_said.lane AND NOT o.behind AND o.priority = p.priority
                        AND (o.run_at, o.id) < (f.run_at, f.id))
            LOOP
                UPDATE {task} AS t SET behind = false
                WHERE t.id = (SELECT f.id FROM {task} AS f WHERE f.id = v_first AND f.behind FOR UPDATE SKIP LOCKED);
                v_is_settled := v_is_settled AND FOUND;
            END LOOP;
            IF v_is_settled THEN
                v_goes_on := true;
                DELETE FROM {changed} AS c WHERE c.ctid = ANY (v_said.places);
            END IF;
        END LOOP;
        EXIT WHEN NOT v_goes_on;
    END LOOP;
    RETURN EXISTS (SELECT FROM {changed} AS c WHERE c.queue = ANY (p_queues));
END
$dlock$
