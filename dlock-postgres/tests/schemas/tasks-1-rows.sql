-- Tasks of layout 1, as a release that knew it has left them. They stay as they are.
INSERT INTO "dlock".dlock_task (
    id, queue, priority, run_at, max_attempts, kind, key, lane, payload, created, errors, checkpoint, attempt,
    checkpoints, token, uuid, renewals, owner, since, duration, expiry, released, asked)
OVERRIDING SYSTEM VALUE VALUES
    -- One that runs, one whose worker has died, one that waits for the lane of the first, one of later.
    (1, 'default', 5, '2026-11-21 09:31:30Z', 20, 'invoice', 'order-17', 'customer-5', '{"order":17}',
        '2026-11-21 09:31:30Z', '[]', '{"page":7}', 1, 2, 1795253490374226, '3f2504e0-4f89-41d3-9a0c-0305e82c3301', 4,
        'web-3:4711', '2026-11-21 09:31:30.374226Z', 600000, clock_timestamp() + '10 minutes', false, false),
    (2, 'default', 5, '2026-11-21 09:31:30Z', 20, 'invoice', NULL, NULL, '{"order":18}',
        '2026-11-21 09:31:30Z', '[]', '{"page":8}', 1, 1, 9007199254740000, '3f2504e0-4f89-41d3-9a0c-0305e82c3302', 0,
        'web-2:17', '2026-11-21 09:31:30.374226Z', 600000, '2026-11-21 09:41:30.374226Z', false, false),
    (3, 'default', 5, '2026-11-21 09:31:30Z', 20, 'invoice', NULL, 'customer-5', '{"order":19}',
        '2026-11-21 09:31:30Z', '[]', NULL, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (4, 'default', 5, '2100-01-01 00:00:00Z', 20, 'invoice', NULL, NULL, 'null',
        '2026-11-21 09:31:30Z', '[]', NULL, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    -- One of a queue that is paused; one that runs and one that waits in a queue of one at a time.
    (5, 'mail', 5, '2026-11-21 09:31:30Z', 20, 'mail', NULL, NULL, 'null',
        '2026-11-21 09:31:30Z', '[]', NULL, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (6, 'image', 5, '2026-11-21 09:31:30Z', 20, 'image', NULL, NULL, 'null',
        '2026-11-21 09:31:30Z', '[]', NULL, 1, 0, 1795253490374227, '3f2504e0-4f89-41d3-9a0c-0305e82c3303', 0,
        'web-3:4711', '2026-11-21 09:31:30.374227Z', 600000, clock_timestamp() + '10 minutes', false, false),
    (7, 'image', 5, '2026-11-21 09:31:30Z', 20, 'image', NULL, NULL, 'null',
        '2026-11-21 09:31:30Z', '[]', NULL, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO "dlock".dlock_task_done (
    id, queue, priority, run_at, attempt, max_attempts, kind, key, lane, payload, errors, created, checkpoint, token,
    state, output, ending, ended)
VALUES
    (8, 'default', 5, '2026-11-21 09:31:30Z', 1, 20, 'invoice', NULL, NULL, '{"order":1}', '[]',
        '2026-11-21 09:31:30Z', NULL, 1795253490374228, 'succeeded', '"sent"', 1795253490374228,
        '2026-11-21 09:31:30.5Z'),
    (9, 'default', 5, '2026-11-21 09:31:30Z', 2, 2, 'invoice', NULL, NULL, '{"order":2}',
        '[{"attempt": 1, "at": 1795253490400000, "error": "no route"},
          {"attempt": 2, "at": 1795253490500000, "error": "refused"}]',
        '2026-11-21 09:31:30Z', '{"page":9}', 9007199254740001, 'dead', NULL, 9007199254740001,
        '2026-11-21 09:31:30.5Z');
INSERT INTO "dlock".dlock_task_schedule (name, last) VALUES ('nightly', '2026-11-21 00:00:00Z');
INSERT INTO "dlock".dlock_task_paused (queue, since) VALUES ('mail', '2026-11-21 09:31:30Z');
INSERT INTO "dlock".dlock_task_limit (queue, most) VALUES ('image', 1);
INSERT INTO "dlock".dlock_task_slot (queue, id, token) VALUES ('image', 6, 1795253490374227);
SELECT setval('"dlock".dlock_task_id_seq', 9);
