-- The parts of the schema that exist, as far as the user may see them. {database} and {name}, the table's, as literals.
-- Result: a row for the table, one for each of its columns, for each column of its primary key in order, and for each
-- of the procedures of its database: its kind, and its name with its relevant properties.
SELECT 'table', CONCAT_WS(' ', t.TABLE_TYPE, t.ENGINE)
FROM information_schema.TABLES AS t
WHERE t.TABLE_SCHEMA = {database} AND t.TABLE_NAME = {name}
UNION ALL
SELECT 'column', CONCAT_WS(' ', c.COLUMN_NAME, c.COLUMN_TYPE, IF(c.IS_NULLABLE = 'YES', 'null', NULL), c.COLLATION_NAME)
FROM information_schema.COLUMNS AS c
WHERE c.TABLE_SCHEMA = {database} AND c.TABLE_NAME = {name}
UNION ALL
SELECT 'key', CONCAT_WS(' ', k.SEQ_IN_INDEX, k.COLUMN_NAME)
FROM information_schema.STATISTICS AS k
WHERE k.TABLE_SCHEMA = {database} AND k.TABLE_NAME = {name} AND k.INDEX_NAME = 'PRIMARY'
UNION ALL
SELECT 'procedure', r.ROUTINE_NAME
FROM information_schema.ROUTINES AS r
-- This compares names of databases without regard to case, even where the server does not.
WHERE CAST(r.ROUTINE_SCHEMA AS BINARY) = CAST({database} AS BINARY) AND r.ROUTINE_TYPE = 'PROCEDURE'
-- A session may have its own limit (sql_select_limit), which this one replaces.
LIMIT 1000000
