-- The texts that announce queues. $1 queues. Result: a row for each: the text that tell.sql sends.
SELECT '{schema}/' OPERATOR(pg_catalog.||) {bucket}(q) FROM pg_catalog.unnest((SELECT $1)) AS q
