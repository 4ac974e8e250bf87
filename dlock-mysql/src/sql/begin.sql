-- Begins a transaction that does not depend on the session's settings. What was open is undone: with autocommit off
-- that may be any statement, and its snapshot would show the past. With READ COMMITTED each statement sees what is
-- committed when it begins, and a row that is not there locks nothing (with the server's default, every other first
-- acquire of a name by a dozen racers ended in a deadlock). A row that somebody keeps locked is waited for at most 2 s:
-- that is how late a call may be applied that nobody waits for any more.
ROLLBACK AND NO CHAIN NO RELEASE;
BEGIN
    -- A session may have set its clock. Where the server forbids that (secure_timestamp), there is nothing to undo.
    DECLARE CONTINUE HANDLER FOR 1290 BEGIN END;
    SET SESSION timestamp = DEFAULT;
END;
SET SESSION innodb_lock_wait_timeout = 2;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
START TRANSACTION READ WRITE;
