-- Records the claims of a queue that now has a limit. ?1 queue. Result: none.
INSERT INTO dlock_task_slot (queue, id, token) SELECT queue, id, token FROM dlock_task WHERE queue = ?1 AND released = 0 AND behind = 0;
