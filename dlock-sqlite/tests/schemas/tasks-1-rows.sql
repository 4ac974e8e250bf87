-- Tasks of layout 1, as a release that knew it has left them. They stay as they are.
-- ?1 the boot, ?2 when the leases of this boot end.
INSERT INTO dlock_task VALUES
    -- One that runs, one whose worker died with its machine, one that waits for the lane of the first, one of later.
    (1, 'default', 5, 1795253490000000, 1, 20, 'invoice', 'order-17', 'customer-5', '{"order":17}', '[]',
        1795253490000000, '{"page":7}', 2, 1795253490374226, '3f2504e0-4f89-41d3-9a0c-0305e82c3301', 4, 'web-3:4711',
        1795253490374226, 600000, 0, 0, ?1, ?2),
    (2, 'default', 5, 1795253490000000, 1, 20, 'invoice', NULL, NULL, '{"order":18}', '[]',
        1795253490000000, '{"page":8}', 1, 9007199254740000, '3f2504e0-4f89-41d3-9a0c-0305e82c3302', 0, 'web-2:17',
        1795253490374226, 600000, 0, 0, '00000000-0000-4000-8000-000000000000', ?2),
    (3, 'default', 5, 1795253490000000, 0, 20, 'invoice', NULL, 'customer-5', '{"order":19}', '[]',
        1795253490000000, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (4, 'default', 5, 4102444800000000, 0, 20, 'invoice', NULL, NULL, 'null', '[]',
        1795253490000000, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    -- One of a queue that is paused; one that runs and one that waits in a queue of one at a time.
    (5, 'mail', 5, 1795253490000000, 0, 20, 'mail', NULL, NULL, 'null', '[]',
        1795253490000000, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (6, 'image', 5, 1795253490000000, 1, 20, 'image', NULL, NULL, 'null', '[]',
        1795253490000000, NULL, 0, 1795253490374227, '3f2504e0-4f89-41d3-9a0c-0305e82c3303', 0, 'web-3:4711',
        1795253490374227, 600000, 0, 0, ?1, ?2),
    (7, 'image', 5, 1795253490000000, 0, 20, 'image', NULL, NULL, 'null', '[]',
        1795253490000000, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO dlock_task_done VALUES
    (8, 'default', 5, 1795253490000000, 1, 20, 'invoice', NULL, NULL, '{"order":1}', '[]', 1795253490000000, NULL,
        1795253490374228, 'succeeded', '"sent"', 1795253490374228, 1795253490500000),
    (9, 'default', 5, 1795253490000000, 2, 2, 'invoice', NULL, NULL, '{"order":2}',
        '[{"attempt":1,"at":1795253490400000,"error":"no route"},{"attempt":2,"at":1795253490500000,"error":"refused"}]',
        1795253490000000, '{"page":9}', 9007199254740001, 'dead', NULL, 9007199254740001, 1795253490500000);
INSERT INTO dlock_task_schedule VALUES ('nightly', 1795219200000000);
INSERT INTO dlock_task_paused VALUES ('mail', 1795253490000000);
INSERT INTO dlock_task_limit VALUES ('image', 1);
INSERT INTO dlock_task_slot VALUES ('image', 6, 1795253490374227);
UPDATE sqlite_sequence SET seq = 9 WHERE name = 'dlock_task';
