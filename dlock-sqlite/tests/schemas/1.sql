-- Layout 1. It stays as it is.
CREATE TABLE lock (
    prefix   TEXT    NOT NULL,
    name     TEXT    NOT NULL CHECK (length(name) > 0),
    uuid     TEXT    NOT NULL CHECK (length(uuid) = 36),
    renewals INTEGER NOT NULL CHECK (renewals BETWEEN 0 AND 9007199254740991),
    owner    TEXT    NOT NULL,
    since    INTEGER NOT NULL CHECK (since BETWEEN 0 AND 9007199254740991),
    token    INTEGER NOT NULL CHECK (token BETWEEN 1 AND 9007199254740991),
    duration INTEGER NOT NULL CHECK (duration BETWEEN 100 AND 86400000),
    released INTEGER NOT NULL CHECK (released IN (0, 1)),
    asked    INTEGER NOT NULL CHECK (asked IN (0, 1)),
    data     BLOB             CHECK (length(data) <= 4096),
    boot     TEXT    NOT NULL,
    expiry   INTEGER NOT NULL,
    PRIMARY KEY (prefix, name)
) STRICT, WITHOUT ROWID;
PRAGMA application_id = 0x646c6f6b;
PRAGMA user_version = 1;
