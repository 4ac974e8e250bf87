-- The highest fencing token that each resource has seen (T3). No parameters, no result; safe to repeat.
CREATE TABLE IF NOT EXISTS {table} (
    resource TEXT    NOT NULL PRIMARY KEY,
    token    INTEGER NOT NULL CHECK (token BETWEEN 1 AND 9007199254740991)
) STRICT, WITHOUT ROWID;
