-- The tables of a queue, in addition to whatever else the database has. No parameters, no result. Run inside the
-- transaction that found them missing.
--
-- A task that has not ended. Its record (uuid to expiry) is that of a lock, see ../schema.sql, and null until a worker
-- has claimed it; token stays when the rest of the record is deleted.
--
-- run_at     the earliest time to run: unix time in microseconds, like created and since. For a task that may run at
--            once it is the same as created, until claims find it
-- attempt    attempts so far, the one in progress included
-- key_until_start  its first claim removes its key; also of a task that has ended
-- lane       of the tasks of a queue and a lane, one runs at a time
-- errors     the newest failed attempts: [{"attempt": 1, "at": .., "error": ".."}], of one whose worker's lease
--            ran out with lost: how many in a row, with this one
-- checkpoint what an attempt has stored for the next one; checkpoints: the number of its newest of this claim
-- ending     the token of the newest claim that ended by its own ending, and the task's outcome then: became
-- behind     another task of its lane and priority comes first: no claim looks at it
CREATE TABLE dlock_task (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    queue        TEXT    NOT NULL CHECK (length(queue) > 0),
    priority     INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 9),
    run_at       INTEGER NOT NULL,
    attempt      INTEGER NOT NULL CHECK (attempt >= 0),
    max_attempts INTEGER NOT NULL CHECK (max_attempts > 0),
    kind         TEXT    NOT NULL CHECK (length(kind) > 0),
    key          TEXT             CHECK (length(key) > 0),
    key_until_start INTEGER NOT NULL DEFAULT 0 CHECK (key_until_start IN (0, 1)),
    lane         TEXT             CHECK (length(lane) > 0),
    payload      TEXT    NOT NULL CHECK (json_valid(payload)),
    errors       TEXT    NOT NULL CHECK (json_valid(errors)),
    created      INTEGER NOT NULL,
    behind       INTEGER NOT NULL DEFAULT 0 CHECK (behind IN (0, 1)),
    checkpoint   TEXT             CHECK (json_valid(checkpoint)),
    checkpoints  INTEGER NOT NULL CHECK (checkpoints >= 0),
    token        INTEGER NOT NULL CHECK (token BETWEEN 0 AND 9007199254740991),
    uuid         TEXT             CHECK (length(uuid) = 36),
    renewals     INTEGER,
    owner        TEXT,
    since        INTEGER,
    duration     INTEGER,
    released     INTEGER,
    asked        INTEGER,
    boot         TEXT,
    expiry       INTEGER,
    ending       INTEGER,
    became       TEXT
) STRICT;
-- The index that a claim walks over. No index has a column that a claim, a heartbeat or a checkpoint changes, except
-- the index of claims, which a repeat searches.
CREATE INDEX dlock_task_next ON dlock_task (queue, priority, run_at, id) WHERE behind = 0;
CREATE INDEX dlock_task_at_once ON dlock_task (queue, run_at) WHERE run_at = created AND behind = 0;
CREATE INDEX dlock_task_claim ON dlock_task (uuid, priority, run_at, id) WHERE released = 0;
CREATE UNIQUE INDEX dlock_task_key ON dlock_task (queue, key) WHERE key IS NOT NULL;
CREATE INDEX dlock_task_lane ON dlock_task (queue, lane, behind, priority, run_at, id) WHERE lane IS NOT NULL;
-- The tasks of a lane that claims read: of each priority the first, and those that a worker has. A task that waits for
-- another task of its lane waits for one of these, so a claim costs the same however many wait behind them.
CREATE TRIGGER dlock_task_joins AFTER INSERT ON dlock_task WHEN NEW.lane IS NOT NULL
BEGIN
    UPDATE dlock_task SET behind = 1
    WHERE id = NEW.id AND EXISTS (
        SELECT 1 FROM dlock_task AS o
        WHERE o.queue = NEW.queue AND o.lane = NEW.lane AND o.behind = 0 AND o.priority = NEW.priority
            AND (o.run_at, o.id) < (NEW.run_at, NEW.id));
END;
CREATE TRIGGER dlock_task_moves AFTER UPDATE OF queue, lane, priority, run_at ON dlock_task
WHEN OLD.lane IS NOT NULL OR NEW.lane IS NOT NULL
BEGIN
    UPDATE dlock_task SET behind = 0
    WHERE id = (
        SELECT t.id FROM dlock_task AS t
        WHERE t.queue = OLD.queue AND t.lane = OLD.lane AND t.behind = 1 AND t.priority = OLD.priority
        ORDER BY t.run_at, t.id LIMIT 1)
        AND NOT EXISTS (
            SELECT 1 FROM dlock_task AS o
            WHERE o.queue = OLD.queue AND o.lane = OLD.lane AND o.behind = 0 AND o.priority = OLD.priority
                AND (o.run_at, o.id) < (dlock_task.run_at, dlock_task.id));
    -- The task now stands elsewhere, maybe behind others.
    UPDATE dlock_task SET behind = released IS NOT 0 AND EXISTS (
        SELECT 1 FROM dlock_task AS o
        WHERE o.queue = NEW.queue AND o.lane = NEW.lane AND o.behind = 0 AND o.priority = NEW.priority
            AND (o.run_at, o.id) < (NEW.run_at, NEW.id))
    WHERE id = NEW.id;
END;
CREATE TRIGGER dlock_task_leaves AFTER DELETE ON dlock_task WHEN OLD.lane IS NOT NULL
BEGIN
    UPDATE dlock_task SET behind = 0
    WHERE id = (
        SELECT t.id FROM dlock_task AS t
        WHERE t.queue = OLD.queue AND t.lane = OLD.lane AND t.behind = 1 AND t.priority = OLD.priority
        ORDER BY t.run_at, t.id LIMIT 1)
        AND NOT EXISTS (
            SELECT 1 FROM dlock_task AS o
            WHERE o.queue = OLD.queue AND o.lane = OLD.lane AND o.behind = 0 AND o.priority = OLD.priority
                AND (o.run_at, o.id) < (dlock_task.run_at, dlock_task.id));
END;
-- A task that has ended. ending: the token of the claim whose own ending it was, null if no claim ended it. Payload and
-- checkpoint are not checked again: a task that cannot be read has to end too.
CREATE TABLE dlock_task_done (
    id           INTEGER PRIMARY KEY,
    queue        TEXT    NOT NULL,
    priority     INTEGER NOT NULL,
    run_at       INTEGER NOT NULL,
    attempt      INTEGER NOT NULL,
    max_attempts INTEGER NOT NULL,
    kind         TEXT    NOT NULL,
    key          TEXT,
    key_until_start INTEGER NOT NULL,
    lane         TEXT,
    payload      TEXT    NOT NULL,
    errors       TEXT    NOT NULL CHECK (json_valid(errors)),
    created      INTEGER NOT NULL,
    checkpoint   TEXT,
    token        INTEGER NOT NULL,
    state        TEXT    NOT NULL CHECK (state IN ('succeeded', 'dead', 'cancelled')),
    output       TEXT             CHECK (json_valid(output)),
    ending       INTEGER,
    ended        INTEGER NOT NULL
) STRICT;
CREATE INDEX dlock_task_done_ended ON dlock_task_done (state, ended);
-- Periodic tasks. last: the newest instant that was served, as unix time in microseconds.
CREATE TABLE dlock_task_schedule (
    name TEXT    PRIMARY KEY NOT NULL,
    last INTEGER NOT NULL
) STRICT;
-- Queues whose tasks no worker gets. since: unix time in microseconds.
CREATE TABLE dlock_task_paused (
    queue TEXT    PRIMARY KEY NOT NULL CHECK (length(queue) > 0),
    since INTEGER NOT NULL
) STRICT;
-- Queues with a limit on how many of their tasks run at a time, and the claims of those queues. A claim holds no place
-- if its task has ended, was released or has another claim, or if its lease has run out.
CREATE TABLE dlock_task_limit (
    queue TEXT    PRIMARY KEY NOT NULL CHECK (length(queue) > 0),
    most  INTEGER NOT NULL CHECK (most BETWEEN 1 AND 4294967295)
) STRICT;
CREATE TABLE dlock_task_slot (
    queue TEXT    NOT NULL,
    id    INTEGER NOT NULL,
    token INTEGER NOT NULL,
    PRIMARY KEY (queue, id)
) STRICT, WITHOUT ROWID;
-- The version of this layout.
CREATE TABLE dlock_task_layout (version INTEGER NOT NULL) STRICT;
INSERT INTO dlock_task_layout (version) VALUES (1);
