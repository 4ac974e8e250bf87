-- Begins a transaction that does not depend on the session's settings. Any open transaction is rolled back: with
-- autocommit off any statement may have opened one, and its snapshot would show the past. With READ COMMITTED each
-- statement sees what is committed when it begins, and a row that does not exist locks nothing (with the server's
-- default, every other first acquire of a name by a dozen racers ended in a deadlock). The procedure waits at most 2 s
-- for a row that another session keeps locked: that is how late a call that was given up may still be applied.
ROLLBACK AND NO CHAIN NO RELEASE;
BEGIN
    -- A session may have set its clock. Where the server forbids that (secure_timestamp), there is nothing to undo.
    DECLARE CONTINUE HANDLER FOR 1290 BEGIN END;
    SET SESSION timestamp = DEFAULT;
END;
SET SESSION innodb_lock_wait_timeout = 2;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
START TRANSACTION READ WRITE;
