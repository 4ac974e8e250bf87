-- What is said of queues. $1 queues. Result: a row for each: what tell.sql says.
SELECT '{schema}/' OPERATOR(pg_catalog.||) {bucket}(q) FROM pg_catalog.unnest((SELECT $1)) AS q
