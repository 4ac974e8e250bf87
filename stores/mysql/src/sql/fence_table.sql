-- The highest fencing token that each resource has seen (T3). No parameters, no result; safe to repeat.
CREATE TABLE IF NOT EXISTS {table} (
    resource VARBINARY(1024) NOT NULL PRIMARY KEY,
    token    BIGINT          NOT NULL CHECK (token BETWEEN 1 AND 9007199254740991)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC
