-- The record of a lock.
-- Parameters: prefix; name.
-- Result: one row as in answer.sql. The verdict is
--   'record'  the record, whatever it is
--   'absent'  there is no record
CREATE PROCEDURE IF NOT EXISTS {read}(p_prefix VARBINARY(1024), p_name VARBINARY(1024))
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    {declare}
    {begin}
    SET v_now = {now};
    {look};
    SET v_verdict = IF(v_found, 'record', 'absent');
    {answer}
END
