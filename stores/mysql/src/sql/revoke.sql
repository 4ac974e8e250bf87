-- Takes a term away from its holder without granting it (B1).
-- Parameters: prefix; name; the uuid and the renewals that were read; the uuid that replaces them.
-- Result: one row as in answer.sql. The verdict is
--   'revoked'  now or earlier
--   'changed'  the record is no longer as it was read; nothing was written
--   'absent'   there is no record
--   'unsound'  the row is no record; nothing was written
CREATE PROCEDURE IF NOT EXISTS {revoke}(
    p_prefix VARBINARY(1024), p_name VARBINARY(1024), p_uuid BINARY(16), p_renewals BIGINT, p_new BINARY(16)
) MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    {declare}
    {begin}
    {lock}
    SET v_verdict = CASE
        WHEN NOT v_found THEN 'absent'
        WHEN NOT v_sound THEN 'unsound'
        WHEN v_released THEN 'changed'
        WHEN v_uuid = p_uuid AND v_renewals = p_renewals THEN 'revoke'
        WHEN v_uuid = p_new THEN 'revoked'
        ELSE 'changed'
    END;
    IF v_verdict = 'revoke' THEN
        UPDATE {table} AS l SET l.uuid = p_new, l.renewals = 0 WHERE l.prefix = p_prefix AND l.name = p_name;
        SET v_verdict = 'revoked';
    END IF;
    {answer}
END
