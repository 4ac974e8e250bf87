-- The run's own tables next to those of the queue, and the ledger of tasks with a lane or a limit. No parameters,
-- no result. The instants of run_at and due are microseconds of Unix time, and those of leases nanoseconds.
CREATE SCHEMA shop;
CREATE TABLE shop.orders (number text NOT NULL);
CREATE TABLE shop.effect (task bigint NOT NULL, token bigint NOT NULL);
CREATE TABLE shop.ledger (
    place    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    task     bigint NOT NULL,
    queue    text NOT NULL,
    lane     text,
    priority smallint NOT NULL,
    run_at   bigint NOT NULL,
    token    bigint NOT NULL,
    held     boolean NOT NULL,
    expiry   bigint NOT NULL,
    duration bigint NOT NULL,
    gone     boolean NOT NULL,
    due      bigint NOT NULL,
    own      bigint NOT NULL,
    seen     text NOT NULL
);

CREATE FUNCTION shop.write(t dlock.dlock_task, gone boolean, seen pg_snapshot) RETURNS void LANGUAGE sql AS $$
    INSERT INTO shop.ledger (
        task, queue, lane, priority, run_at, token, held, expiry, duration, gone, due, own, seen)
    VALUES (
        t.id, t.queue, t.lane, t.priority, (extract(epoch FROM t.run_at) * 1000000)::bigint, t.token,
        coalesce(NOT t.released, false), coalesce((extract(epoch FROM t.expiry) * 1000000)::bigint * 1000, 0),
        coalesce(t.duration * 1000000, 0), gone,
        -- A claim reads its clock after its transaction has begun.
        (extract(epoch FROM transaction_timestamp()) * 1000000)::bigint,
        pg_current_xact_id()::text::bigint, seen::text)
$$;

-- STABLE: the snapshot is the one that the changing statement itself used.
CREATE FUNCTION shop.observe() RETURNS trigger LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM shop.write(OLD, true, pg_current_snapshot());
    ELSE
        PERFORM shop.write(NEW, false, pg_current_snapshot());
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER written AFTER INSERT OR UPDATE ON dlock.dlock_task FOR EACH ROW
    WHEN (NEW.lane IS NOT NULL OR NEW.queue = 'limited') EXECUTE FUNCTION shop.observe();
CREATE TRIGGER gone AFTER DELETE ON dlock.dlock_task FOR EACH ROW
    WHEN (OLD.lane IS NOT NULL OR OLD.queue = 'limited') EXECUTE FUNCTION shop.observe();
