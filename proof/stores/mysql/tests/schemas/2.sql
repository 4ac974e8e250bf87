-- What the version makes whose grants may bring blocks of tokens. It stays as it is.
SET @dlock_sql_mode = @@SESSION.sql_mode, SESSION sql_mode = 'STRICT_ALL_TABLES';

CREATE TABLE IF NOT EXISTS `dlock_lock` (
    prefix   VARBINARY(1024) NOT NULL,
    name     VARBINARY(1024) NOT NULL,
    uuid     BINARY(16)      NOT NULL,
    renewals BIGINT          NOT NULL,
    owner    VARCHAR(1024)   CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    since    BIGINT          NOT NULL,
    token    BIGINT          NOT NULL,
    duration BIGINT          NOT NULL,
    expiry   BIGINT          NOT NULL,
    released TINYINT         NOT NULL,
    asked    TINYINT         NOT NULL,
    data     VARBINARY(4096),
    PRIMARY KEY (prefix, name)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE PROCEDURE IF NOT EXISTS `dlock_lock_acquire_2`(
    p_prefix VARBINARY(1024), p_name VARBINARY(1024), p_owner VARBINARY(1024),
    p_prev_uuid BINARY(16), p_prev_renewals BIGINT, p_new BINARY(16), p_duration BIGINT,
    p_data VARBINARY(4096), p_floor BIGINT, p_tokens BIGINT
) MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_locked BOOLEAN;
    DECLARE v_round INT DEFAULT 0;
    DECLARE v_found, v_sound BOOLEAN DEFAULT FALSE; DECLARE v_uuid BINARY(16); DECLARE v_owner, v_data VARBINARY(4096); DECLARE v_renewals, v_since, v_token, v_duration, v_expiry, v_now BIGINT; DECLARE v_released, v_asked TINYINT; DECLARE v_verdict VARBINARY(16); DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK AND NO CHAIN NO RELEASE; RESIGNAL; END;
    rounds: LOOP
        SET v_round = v_round + 1, v_locked = FALSE;
        ROLLBACK AND NO CHAIN NO RELEASE; BEGIN DECLARE CONTINUE HANDLER FOR 1290 BEGIN END; SET SESSION timestamp = DEFAULT; END; SET SESSION innodb_lock_wait_timeout = 2; SET TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION READ WRITE;
        looks: LOOP
            SET v_found = FALSE;
            IF v_locked THEN
                SELECT TRUE, COALESCE( l.renewals BETWEEN 0 AND 9007199254740991 AND OCTET_LENGTH(l.owner) <= 1024 AND l.since BETWEEN 0 AND 9007199254000000 AND l.token BETWEEN 1 AND 9007199254740991 AND l.duration BETWEEN 100 AND 86400000 AND l.released IN (0, 1) AND l.asked IN (0, 1) AND l.expiry BETWEEN 0 AND 9223372036854775807, FALSE), l.uuid, l.renewals, CAST(l.owner AS BINARY), l.since, l.token, l.duration, l.released, l.asked, l.data, l.expiry INTO v_found, v_sound, v_uuid, v_renewals, v_owner, v_since, v_token, v_duration, v_released, v_asked, v_data, v_expiry FROM `dlock_lock` AS l WHERE l.prefix = p_prefix AND l.name = p_name FOR UPDATE; SET v_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
            ELSE
                SET v_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
                SELECT TRUE, COALESCE( l.renewals BETWEEN 0 AND 9007199254740991 AND OCTET_LENGTH(l.owner) <= 1024 AND l.since BETWEEN 0 AND 9007199254000000 AND l.token BETWEEN 1 AND 9007199254740991 AND l.duration BETWEEN 100 AND 86400000 AND l.released IN (0, 1) AND l.asked IN (0, 1) AND l.expiry BETWEEN 0 AND 9223372036854775807, FALSE), l.uuid, l.renewals, CAST(l.owner AS BINARY), l.since, l.token, l.duration, l.released, l.asked, l.data, l.expiry INTO v_found, v_sound, v_uuid, v_renewals, v_owner, v_since, v_token, v_duration, v_released, v_asked, v_data, v_expiry FROM `dlock_lock` AS l WHERE l.prefix = p_prefix AND l.name = p_name;
            END IF;
            SET v_verdict = CASE
                WHEN v_found AND NOT v_sound THEN 'unsound'
                WHEN v_found AND v_uuid = p_new THEN
                    IF(v_released OR v_expiry <= v_now, 'spent', 'repeated')  -- A3, A2
                WHEN v_found AND NOT (v_released OR v_expiry <= v_now
                    OR COALESCE(v_uuid = p_prev_uuid AND v_renewals = p_prev_renewals, FALSE)) THEN 'held'  -- A7
                WHEN GREATEST(IF(v_found, v_token + 1, 0), v_now, p_floor) > 9007199254740992 - p_tokens
                    THEN 'exhausted'
                ELSE 'take'
            END;
            IF v_verdict <> 'take' OR v_locked THEN
                LEAVE looks;
            END IF;
            SET v_locked = TRUE;
        END LOOP;
        IF v_verdict = 'take' AND v_found THEN
            SET v_token = GREATEST(v_token + 1, v_now, p_floor) + p_tokens - 1, v_verdict = 'acquired';  -- A4, A5, A6
            UPDATE `dlock_lock` AS l SET
                l.uuid = p_new, l.renewals = 0, l.owner = CONVERT(p_owner USING utf8mb4), l.since = v_now,
                l.token = v_token, l.duration = p_duration, l.expiry = v_now + p_duration * 1000,
                l.released = FALSE, l.asked = FALSE, l.data = p_data
            WHERE l.prefix = p_prefix AND l.name = p_name;
        ELSEIF v_verdict = 'take' THEN
            BEGIN
                DECLARE CONTINUE HANDLER FOR 1062 SET v_verdict = 'open';
                SET v_token = GREATEST(v_now, p_floor) + p_tokens - 1, v_verdict = 'acquired';  -- A1
                INSERT INTO `dlock_lock`
                    (prefix, name, uuid, renewals, owner, since, token, duration, expiry, released, asked, data)
                VALUES (p_prefix, p_name, p_new, 0, CONVERT(p_owner USING utf8mb4), v_now, v_token, p_duration,
                    v_now + p_duration * 1000, FALSE, FALSE, p_data);
            END;
        END IF;
        IF v_verdict <> 'open' OR v_round = 3 THEN
            LEAVE rounds;
        END IF;
    END LOOP;
    COMMIT AND NO CHAIN NO RELEASE; SELECT v_uuid, v_renewals, v_owner, v_since, v_token, v_duration, v_released, v_asked, v_data, v_expiry, v_now, v_verdict;
END;

CREATE PROCEDURE IF NOT EXISTS `dlock_lock_renew_1`(
    p_prefix VARBINARY(1024), p_name VARBINARY(1024), p_uuid BINARY(16), p_n BIGINT
) MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_found, v_sound BOOLEAN DEFAULT FALSE; DECLARE v_uuid BINARY(16); DECLARE v_owner, v_data VARBINARY(4096); DECLARE v_renewals, v_since, v_token, v_duration, v_expiry, v_now BIGINT; DECLARE v_released, v_asked TINYINT; DECLARE v_verdict VARBINARY(16); DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK AND NO CHAIN NO RELEASE; RESIGNAL; END;
    ROLLBACK AND NO CHAIN NO RELEASE; BEGIN DECLARE CONTINUE HANDLER FOR 1290 BEGIN END; SET SESSION timestamp = DEFAULT; END; SET SESSION innodb_lock_wait_timeout = 2; SET TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION READ WRITE;
    SELECT TRUE, COALESCE( l.renewals BETWEEN 0 AND 9007199254740991 AND OCTET_LENGTH(l.owner) <= 1024 AND l.since BETWEEN 0 AND 9007199254000000 AND l.token BETWEEN 1 AND 9007199254740991 AND l.duration BETWEEN 100 AND 86400000 AND l.released IN (0, 1) AND l.asked IN (0, 1) AND l.expiry BETWEEN 0 AND 9223372036854775807, FALSE), l.uuid, l.renewals, CAST(l.owner AS BINARY), l.since, l.token, l.duration, l.released, l.asked, l.data, l.expiry INTO v_found, v_sound, v_uuid, v_renewals, v_owner, v_since, v_token, v_duration, v_released, v_asked, v_data, v_expiry FROM `dlock_lock` AS l WHERE l.prefix = p_prefix AND l.name = p_name FOR UPDATE; SET v_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
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
        UPDATE `dlock_lock` AS l SET l.renewals = p_n, l.expiry = v_now + v_duration * 1000
        WHERE l.prefix = p_prefix AND l.name = p_name;
        SET v_verdict = 'renewed';  -- R1
    END IF;
    COMMIT AND NO CHAIN NO RELEASE; SELECT v_uuid, v_renewals, v_owner, v_since, v_token, v_duration, v_released, v_asked, v_data, v_expiry, v_now, v_verdict;
END;

CREATE PROCEDURE IF NOT EXISTS `dlock_lock_release_1`(
    p_prefix VARBINARY(1024), p_name VARBINARY(1024), p_uuid BINARY(16)
) MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_found, v_sound BOOLEAN DEFAULT FALSE; DECLARE v_uuid BINARY(16); DECLARE v_owner, v_data VARBINARY(4096); DECLARE v_renewals, v_since, v_token, v_duration, v_expiry, v_now BIGINT; DECLARE v_released, v_asked TINYINT; DECLARE v_verdict VARBINARY(16); DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK AND NO CHAIN NO RELEASE; RESIGNAL; END;
    ROLLBACK AND NO CHAIN NO RELEASE; BEGIN DECLARE CONTINUE HANDLER FOR 1290 BEGIN END; SET SESSION timestamp = DEFAULT; END; SET SESSION innodb_lock_wait_timeout = 2; SET TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION READ WRITE;
    SELECT TRUE, COALESCE( l.renewals BETWEEN 0 AND 9007199254740991 AND OCTET_LENGTH(l.owner) <= 1024 AND l.since BETWEEN 0 AND 9007199254000000 AND l.token BETWEEN 1 AND 9007199254740991 AND l.duration BETWEEN 100 AND 86400000 AND l.released IN (0, 1) AND l.asked IN (0, 1) AND l.expiry BETWEEN 0 AND 9223372036854775807, FALSE), l.uuid, l.renewals, CAST(l.owner AS BINARY), l.since, l.token, l.duration, l.released, l.asked, l.data, l.expiry INTO v_found, v_sound, v_uuid, v_renewals, v_owner, v_since, v_token, v_duration, v_released, v_asked, v_data, v_expiry FROM `dlock_lock` AS l WHERE l.prefix = p_prefix AND l.name = p_name FOR UPDATE; SET v_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
    SET v_verdict = CASE
        WHEN NOT v_found THEN 'absent'
        WHEN NOT v_sound THEN 'unsound'
        WHEN v_uuid <> p_uuid THEN 'not held'
        ELSE 'released'
    END;
    IF v_verdict = 'released' AND NOT v_released THEN
        UPDATE `dlock_lock` AS l SET l.released = TRUE WHERE l.prefix = p_prefix AND l.name = p_name;
    END IF;
    COMMIT AND NO CHAIN NO RELEASE; SELECT v_uuid, v_renewals, v_owner, v_since, v_token, v_duration, v_released, v_asked, v_data, v_expiry, v_now, v_verdict;
END;

CREATE PROCEDURE IF NOT EXISTS `dlock_lock_close_1`(
    p_prefix VARBINARY(1024), p_name VARBINARY(1024), p_uuid BINARY(16), p_closing BINARY(16), p_lasts BIGINT
) MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_found, v_sound BOOLEAN DEFAULT FALSE; DECLARE v_uuid BINARY(16); DECLARE v_owner, v_data VARBINARY(4096); DECLARE v_renewals, v_since, v_token, v_duration, v_expiry, v_now BIGINT; DECLARE v_released, v_asked TINYINT; DECLARE v_verdict VARBINARY(16); DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK AND NO CHAIN NO RELEASE; RESIGNAL; END;
    ROLLBACK AND NO CHAIN NO RELEASE; BEGIN DECLARE CONTINUE HANDLER FOR 1290 BEGIN END; SET SESSION timestamp = DEFAULT; END; SET SESSION innodb_lock_wait_timeout = 2; SET TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION READ WRITE;
    SELECT TRUE, COALESCE( l.renewals BETWEEN 0 AND 9007199254740991 AND OCTET_LENGTH(l.owner) <= 1024 AND l.since BETWEEN 0 AND 9007199254000000 AND l.token BETWEEN 1 AND 9007199254740991 AND l.duration BETWEEN 100 AND 86400000 AND l.released IN (0, 1) AND l.asked IN (0, 1) AND l.expiry BETWEEN 0 AND 9223372036854775807, FALSE), l.uuid, l.renewals, CAST(l.owner AS BINARY), l.since, l.token, l.duration, l.released, l.asked, l.data, l.expiry INTO v_found, v_sound, v_uuid, v_renewals, v_owner, v_since, v_token, v_duration, v_released, v_asked, v_data, v_expiry FROM `dlock_lock` AS l WHERE l.prefix = p_prefix AND l.name = p_name FOR UPDATE; SET v_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
    SET v_verdict = CASE
        WHEN NOT v_found THEN 'absent'
        WHEN NOT v_sound THEN 'unsound'
        WHEN v_released THEN 'not held'
        WHEN v_uuid = p_closing THEN 'closed'
        WHEN v_uuid = p_uuid THEN 'close'
        ELSE 'not held'
    END;
    IF v_verdict = 'close' THEN
        UPDATE `dlock_lock` AS l SET
            l.uuid = p_closing, l.renewals = 0, l.duration = p_lasts, l.expiry = v_now + p_lasts * 1000
        WHERE l.prefix = p_prefix AND l.name = p_name;
        SET v_verdict = 'closed';
    END IF;
    COMMIT AND NO CHAIN NO RELEASE; SELECT v_uuid, v_renewals, v_owner, v_since, v_token, v_duration, v_released, v_asked, v_data, v_expiry, v_now, v_verdict;
END;

CREATE PROCEDURE IF NOT EXISTS `dlock_lock_read_1`(p_prefix VARBINARY(1024), p_name VARBINARY(1024))
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_found, v_sound BOOLEAN DEFAULT FALSE; DECLARE v_uuid BINARY(16); DECLARE v_owner, v_data VARBINARY(4096); DECLARE v_renewals, v_since, v_token, v_duration, v_expiry, v_now BIGINT; DECLARE v_released, v_asked TINYINT; DECLARE v_verdict VARBINARY(16); DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK AND NO CHAIN NO RELEASE; RESIGNAL; END;
    ROLLBACK AND NO CHAIN NO RELEASE; BEGIN DECLARE CONTINUE HANDLER FOR 1290 BEGIN END; SET SESSION timestamp = DEFAULT; END; SET SESSION innodb_lock_wait_timeout = 2; SET TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION READ WRITE;
    SET v_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
    SELECT TRUE, COALESCE( l.renewals BETWEEN 0 AND 9007199254740991 AND OCTET_LENGTH(l.owner) <= 1024 AND l.since BETWEEN 0 AND 9007199254000000 AND l.token BETWEEN 1 AND 9007199254740991 AND l.duration BETWEEN 100 AND 86400000 AND l.released IN (0, 1) AND l.asked IN (0, 1) AND l.expiry BETWEEN 0 AND 9223372036854775807, FALSE), l.uuid, l.renewals, CAST(l.owner AS BINARY), l.since, l.token, l.duration, l.released, l.asked, l.data, l.expiry INTO v_found, v_sound, v_uuid, v_renewals, v_owner, v_since, v_token, v_duration, v_released, v_asked, v_data, v_expiry FROM `dlock_lock` AS l WHERE l.prefix = p_prefix AND l.name = p_name;
    SET v_verdict = IF(v_found, 'record', 'absent');
    COMMIT AND NO CHAIN NO RELEASE; SELECT v_uuid, v_renewals, v_owner, v_since, v_token, v_duration, v_released, v_asked, v_data, v_expiry, v_now, v_verdict;
END;

CREATE PROCEDURE IF NOT EXISTS `dlock_lock_list_1`(
    p_prefix VARBINARY(1024), p_begin VARBINARY(1024), p_after VARBINARY(1024), p_limit BIGINT
) READS SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        ROLLBACK AND NO CHAIN NO RELEASE;
        RESIGNAL;
    END;
    ROLLBACK AND NO CHAIN NO RELEASE; BEGIN DECLARE CONTINUE HANDLER FOR 1290 BEGIN END; SET SESSION timestamp = DEFAULT; END; SET SESSION innodb_lock_wait_timeout = 2; SET TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION READ WRITE;
    SELECT l.uuid, l.renewals, CAST(l.owner AS BINARY), l.since, l.token, l.duration, l.released, l.asked, l.data,
        l.expiry, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)), l.name
    FROM `dlock_lock` AS l
    WHERE l.prefix = p_prefix AND l.name >= p_begin AND l.name < CONCAT(p_begin, x'FF') AND l.name > p_after
    ORDER BY l.name
    LIMIT p_limit;
    COMMIT AND NO CHAIN NO RELEASE;
END;

CREATE PROCEDURE IF NOT EXISTS `dlock_lock_revoke_1`(
    p_prefix VARBINARY(1024), p_name VARBINARY(1024), p_uuid BINARY(16), p_renewals BIGINT, p_new BINARY(16)
) MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_found, v_sound BOOLEAN DEFAULT FALSE; DECLARE v_uuid BINARY(16); DECLARE v_owner, v_data VARBINARY(4096); DECLARE v_renewals, v_since, v_token, v_duration, v_expiry, v_now BIGINT; DECLARE v_released, v_asked TINYINT; DECLARE v_verdict VARBINARY(16); DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK AND NO CHAIN NO RELEASE; RESIGNAL; END;
    ROLLBACK AND NO CHAIN NO RELEASE; BEGIN DECLARE CONTINUE HANDLER FOR 1290 BEGIN END; SET SESSION timestamp = DEFAULT; END; SET SESSION innodb_lock_wait_timeout = 2; SET TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION READ WRITE;
    SELECT TRUE, COALESCE( l.renewals BETWEEN 0 AND 9007199254740991 AND OCTET_LENGTH(l.owner) <= 1024 AND l.since BETWEEN 0 AND 9007199254000000 AND l.token BETWEEN 1 AND 9007199254740991 AND l.duration BETWEEN 100 AND 86400000 AND l.released IN (0, 1) AND l.asked IN (0, 1) AND l.expiry BETWEEN 0 AND 9223372036854775807, FALSE), l.uuid, l.renewals, CAST(l.owner AS BINARY), l.since, l.token, l.duration, l.released, l.asked, l.data, l.expiry INTO v_found, v_sound, v_uuid, v_renewals, v_owner, v_since, v_token, v_duration, v_released, v_asked, v_data, v_expiry FROM `dlock_lock` AS l WHERE l.prefix = p_prefix AND l.name = p_name FOR UPDATE; SET v_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
    SET v_verdict = CASE
        WHEN NOT v_found THEN 'absent'
        WHEN NOT v_sound THEN 'unsound'
        WHEN v_released THEN 'changed'
        WHEN v_uuid = p_uuid AND v_renewals = p_renewals THEN 'revoke'
        WHEN v_uuid = p_new THEN 'revoked'
        ELSE 'changed'
    END;
    IF v_verdict = 'revoke' THEN
        UPDATE `dlock_lock` AS l SET l.uuid = p_new, l.renewals = 0 WHERE l.prefix = p_prefix AND l.name = p_name;
        SET v_verdict = 'revoked';
    END IF;
    COMMIT AND NO CHAIN NO RELEASE; SELECT v_uuid, v_renewals, v_owner, v_since, v_token, v_duration, v_released, v_asked, v_data, v_expiry, v_now, v_verdict;
END;

CREATE PROCEDURE IF NOT EXISTS `dlock_lock_ask_1`(
    p_prefix VARBINARY(1024), p_name VARBINARY(1024), p_uuid BINARY(16)
) MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_found, v_sound BOOLEAN DEFAULT FALSE; DECLARE v_uuid BINARY(16); DECLARE v_owner, v_data VARBINARY(4096); DECLARE v_renewals, v_since, v_token, v_duration, v_expiry, v_now BIGINT; DECLARE v_released, v_asked TINYINT; DECLARE v_verdict VARBINARY(16); DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK AND NO CHAIN NO RELEASE; RESIGNAL; END;
    ROLLBACK AND NO CHAIN NO RELEASE; BEGIN DECLARE CONTINUE HANDLER FOR 1290 BEGIN END; SET SESSION timestamp = DEFAULT; END; SET SESSION innodb_lock_wait_timeout = 2; SET TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION READ WRITE;
    SELECT TRUE, COALESCE( l.renewals BETWEEN 0 AND 9007199254740991 AND OCTET_LENGTH(l.owner) <= 1024 AND l.since BETWEEN 0 AND 9007199254000000 AND l.token BETWEEN 1 AND 9007199254740991 AND l.duration BETWEEN 100 AND 86400000 AND l.released IN (0, 1) AND l.asked IN (0, 1) AND l.expiry BETWEEN 0 AND 9223372036854775807, FALSE), l.uuid, l.renewals, CAST(l.owner AS BINARY), l.since, l.token, l.duration, l.released, l.asked, l.data, l.expiry INTO v_found, v_sound, v_uuid, v_renewals, v_owner, v_since, v_token, v_duration, v_released, v_asked, v_data, v_expiry FROM `dlock_lock` AS l WHERE l.prefix = p_prefix AND l.name = p_name FOR UPDATE; SET v_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
    SET v_verdict = CASE
        WHEN NOT v_found THEN 'absent'
        WHEN NOT v_sound THEN 'unsound'
        WHEN v_uuid <> p_uuid OR v_released THEN 'changed'
        ELSE 'asked'
    END;
    IF v_verdict = 'asked' AND NOT v_asked THEN
        UPDATE `dlock_lock` AS l SET l.asked = TRUE WHERE l.prefix = p_prefix AND l.name = p_name;
    END IF;
    COMMIT AND NO CHAIN NO RELEASE; SELECT v_uuid, v_renewals, v_owner, v_since, v_token, v_duration, v_released, v_asked, v_data, v_expiry, v_now, v_verdict;
END;

CREATE PROCEDURE IF NOT EXISTS `dlock_lock_purge_1`(p_prefix VARBINARY(1024), p_limit BIGINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE v_name VARBINARY(1024);
    DECLARE v_over BOOLEAN DEFAULT FALSE;
    DECLARE v_count BIGINT DEFAULT 0;
    DECLARE c_old CURSOR FOR
        SELECT l.name FROM `dlock_lock` AS l
        WHERE l.prefix = p_prefix AND l.expiry <= TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) - 604800000000 AND l.token < TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) AND COALESCE( l.renewals BETWEEN 0 AND 9007199254740991 AND OCTET_LENGTH(l.owner) <= 1024 AND l.since BETWEEN 0 AND 9007199254000000 AND l.token BETWEEN 1 AND 9007199254740991 AND l.duration BETWEEN 100 AND 86400000 AND l.released IN (0, 1) AND l.asked IN (0, 1) AND l.expiry BETWEEN 0 AND 9223372036854775807, FALSE)
        LIMIT p_limit;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_over = TRUE;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        ROLLBACK AND NO CHAIN NO RELEASE;
        RESIGNAL;
    END;
    ROLLBACK AND NO CHAIN NO RELEASE; BEGIN DECLARE CONTINUE HANDLER FOR 1290 BEGIN END; SET SESSION timestamp = DEFAULT; END; SET SESSION innodb_lock_wait_timeout = 2; SET TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION READ WRITE;
    OPEN c_old;
    names: LOOP
        FETCH c_old INTO v_name;
        IF v_over THEN
            LEAVE names;
        END IF;
        DELETE l FROM `dlock_lock` AS l
        WHERE l.prefix = p_prefix AND l.name = v_name
            AND l.expiry <= TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) - 604800000000 AND l.token < TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) AND COALESCE( l.renewals BETWEEN 0 AND 9007199254740991 AND OCTET_LENGTH(l.owner) <= 1024 AND l.since BETWEEN 0 AND 9007199254000000 AND l.token BETWEEN 1 AND 9007199254740991 AND l.duration BETWEEN 100 AND 86400000 AND l.released IN (0, 1) AND l.asked IN (0, 1) AND l.expiry BETWEEN 0 AND 9223372036854775807, FALSE);
        SET v_count = v_count + ROW_COUNT();
    END LOOP;
    CLOSE c_old;
    COMMIT AND NO CHAIN NO RELEASE;
    SELECT v_count;
END;

SET SESSION sql_mode = @dlock_sql_mode;
