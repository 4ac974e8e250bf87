-- What the first version made. It stays as it is.
DO $dlock$
BEGIN
    IF to_regnamespace('"dlock"') IS NULL THEN
        CREATE SCHEMA "dlock";
    END IF;
END
$dlock$;

CREATE TABLE IF NOT EXISTS "dlock"."lock" (
    prefix   text        COLLATE "C" NOT NULL,
    name     text        COLLATE "C" NOT NULL CHECK (octet_length(prefix) + octet_length(name) BETWEEN 1 AND 1024),
    uuid     uuid        NOT NULL,
    renewals bigint      NOT NULL CHECK (renewals BETWEEN 0 AND 9007199254740991),
    owner    text        NOT NULL CHECK (octet_length(owner) <= 1024),
    since    timestamptz NOT NULL CHECK (since BETWEEN to_timestamp(0) AND to_timestamp(9007199254)),
    token    bigint      NOT NULL CHECK (token BETWEEN 1 AND 9007199254740991),
    duration bigint      NOT NULL CHECK (duration BETWEEN 100 AND 86400000),
    expiry   timestamptz NOT NULL CHECK (isfinite(expiry)),
    released boolean     NOT NULL,
    asked    boolean     NOT NULL,
    data     bytea                CHECK (octet_length(data) <= 4096),
    PRIMARY KEY (prefix, name)
) WITH (fillfactor = 70);

CREATE OR REPLACE FUNCTION "dlock"."lock_sound_1"(l "dlock"."lock") RETURNS boolean LANGUAGE sql IMMUTABLE AS $dlock$
    SELECT coalesce(
        l.uuid IS NOT NULL AND l.renewals BETWEEN 0 AND 9007199254740991 AND octet_length(l.owner) <= 1024
        AND l.since BETWEEN to_timestamp(0) AND to_timestamp(9007199254) AND l.token BETWEEN 1 AND 9007199254740991
        AND l.duration BETWEEN 100 AND 86400000 AND isfinite(l.expiry)
        AND l.released IS NOT NULL AND l.asked IS NOT NULL AND coalesce(octet_length(l.data), 0) <= 4096,
        false)
$dlock$;

CREATE OR REPLACE FUNCTION "dlock"."lock_acquire_1"(
    p_prefix text, p_name text, p_owner text, p_prev_uuid uuid, p_prev_renewals bigint,
    p_new uuid, p_duration bigint, p_data bytea, p_floor bigint,
    OUT verdict text, OUT shown "dlock"."lock", OUT clock timestamptz
) LANGUAGE plpgsql SET lock_timeout = '2s' AS $dlock$
BEGIN
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;

    FOR round IN 1..3 LOOP
        clock := clock_timestamp();
        SELECT l.* INTO shown FROM "dlock"."lock" AS l WHERE l.prefix = p_prefix AND l.name = p_name;

        IF NOT FOUND THEN
            IF greatest((extract(epoch FROM clock) * 1000000)::bigint, p_floor) > 9007199254740991 THEN
                verdict := 'exhausted';
                RETURN;
            END IF;
            INSERT INTO "dlock"."lock" AS l  -- A1
                (prefix, name, uuid, renewals, owner, since, token, duration, expiry, released, asked, data)
            VALUES (
                p_prefix, p_name, p_new, 0, p_owner, clock_timestamp(),
                greatest((extract(epoch FROM clock_timestamp()) * 1000000)::bigint, p_floor),
                p_duration, clock_timestamp() + p_duration * interval '1 millisecond', false, false, p_data)
            ON CONFLICT DO NOTHING
            RETURNING l.token INTO shown.token;
        ELSIF NOT "dlock"."lock_sound_1"(shown) THEN
            verdict := 'unsound';
            RETURN;
        ELSIF shown.uuid = p_new THEN
            IF shown.released OR shown.expiry <= clock THEN
                verdict := 'spent';  -- A3
            ELSE
                verdict := 'acquired';  -- A2
            END IF;
            RETURN;
        ELSIF NOT (shown.released OR shown.expiry <= clock
                   OR coalesce(shown.uuid = p_prev_uuid AND shown.renewals = p_prev_renewals, false)) THEN
            verdict := 'held';  -- A7
            RETURN;
        ELSIF greatest(shown.token + 1, (extract(epoch FROM clock) * 1000000)::bigint, p_floor) > 9007199254740991 THEN
            verdict := 'exhausted';
            RETURN;
        ELSE
            UPDATE "dlock"."lock" AS l SET
                uuid = p_new, renewals = 0, owner = p_owner, since = clock_timestamp(),
                token = greatest(l.token + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, p_floor),
                duration = p_duration, expiry = clock_timestamp() + p_duration * interval '1 millisecond',
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

CREATE OR REPLACE FUNCTION "dlock"."lock_renew_1"(
    p_prefix text, p_name text, p_uuid uuid, p_n bigint,
    OUT verdict text, OUT shown "dlock"."lock", OUT clock timestamptz
) LANGUAGE plpgsql SET lock_timeout = '2s' AS $dlock$
BEGIN
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;

    FOR round IN 1..3 LOOP
        UPDATE "dlock"."lock" AS l SET
            renewals = p_n, expiry = clock_timestamp() + l.duration * interval '1 millisecond'
        WHERE l.prefix = p_prefix AND l.name = p_name AND l.uuid = p_uuid AND NOT l.released
            AND l.renewals < p_n AND l.expiry > clock_timestamp() AND "dlock"."lock_sound_1"(l)
        RETURNING l.asked INTO shown.asked;
        IF FOUND THEN
            verdict := 'renewed';  -- R1
            RETURN;
        END IF;

        clock := clock_timestamp();
        SELECT l.* INTO shown FROM "dlock"."lock" AS l WHERE l.prefix = p_prefix AND l.name = p_name;
        verdict := CASE
            WHEN NOT FOUND THEN 'absent'
            WHEN NOT "dlock"."lock_sound_1"(shown) THEN 'unsound'
            WHEN shown.uuid <> p_uuid OR shown.released THEN 'lost'
            WHEN shown.renewals >= p_n THEN 'renewed'  -- R2
            WHEN shown.expiry <= clock THEN 'lost'
            ELSE 'open'  -- fits R1: no answer, ask again
        END;
        IF verdict <> 'open' THEN
            RETURN;
        END IF;
    END LOOP;
END
$dlock$;

CREATE OR REPLACE FUNCTION "dlock"."lock_release_1"(
    p_prefix text, p_name text, p_uuid uuid,
    OUT verdict text, OUT shown "dlock"."lock", OUT clock timestamptz
) LANGUAGE plpgsql SET lock_timeout = '2s' AS $dlock$
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);

    FOR round IN 1..3 LOOP
        UPDATE "dlock"."lock" AS l SET released = true
        WHERE l.prefix = p_prefix AND l.name = p_name AND l.uuid = p_uuid AND NOT l.released AND "dlock"."lock_sound_1"(l);
        IF FOUND THEN
            verdict := 'released';  -- L1
            RETURN;
        END IF;

        clock := clock_timestamp();
        SELECT l.* INTO shown FROM "dlock"."lock" AS l WHERE l.prefix = p_prefix AND l.name = p_name;
        verdict := CASE
            WHEN NOT FOUND THEN 'absent'
            WHEN NOT "dlock"."lock_sound_1"(shown) THEN 'unsound'
            WHEN shown.uuid <> p_uuid THEN 'not held'
            WHEN shown.released THEN 'released'  -- L2
            ELSE 'open'  -- fits L1: no answer, ask again
        END;
        IF verdict <> 'open' THEN
            RETURN;
        END IF;
    END LOOP;
END
$dlock$;

CREATE OR REPLACE FUNCTION "dlock"."lock_revoke_1"(
    p_prefix text, p_name text, p_uuid uuid, p_renewals bigint, p_new uuid,
    OUT verdict text, OUT shown "dlock"."lock", OUT clock timestamptz
) LANGUAGE plpgsql SET lock_timeout = '2s' AS $dlock$
BEGIN
    FOR round IN 1..3 LOOP
        UPDATE "dlock"."lock" AS l SET uuid = p_new, renewals = 0
        WHERE l.prefix = p_prefix AND l.name = p_name AND NOT l.released
            AND l.uuid = p_uuid AND l.renewals = p_renewals AND "dlock"."lock_sound_1"(l);
        IF FOUND THEN
            verdict := 'revoked';
            RETURN;
        END IF;

        clock := clock_timestamp();
        SELECT l.* INTO shown FROM "dlock"."lock" AS l WHERE l.prefix = p_prefix AND l.name = p_name;
        verdict := CASE
            WHEN NOT FOUND THEN 'absent'
            WHEN NOT "dlock"."lock_sound_1"(shown) THEN 'unsound'
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

CREATE OR REPLACE FUNCTION "dlock"."lock_ask_1"(
    p_prefix text, p_name text, p_uuid uuid,
    OUT verdict text, OUT shown "dlock"."lock", OUT clock timestamptz
) LANGUAGE plpgsql SET lock_timeout = '2s' AS $dlock$
BEGIN
    FOR round IN 1..3 LOOP
        UPDATE "dlock"."lock" AS l SET asked = true
        WHERE l.prefix = p_prefix AND l.name = p_name AND l.uuid = p_uuid
            AND NOT l.released AND NOT l.asked AND "dlock"."lock_sound_1"(l);
        IF FOUND THEN
            verdict := 'asked';
            RETURN;
        END IF;

        clock := clock_timestamp();
        SELECT l.* INTO shown FROM "dlock"."lock" AS l WHERE l.prefix = p_prefix AND l.name = p_name;
        verdict := CASE
            WHEN NOT FOUND THEN 'absent'
            WHEN NOT "dlock"."lock_sound_1"(shown) THEN 'unsound'
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
