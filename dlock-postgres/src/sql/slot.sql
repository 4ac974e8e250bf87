-- The number of the advisory lock by which a release finds out whether anybody listens for a hint, p_hint. A session that
-- waits for the hint shares the lock, and what releases tries to have it alone. A table has 128 of them, so that however
-- many locks a session waits for, it fills only so much of the server's table of locks; two hints with one number cost a
-- notification that nobody needs. The numbers are in the space of single bigints, at a place that follows from the name
-- of the channel: those of an application are hardly ever among them, and if one is, the same is the cost.
((pg_catalog.hashtextextended('{channel}', 0) OPERATOR(pg_catalog.&) (-128)::bigint)
    OPERATOR(pg_catalog.|)
    (pg_catalog.hashtextextended(p_hint COLLATE pg_catalog."C", 0) OPERATOR(pg_catalog.&) 127::bigint))
