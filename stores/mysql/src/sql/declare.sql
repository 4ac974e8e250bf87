-- The beginning of each procedure: variables for the record it finds, its verdict and the store's clock, and the
-- handling of a transaction that fails.
DECLARE v_found, v_sound BOOLEAN DEFAULT FALSE;
DECLARE v_uuid BINARY(16);
DECLARE v_owner, v_data VARBINARY(4096);
DECLARE v_renewals, v_since, v_token, v_duration, v_expiry, v_now BIGINT;
DECLARE v_released, v_asked TINYINT;
DECLARE v_wanted INT UNSIGNED;
DECLARE v_verdict VARBINARY(16);
DECLARE EXIT HANDLER FOR SQLEXCEPTION
BEGIN
    -- The server by itself undoes only the statement, and keeps the row locked.
    ROLLBACK AND NO CHAIN NO RELEASE;
    RESIGNAL;
END;
