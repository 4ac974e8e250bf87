-- Releases a term (L1 to L3).
-- Parameters: prefix; name; the term's uuid.
-- Result: one row as in answer.sql. The verdict is
--   'released'  L1, L2; of the record only its mark counts
--   'not held'  L3, and the record that shows it
--   'absent'    L3: there is no record
--   'unsound'   the row is no record; nothing was written
CREATE PROCEDURE IF NOT EXISTS {release}(
    p_prefix VARBINARY(1024), p_name VARBINARY(1024), p_uuid BINARY(16)
) MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    {declare}
    {begin}
    {lock}
    SET v_verdict = CASE
        WHEN NOT v_found THEN 'absent'
        WHEN NOT v_sound THEN 'unsound'
        WHEN v_uuid <> p_uuid THEN 'not held'
        ELSE 'released'
    END;
    IF v_verdict = 'released' AND NOT v_released THEN
        UPDATE {table} AS l SET l.released = TRUE WHERE l.prefix = p_prefix AND l.name = p_name;
    END IF;
    {answer}
END
