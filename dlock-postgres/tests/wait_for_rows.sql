-- From now on the functions of the schema {schema} wait for a row as long as it is locked, and not only for a moment.
DO $$ DECLARE f regprocedure; BEGIN
    FOR f IN SELECT oid FROM pg_proc WHERE pronamespace = '"{schema}"'::regnamespace
    LOOP
        EXECUTE regexp_replace(pg_get_functiondef(f), '''(2s|40ms)''', '''0''', 'g');
    END LOOP;
END $$
