-- The version of the layout. No parameters. Result: one row.
SELECT pg_catalog.max(l.version) FROM {layout} AS l
