-- Put into the functions that look for tasks: as a separate function it would cost several times as much.
--
-- Whether the task t waits for another one of its lane: one that runs at v_now, or one that comes first. A task that
-- was claimed and not given back comes before all others, whether its lease has run out or not: so nothing here depends
-- on a heartbeat that is just being committed. A task that waits behind another one comes after that one, see
-- lanes.sql. A row that is no task keeps its lane waiting, because it may be running.
EXISTS (
    SELECT FROM {task} AS o
    WHERE o.queue = t.queue AND o.lane = t.lane AND NOT o.behind AND o.id <> t.id
        AND (
            NOT o.released AND o.expiry > v_now
            OR (NOT o.released OR o.run_at <= v_now)
                AND (coalesce(o.released, true), o.priority, o.run_at, o.id)
                    < (coalesce(t.released, true), t.priority, t.run_at, t.id)))
