-- The first table of fences. It stays as it is.
CREATE TABLE IF NOT EXISTS main."fence" (
    resource TEXT    NOT NULL PRIMARY KEY,
    token    INTEGER NOT NULL CHECK (token BETWEEN 1 AND 9007199254740991)
) STRICT, WITHOUT ROWID;
