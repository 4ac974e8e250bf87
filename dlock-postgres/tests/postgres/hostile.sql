-- In `public`, a twin of everything that a statement may look up by name: each one ends the statement.
-- Run by the superuser in a database of its own. The word in braces is a text in which the names of
-- the functions occur.
SET search_path = pg_catalog;

-- Functions, under the very same types and under those that a polymorphic one is called with.
DO $$
DECLARE
    f record;
    kind text;
BEGIN
    FOR f IN
        SELECT p.proname, pg_get_function_identity_arguments(p.oid) AS arguments,
            pg_get_function_result(p.oid) AS result
        FROM pg_proc AS p
        WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind = 'f'
            AND p.proargmodes IS NULL AND p.proname = ANY (regexp_split_to_array({names}, '[^a-z_]+'))
            AND NOT EXISTS (
                SELECT FROM unnest(p.proargtypes || p.prorettype) AS a JOIN pg_type AS t ON t.oid = a
                WHERE t.typtype = 'p' AND t.typname <> 'void'
            )
        UNION ALL
        SELECT v.name, v.arguments, v.result
        FROM (VALUES
            ('unnest', 'text[]', 'SETOF text'), ('unnest', 'uuid[]', 'SETOF uuid'),
            ('unnest', 'bigint[]', 'SETOF bigint'), ('unnest', 'boolean[]', 'SETOF boolean'),
            ('unnest', 'int2vector', 'SETOF smallint'), ('unnest', 'smallint[]', 'SETOF smallint'),
            ('cardinality', 'text[]', 'integer'), ('cardinality', 'bigint[]', 'integer'),
            ('array_agg', 'bigint', 'bigint[]'), ('array_agg', 'boolean', 'boolean[]'),
            ('count', '', 'bigint'), ('concat_ws', 'text, name, text, name', 'text'),
            ('concat_ws', 'text, name, name, name', 'text'), ('to_timestamp', 'integer', 'timestamptz'),
            ('to_timestamp', 'bigint', 'timestamptz'), ('octet_length', 'varchar', 'integer')
        ) AS v (name, arguments, result)
    LOOP
        EXECUTE format(
            'CREATE FUNCTION public.%I(%s) RETURNS %s LANGUAGE plpgsql AS
                $trap$ BEGIN RAISE EXCEPTION ''hijacked: %s''; END $trap$',
            f.proname, f.arguments, f.result, f.proname);
    END LOOP;
END
$$;

-- Operators, under the very same types and under all pairs that need a conversion.
DO $$
DECLARE
    o record;
BEGIN
    FOR o IN
        WITH types AS (
            SELECT t::regtype AS type
            FROM unnest(ARRAY[
                'bigint', 'integer', 'smallint', 'numeric', 'double precision', 'text', 'name', 'uuid',
                'timestamptz', 'interval', 'boolean', 'oid', '"char"', 'text[]', 'bigint[]'
            ]) AS t
        )
        SELECT p.oprname AS name, p.oprleft::regtype AS l, p.oprright::regtype AS r, p.oprresult::regtype AS result
        FROM pg_operator AS p
        WHERE p.oprkind = 'b' AND p.oprleft IN (SELECT type FROM types) AND p.oprright IN (SELECT type FROM types)
            AND p.oprname IN ('=', '<>', '<', '<=', '>', '>=', '+', '-', '*', '^@')
        UNION
        SELECT n.name, l.type, r.type, CASE WHEN n.name = '*' THEN 'interval' ELSE 'boolean' END::regtype
        FROM unnest(ARRAY['=', '<>', '<', '<=', '>', '>=', '*', '^@']) AS n (name),
            types AS l, types AS r
        WHERE NOT EXISTS (
            SELECT FROM pg_operator AS p
            WHERE p.oprname = n.name AND p.oprleft = l.type AND p.oprright = r.type
        ) AND 'interval'::regtype IN (l.type, r.type) = (n.name = '*')
    LOOP
        EXECUTE format(
            'CREATE FUNCTION public.%I(%s, %s) RETURNS %s LANGUAGE plpgsql AS
                $trap$ BEGIN RAISE EXCEPTION ''hijacked: %s''; END $trap$',
            'trap ' || o.name, o.l, o.r, o.result, o.name);
        EXECUTE format(
            'CREATE OPERATOR public.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = public.%I)',
            o.name, o.l, o.r, 'trap ' || o.name);
    END LOOP;
END
$$;

-- Types, each with a condition that is evaluated when there is a value.
CREATE FUNCTION public.trap() RETURNS boolean LANGUAGE plpgsql AS
    $trap$ BEGIN RAISE EXCEPTION 'hijacked: a type'; END $trap$;
CREATE DOMAIN public.text AS text CHECK (public.trap());
CREATE DOMAIN public.uuid AS uuid CHECK (public.trap());
CREATE DOMAIN public.bytea AS bytea CHECK (public.trap());
CREATE DOMAIN public.timestamptz AS timestamptz CHECK (public.trap());
CREATE COLLATION public."C" FROM "POSIX";
