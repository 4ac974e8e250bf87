-- Deletes records that ended 7 days ago and whose token the clock has passed (T5).
-- Parameters: prefix; the greatest number of records.
-- Result: one row: how many were deleted. The search takes no locks, so that no user of another lock waits; and a
-- statement that checks a record again deletes it, so that no client acquires the lock in between.
CREATE PROCEDURE IF NOT EXISTS {purge}(p_prefix VARBINARY(1024), p_limit BIGINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_name VARBINARY(1024);
    DECLARE v_over BOOLEAN DEFAULT FALSE;
    DECLARE v_count BIGINT DEFAULT 0;
    DECLARE c_old CURSOR FOR
        SELECT l.name FROM {table} AS l
        WHERE l.prefix = p_prefix AND l.expiry <= {now} - 604800000000 AND l.token < {now} AND {sound}
        LIMIT p_limit;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_over = TRUE;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        ROLLBACK AND NO CHAIN NO RELEASE;
        RESIGNAL;
    END;
    {begin}
    OPEN c_old;
    names: LOOP
        FETCH c_old INTO v_name;
        IF v_over THEN
            LEAVE names;
        END IF;
        DELETE l FROM {table} AS l
        WHERE l.prefix = p_prefix AND l.name = v_name
            AND l.expiry <= {now} - 604800000000 AND l.token < {now} AND {sound};
        SET v_count = v_count + ROW_COUNT();
    END LOOP;
    CLOSE c_old;
    COMMIT AND NO CHAIN NO RELEASE;
    SELECT v_count;
END
