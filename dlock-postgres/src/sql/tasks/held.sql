-- Records the tasks that a claim got (A2), for a repeat of it. No index of the tasks contains their claims, since each
-- claim would have to change it.
-- Parameters: the claim's uuid; the numbers of its tasks.
-- Result: none.
--
-- One claim in 32 also deletes, from one page of the table, claims that hold none of their tasks any more. The page is
-- random, and rows that another session has locked are passed over: so this costs the same however many claims there
-- are, and however many rows an old snapshot keeps from being cleared away, and it waits for no session.
CREATE OR REPLACE FUNCTION {keep}(p_uuid pg_catalog.uuid, p_ids bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $dlock$
DECLARE
    v_pages bigint;
    v_rows tid[];
BEGIN
    INSERT INTO {held} (uuid, ids) VALUES (p_uuid, p_ids);
    IF random() < 1.0 / 32 THEN
        v_pages := pg_relation_size(to_regclass('{schema}.dlock_task_held')) / current_setting('block_size')::bigint;
        -- Even of the smallest rows a page has hardly more.
        v_rows := ARRAY(SELECT format('(%s,%s)', p.page, n)::tid
            FROM (SELECT floor(random() * v_pages)::bigint AS page OFFSET 0) AS p CROSS JOIN generate_series(1, 128) AS n);
        DELETE FROM {held} AS h WHERE h.ctid = ANY (ARRAY(
            SELECT h.ctid FROM {held} AS h
            WHERE h.ctid = ANY (v_rows)
                AND NOT EXISTS (SELECT FROM {task} AS t WHERE t.id = ANY (h.ids) AND t.uuid = h.uuid AND NOT t.released)
            FOR UPDATE SKIP LOCKED));
    END IF;
END
$dlock$
