-- The run's own tables next to those of the queue, and the ledger of tasks with a lane or a limit. No parameters,
-- no result. The instants of run_at and added are microseconds of Unix time, and those of leases nanoseconds.
CREATE TABLE IF NOT EXISTS orders (number TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS effect (task INTEGER NOT NULL, token INTEGER NOT NULL) STRICT;
-- added: when the task was enqueued, null for every other change.
CREATE TABLE IF NOT EXISTS ledger (
    place    INTEGER PRIMARY KEY AUTOINCREMENT,
    task     INTEGER NOT NULL,
    queue    TEXT    NOT NULL,
    lane     TEXT,
    priority INTEGER NOT NULL,
    run_at   INTEGER NOT NULL,
    token    INTEGER NOT NULL,
    held     INTEGER NOT NULL,
    expiry   INTEGER NOT NULL,
    duration INTEGER NOT NULL,
    gone     INTEGER NOT NULL,
    added    INTEGER
) STRICT;
CREATE TRIGGER IF NOT EXISTS added AFTER INSERT ON dlock_task
WHEN NEW.lane IS NOT NULL OR NEW.queue = 'limited'
BEGIN
    INSERT INTO ledger (task, queue, lane, priority, run_at, token, held, expiry, duration, gone, added)
    VALUES (NEW.id, NEW.queue, NEW.lane, NEW.priority, NEW.run_at, NEW.token, NEW.released IS 0,
        coalesce(NEW.expiry, 0), coalesce(NEW.duration, 0) * 1000000, 0, CAST(unixepoch('now', 'subsec') * 1000000 AS INTEGER));
END;
CREATE TRIGGER IF NOT EXISTS changed AFTER UPDATE ON dlock_task
WHEN NEW.lane IS NOT NULL OR NEW.queue = 'limited'
BEGIN
    INSERT INTO ledger (task, queue, lane, priority, run_at, token, held, expiry, duration, gone, added)
    VALUES (NEW.id, NEW.queue, NEW.lane, NEW.priority, NEW.run_at, NEW.token, NEW.released IS 0,
        coalesce(NEW.expiry, 0), coalesce(NEW.duration, 0) * 1000000, 0, NULL);
END;
CREATE TRIGGER IF NOT EXISTS gone AFTER DELETE ON dlock_task
WHEN OLD.lane IS NOT NULL OR OLD.queue = 'limited'
BEGIN
    INSERT INTO ledger (task, queue, lane, priority, run_at, token, held, expiry, duration, gone, added)
    VALUES (OLD.id, OLD.queue, OLD.lane, OLD.priority, OLD.run_at, OLD.token, OLD.released IS 0,
        coalesce(OLD.expiry, 0), coalesce(OLD.duration, 0) * 1000000, 1, NULL);
END;
