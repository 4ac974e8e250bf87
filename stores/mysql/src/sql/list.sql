-- Records in byte order of their names.
-- Parameters: prefix; how the names begin; the name after which to start; the greatest number of
-- rows.
-- Result: rows as in answer.sql, with the name in place of the verdict.
CREATE PROCEDURE IF NOT EXISTS {list}(
    p_prefix VARBINARY(1024), p_begin VARBINARY(1024), p_after VARBINARY(1024), p_limit BIGINT
) READS SQL DATA SQL SECURITY INVOKER
BEGIN
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        ROLLBACK AND NO CHAIN NO RELEASE;
        RESIGNAL;
    END;
    {begin}
    SELECT l.uuid, l.renewals, CAST(l.owner AS BINARY), l.since, l.token, l.duration, l.released, l.asked, l.wanted,
        l.data, l.expiry, {now}, l.name
    FROM {table} AS l
    -- No byte of UTF-8 is as great as FF.
    WHERE l.prefix = p_prefix AND l.name >= p_begin AND l.name < CONCAT(p_begin, x'FF') AND l.name > p_after
    ORDER BY l.name
    LIMIT p_limit;
    COMMIT AND NO CHAIN NO RELEASE;
END
