-- Asks the holder to release the lock (B3).
-- Parameters: prefix; name; the term's uuid.
-- Result: one row as in answer.sql. The verdict is
--   'asked'    now or earlier
--   'changed'  the record is not held by this term; nothing was written
--   'absent'   there is no record
--   'unsound'  the row is no record; nothing was written
CREATE PROCEDURE IF NOT EXISTS {ask}(
    p_prefix VARBINARY(1024), p_name VARBINARY(1024), p_uuid BINARY(16)
) MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    {declare}
    {begin}
    {lock}
    SET v_verdict = CASE
        WHEN NOT v_found THEN 'absent'
        WHEN NOT v_sound THEN 'unsound'
        WHEN v_uuid <> p_uuid OR v_released THEN 'changed'
        ELSE 'asked'
    END;
    IF v_verdict = 'asked' AND NOT v_asked THEN
        UPDATE {table} AS l SET l.asked = TRUE WHERE l.prefix = p_prefix AND l.name = p_name;
    END IF;
    {answer}
END
