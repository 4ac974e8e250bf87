-- Extends a term by the lease in its record (R1 to R3).
-- Parameters: prefix; name; the term's uuid; the number of this renewal.
-- Result: one row as in answer.sql. The verdict is
--   'renewed'  R1, R2; of the record only whether a client asked for the lock counts
--   'lost'     R3, and the record that shows it
--   'absent'   R3: there is no record
--   'unsound'  the row is no record; nothing was written
--   'unfit'    the number of this renewal is 2^53 or more (T2); nothing was written
CREATE PROCEDURE IF NOT EXISTS {renew}(
    p_prefix VARBINARY(1024), p_name VARBINARY(1024), p_uuid BINARY(16), p_n BIGINT
) MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    {declare}
    {begin}
    {lock}
    SET v_verdict = CASE
        WHEN NOT v_found THEN 'absent'
        WHEN NOT v_sound THEN 'unsound'
        WHEN v_uuid <> p_uuid OR v_released THEN 'lost'
        WHEN v_renewals >= p_n THEN 'renewed'  -- R2
        WHEN v_expiry <= v_now THEN 'lost'
        WHEN p_n > 9007199254740991 THEN 'unfit'
        ELSE 'renew'
    END;
    IF v_verdict = 'renew' THEN
        UPDATE {table} AS l SET l.renewals = p_n, l.expiry = v_now + v_duration * 1000
        WHERE l.prefix = p_prefix AND l.name = p_name;
        SET v_verdict = 'renewed';  -- R1
    END IF;
    {answer}
END
