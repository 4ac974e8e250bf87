-- Put into the functions that look for tasks: as a function of its own it would cost several times as much.
--
-- Whether the task t waits for another one of its lane (K8): one that runs at v_now, or one that goes before it. A task
-- that was claimed and not given back goes before all others, whether its lease has run out or not: so nothing here
-- depends on a heartbeat that is just being committed. Whatever waits behind another one goes after that one, see lanes.sql.
-- A row that is no task keeps its lane waiting: nobody knows whether it runs.
EXISTS (
    SELECT FROM {task} AS o
    WHERE o.queue = t.queue AND o.lane = t.lane AND NOT o.behind AND o.id <> t.id
        AND (
            NOT o.released AND o.expiry > v_now
            OR (NOT o.released OR o.run_at <= v_now)
                AND (coalesce(o.released, true), o.priority, o.run_at, o.id)
                    < (coalesce(t.released, true), t.priority, t.run_at, t.id)))
