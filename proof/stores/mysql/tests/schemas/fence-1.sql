-- The first table of fences. It stays as it is.
CREATE TABLE IF NOT EXISTS `dlock_fence` (
    resource VARBINARY(1024) NOT NULL PRIMARY KEY,
    token    BIGINT          NOT NULL CHECK (token BETWEEN 1 AND 9007199254740991)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC
