-- What the version makes whose grants bring up to 128 tokens. It stays as it is.
DO $dlock$
BEGIN
    IF pg_catalog.to_regnamespace('"dlock"') IS NULL THEN
        CREATE SCHEMA "dlock";
    END IF;
END
$dlock$;

CREATE TABLE IF NOT EXISTS "dlock"."lock" (
    prefix   pg_catalog.text        COLLATE pg_catalog."C" NOT NULL,
    name     pg_catalog.text        COLLATE pg_catalog."C" NOT NULL,
    uuid     pg_catalog.uuid        NOT NULL,
    renewals bigint                 NOT NULL,
    owner    pg_catalog.text        NOT NULL,
    since    pg_catalog.timestamptz NOT NULL,
    token    bigint                 NOT NULL,
    duration bigint                 NOT NULL,
    expiry   pg_catalog.timestamptz NOT NULL,
    released boolean                NOT NULL,
    asked    boolean                NOT NULL,
    data     pg_catalog.bytea,
    PRIMARY KEY (prefix, name)
) WITH (fillfactor = 70);

CREATE OR REPLACE FUNCTION "dlock"."lock_sound_2"(l "dlock"."lock") RETURNS boolean LANGUAGE sql IMMUTABLE AS $dlock$
    SELECT coalesce(
        l.uuid IS NOT NULL
        AND l.renewals OPERATOR(pg_catalog.>=) 0 AND l.renewals OPERATOR(pg_catalog.<=) 9007199254740991
        AND pg_catalog.octet_length(l.owner) OPERATOR(pg_catalog.<=) 1024
        AND l.since OPERATOR(pg_catalog.>=) pg_catalog.to_timestamp(0)
        AND l.since OPERATOR(pg_catalog.<=) pg_catalog.to_timestamp(9007199254)
        AND l.token OPERATOR(pg_catalog.>=) 1 AND l.token OPERATOR(pg_catalog.<=) 9007199254740991
        AND l.duration OPERATOR(pg_catalog.>=) 100 AND l.duration OPERATOR(pg_catalog.<=) 86400000
        AND pg_catalog.isfinite(l.expiry) AND l.released IS NOT NULL AND l.asked IS NOT NULL
        AND coalesce(pg_catalog.octet_length(l.data), 0) OPERATOR(pg_catalog.<=) 4096,
        false)
$dlock$;

CREATE OR REPLACE FUNCTION "dlock"."lock_acquire_4"(
    p_prefix pg_catalog.text, p_name pg_catalog.text, p_owner pg_catalog.text,
    p_prev_uuid pg_catalog.uuid, p_prev_renewals bigint, p_new pg_catalog.uuid, p_duration bigint,
    p_data pg_catalog.bytea, p_floor bigint, p_tokens bigint,
    OUT verdict pg_catalog.text, OUT shown "dlock"."lock", OUT clock pg_catalog.timestamptz
) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan AS $dlock$
BEGIN
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;

    IF NOT (p_duration BETWEEN 100 AND 86400000 AND octet_length(p_owner) <= 1024
            AND coalesce(octet_length(p_data), 0) <= 4096 AND p_tokens BETWEEN 1 AND 128) THEN
        verdict := 'unfit';
        RETURN;
    END IF;

    FOR round IN 1..3 LOOP
        clock := clock_timestamp();
        SELECT l.* INTO shown FROM "dlock"."lock" AS l WHERE l.prefix = p_prefix AND l.name = p_name;

        IF NOT FOUND THEN
            IF greatest((extract(epoch FROM clock) * 1000000)::bigint, p_floor) > 9007199254740992 - p_tokens THEN
                verdict := 'exhausted';
                RETURN;
            END IF;
            INSERT INTO "dlock"."lock" AS l  -- A1
                (prefix, name, uuid, renewals, owner, since, token, duration, expiry, released, asked, data)
            VALUES (
                p_prefix, p_name, p_new, 0, p_owner, clock_timestamp(),
                greatest((extract(epoch FROM clock_timestamp()) * 1000000)::bigint, p_floor) + p_tokens - 1,
                p_duration, clock_timestamp() + p_duration::double precision * interval '1 millisecond',
                false, false, p_data)
            ON CONFLICT DO NOTHING
            RETURNING l.token INTO shown.token;
        ELSIF NOT "dlock"."lock_sound_2"(shown) THEN
            verdict := 'unsound';
            RETURN;
        ELSIF shown.uuid = p_new THEN
            IF shown.released OR shown.expiry <= clock THEN
                verdict := 'spent';  -- A3
            ELSE
                verdict := 'repeated';  -- A2
            END IF;
            RETURN;
        ELSIF NOT (shown.released OR shown.expiry <= clock
                   OR coalesce(shown.uuid = p_prev_uuid AND shown.renewals = p_prev_renewals, false)) THEN
            verdict := 'held';  -- A7
            RETURN;
        ELSIF greatest(shown.token + 1, (extract(epoch FROM clock) * 1000000)::bigint, p_floor)
              > 9007199254740992 - p_tokens THEN
            verdict := 'exhausted';
            RETURN;
        ELSE
            UPDATE "dlock"."lock" AS l SET
                uuid = p_new, renewals = 0, owner = p_owner, since = clock_timestamp(),
                token = greatest(l.token + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, p_floor)
                    + p_tokens - 1,
                duration = p_duration,
                expiry = clock_timestamp() + p_duration::double precision * interval '1 millisecond',
                released = false, asked = false, data = p_data
            WHERE l.prefix = p_prefix AND l.name = p_name
                AND l.uuid = shown.uuid AND l.renewals = shown.renewals AND l.released = shown.released
            RETURNING l.token INTO shown.token;
        END IF;

        IF FOUND THEN
            verdict := 'acquired';
            RETURN;
        END IF;
    END LOOP;
    verdict := 'open';
END
$dlock$;

CREATE OR REPLACE FUNCTION "dlock"."lock_renew_2"(
    p_prefix pg_catalog.text, p_name pg_catalog.text, p_uuid pg_catalog.uuid, p_n bigint,
    OUT verdict pg_catalog.text, OUT shown "dlock"."lock", OUT clock pg_catalog.timestamptz
) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan AS $dlock$
BEGIN
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;

    FOR round IN 1..3 LOOP
        UPDATE "dlock"."lock" AS l SET
            renewals = p_n, expiry = clock_timestamp() + l.duration::double precision * interval '1 millisecond'
        WHERE l.prefix = p_prefix AND l.name = p_name AND l.uuid = p_uuid AND NOT l.released
            AND l.renewals < p_n AND p_n <= 9007199254740991 AND l.expiry > clock_timestamp() AND "dlock"."lock_sound_2"(l)
        RETURNING l.asked INTO shown.asked;
        IF FOUND THEN
            verdict := 'renewed';  -- R1
            RETURN;
        END IF;

        clock := clock_timestamp();
        SELECT l.* INTO shown FROM "dlock"."lock" AS l WHERE l.prefix = p_prefix AND l.name = p_name;
        verdict := CASE
            WHEN NOT FOUND THEN 'absent'
            WHEN NOT "dlock"."lock_sound_2"(shown) THEN 'unsound'
            WHEN shown.uuid <> p_uuid OR shown.released THEN 'lost'
            WHEN shown.renewals >= p_n THEN 'renewed'  -- R2
            WHEN shown.expiry <= clock THEN 'lost'
            WHEN p_n > 9007199254740991 THEN 'unfit'
            ELSE 'open'  -- fits R1: no answer, ask again
        END;
        IF verdict <> 'open' THEN
            RETURN;
        END IF;
    END LOOP;
END
$dlock$;

CREATE OR REPLACE FUNCTION "dlock"."lock_batch_3"(
    p_prefix pg_catalog.text, p_names pg_catalog.text[], p_uuids pg_catalog.uuid[], p_ns bigint[]
) RETURNS TABLE (
    verdict pg_catalog.text, asked boolean, shown "dlock"."lock", clock pg_catalog.timestamptz, place bigint
) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' SET enable_hashjoin = off
SET enable_mergejoin = off SET enable_seqscan = off SET enable_bitmapscan = off AS $dlock$
DECLARE
    v_places bigint[];
    v_asked boolean[];
    v_left record;
BEGIN
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;

    WITH free AS MATERIALIZED (
        SELECT u.prefix, u.name, u.n, u.place
        FROM (
            SELECT p_prefix AS prefix, u.name, u.uuid, u.n, u.place
            FROM unnest((SELECT p_names), (SELECT p_uuids), (SELECT p_ns))
                WITH ORDINALITY AS u (name, uuid, n, place)
            ORDER BY u.name COLLATE "C", u.place
            OFFSET 0
        ) AS u CROSS JOIN LATERAL (
            SELECT FROM "dlock"."lock" AS l
            WHERE l.prefix = p_prefix AND l.name = u.name AND l.uuid = u.uuid AND NOT l.released
                AND l.renewals < u.n AND u.n <= 9007199254740991 AND l.expiry > clock_timestamp() AND "dlock"."lock_sound_2"(l)
            FOR UPDATE SKIP LOCKED
        ) AS l
    ), renewed AS (
        UPDATE "dlock"."lock" AS l SET
            renewals = i.n,
            expiry = clock_timestamp() + l.duration::double precision * interval '1 millisecond'
        FROM free AS i
        WHERE l.prefix = ANY (ARRAY[i.prefix]) AND l.name = i.name AND l.renewals < i.n
            AND l.expiry > clock_timestamp()
        RETURNING i.place, l.asked
    )
    SELECT array_agg(r.place), array_agg(r.asked) INTO v_places, v_asked FROM renewed AS r;

    RETURN QUERY
    SELECT 'renewed', u.asked, NULL::"dlock"."lock", NULL::timestamptz, u.place  -- R1
    FROM unnest(v_places, v_asked) AS u (place, asked);

    IF cardinality(v_places) = cardinality(p_names) THEN
        RETURN;
    END IF;
    FOR v_left IN
        SELECT u.name, u.uuid, u.n, u.place
        FROM unnest((SELECT p_names), (SELECT p_uuids), (SELECT p_ns))
            WITH ORDINALITY AS u (name, uuid, n, place)
        WHERE u.place <> ALL (coalesce(v_places, ARRAY[]::bigint[]))
        ORDER BY u.name COLLATE "C", u.place
    LOOP
        PERFORM FROM "dlock"."lock" AS l
        WHERE l.prefix = p_prefix AND l.name = v_left.name AND l.uuid = v_left.uuid AND NOT l.released
            AND l.renewals < v_left.n AND v_left.n <= 9007199254740991 AND l.expiry > clock_timestamp()
            AND "dlock"."lock_sound_2"(l);
        IF FOUND THEN
            PERFORM FROM "dlock"."lock" AS l WHERE l.prefix = p_prefix AND l.name = v_left.name FOR UPDATE SKIP LOCKED;
            IF NOT FOUND THEN
                RETURN QUERY SELECT 'locked', NULL::boolean, NULL::"dlock"."lock", NULL::timestamptz, v_left.place;
                CONTINUE;
            END IF;
        END IF;
        RETURN QUERY
        SELECT f.verdict, (f.shown).asked, f.shown, f.clock, v_left.place
        FROM "dlock"."lock_renew_2"(p_prefix, v_left.name, v_left.uuid, v_left.n) AS f;
    END LOOP;
END
$dlock$;

CREATE OR REPLACE FUNCTION "dlock"."lock_release_4"(
    p_prefix pg_catalog.text, p_name pg_catalog.text, p_uuid pg_catalog.uuid, p_hint pg_catalog.text,
    OUT verdict pg_catalog.text, OUT shown "dlock"."lock", OUT clock pg_catalog.timestamptz
) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan AS $dlock$
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    FOR round IN 1..3 LOOP
        UPDATE "dlock"."lock" AS l SET released = true
        WHERE l.prefix = p_prefix AND l.name = p_name AND l.uuid = p_uuid AND NOT l.released AND "dlock"."lock_sound_2"(l);
        IF FOUND THEN
            IF p_hint IS NOT NULL AND NOT pg_try_advisory_xact_lock(((pg_catalog.hashtextextended('dlock:dlock.lock', 0) OPERATOR(pg_catalog.&) (-128)::bigint) OPERATOR(pg_catalog.|) (pg_catalog.hashtextextended(p_hint COLLATE pg_catalog."C", 0) OPERATOR(pg_catalog.&) 127::bigint))) THEN
                PERFORM pg_notify('dlock:dlock.lock', p_hint);
            END IF;
            verdict := 'released';
            RETURN;
        END IF;
        clock := clock_timestamp();
        SELECT l.* INTO shown FROM "dlock"."lock" AS l WHERE l.prefix = p_prefix AND l.name = p_name;
        verdict := CASE
            WHEN NOT FOUND THEN 'absent'
            WHEN NOT "dlock"."lock_sound_2"(shown) THEN 'unsound'
            WHEN shown.uuid <> p_uuid THEN 'not held'
            WHEN shown.released THEN 'released'
            ELSE 'open'
        END;
        IF verdict <> 'open' THEN
            RETURN;
        END IF;
    END LOOP;
END
$dlock$;

CREATE OR REPLACE FUNCTION "dlock"."lock_close_1"(
    p_prefix pg_catalog.text, p_name pg_catalog.text, p_uuid pg_catalog.uuid, p_closing pg_catalog.uuid,
    p_lasts bigint,
    OUT verdict pg_catalog.text, OUT shown "dlock"."lock", OUT clock pg_catalog.timestamptz
) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan AS $dlock$
BEGIN
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;

    IF NOT (p_lasts BETWEEN 100 AND 86400000) THEN
        verdict := 'unfit';
        RETURN;
    END IF;

    FOR round IN 1..3 LOOP
        UPDATE "dlock"."lock" AS l SET
            uuid = p_closing, renewals = 0, duration = p_lasts,
            expiry = clock_timestamp() + p_lasts::double precision * interval '1 millisecond'
        WHERE l.prefix = p_prefix AND l.name = p_name AND l.uuid = p_uuid AND NOT l.released AND "dlock"."lock_sound_2"(l);
        IF FOUND THEN
            verdict := 'closed';
            RETURN;
        END IF;

        clock := clock_timestamp();
        SELECT l.* INTO shown FROM "dlock"."lock" AS l WHERE l.prefix = p_prefix AND l.name = p_name;
        verdict := CASE
            WHEN NOT FOUND THEN 'absent'
            WHEN NOT "dlock"."lock_sound_2"(shown) THEN 'unsound'
            WHEN shown.released THEN 'not held'
            WHEN shown.uuid = p_closing THEN 'closed'
            WHEN shown.uuid = p_uuid THEN 'open'
            ELSE 'not held'
        END;
        IF verdict <> 'open' THEN
            RETURN;
        END IF;
    END LOOP;
END
$dlock$;

CREATE OR REPLACE FUNCTION "dlock"."lock_revoke_2"(
    p_prefix pg_catalog.text, p_name pg_catalog.text, p_uuid pg_catalog.uuid, p_renewals bigint, p_new pg_catalog.uuid,
    OUT verdict pg_catalog.text, OUT shown "dlock"."lock", OUT clock pg_catalog.timestamptz
) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan AS $dlock$
BEGIN
    FOR round IN 1..3 LOOP
        UPDATE "dlock"."lock" AS l SET uuid = p_new, renewals = 0
        WHERE l.prefix = p_prefix AND l.name = p_name AND NOT l.released
            AND l.uuid = p_uuid AND l.renewals = p_renewals AND "dlock"."lock_sound_2"(l);
        IF FOUND THEN
            verdict := 'revoked';
            RETURN;
        END IF;

        clock := clock_timestamp();
        SELECT l.* INTO shown FROM "dlock"."lock" AS l WHERE l.prefix = p_prefix AND l.name = p_name;
        verdict := CASE
            WHEN NOT FOUND THEN 'absent'
            WHEN NOT "dlock"."lock_sound_2"(shown) THEN 'unsound'
            WHEN shown.released THEN 'changed'
            WHEN shown.uuid = p_uuid AND shown.renewals = p_renewals THEN 'open'
            WHEN shown.uuid = p_new THEN 'revoked'
            ELSE 'changed'
        END;
        IF verdict <> 'open' THEN
            RETURN;
        END IF;
    END LOOP;
END
$dlock$;

CREATE OR REPLACE FUNCTION "dlock"."lock_ask_2"(
    p_prefix pg_catalog.text, p_name pg_catalog.text, p_uuid pg_catalog.uuid,
    OUT verdict pg_catalog.text, OUT shown "dlock"."lock", OUT clock pg_catalog.timestamptz
) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan AS $dlock$
BEGIN
    FOR round IN 1..3 LOOP
        UPDATE "dlock"."lock" AS l SET asked = true
        WHERE l.prefix = p_prefix AND l.name = p_name AND l.uuid = p_uuid
            AND NOT l.released AND NOT l.asked AND "dlock"."lock_sound_2"(l);
        IF FOUND THEN
            verdict := 'asked';
            RETURN;
        END IF;

        clock := clock_timestamp();
        SELECT l.* INTO shown FROM "dlock"."lock" AS l WHERE l.prefix = p_prefix AND l.name = p_name;
        verdict := CASE
            WHEN NOT FOUND THEN 'absent'
            WHEN NOT "dlock"."lock_sound_2"(shown) THEN 'unsound'
            WHEN shown.uuid <> p_uuid OR shown.released THEN 'changed'
            WHEN shown.asked THEN 'asked'
            ELSE 'open'
        END;
        IF verdict <> 'open' THEN
            RETURN;
        END IF;
    END LOOP;
END
$dlock$;
