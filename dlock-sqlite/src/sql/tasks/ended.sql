-- The outcome of a task that has ended. ?1 id. Result: state and ending.
SELECT state, ending FROM dlock_task_done WHERE id = ?1;
