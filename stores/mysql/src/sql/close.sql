-- Ends a term and leaves the name closed (B4).
-- Parameters: prefix; name; the term's uuid; the closing's uuid; how long it lasts in milliseconds.
-- Result: one row as in answer.sql. The verdict is
--   'closed'    now or earlier
--   'not held'  L3, and the record that shows it
--   'absent'    L3: there is no record
--   'unsound'   the row is no record; nothing was written
CREATE PROCEDURE IF NOT EXISTS {close}(
    p_prefix VARBINARY(1024), p_name VARBINARY(1024), p_uuid BINARY(16), p_closing BINARY(16), p_lasts BIGINT
) MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    {declare}
    {begin}
    {lock}
    SET v_verdict = CASE
        WHEN NOT v_found THEN 'absent'
        WHEN NOT v_sound THEN 'unsound'
        WHEN v_released THEN 'not held'
        WHEN v_uuid = p_closing THEN 'closed'
        WHEN v_uuid = p_uuid THEN 'close'
        ELSE 'not held'
    END;
    IF v_verdict = 'close' THEN
        UPDATE {table} AS l SET
            l.uuid = p_closing, l.renewals = 0, l.duration = p_lasts, l.expiry = v_now + p_lasts * 1000
        WHERE l.prefix = p_prefix AND l.name = p_name;
        SET v_verdict = 'closed';
    END IF;
    {answer}
END
