# Starts PostgreSQL in the current folder, and creates its files at the first start.
#
# Parameters: the folder of its programs, the port, the port of the server to copy and follow or
#             nothing, then more of the server's command line.
programs=$1 port=$2 primary=$3
shift 3

# Whether a process of a killed server still exists. It ends as soon as it notices, and no new server
# can start while it exists.
lingering() {
    for process in /proc/[0-9]*; do
        if [ "$(readlink "$process/cwd")" = "$PWD" ]; then
            case $(readlink "$process/exe") in */postgres) return 0 ;; esac
        fi
    done
    return 1
}

# Copies the running primary. Not with pg_basebackup: only some of the server's packages include it,
# and it cannot copy a server that is newer than itself.
copy() {
    psql -XqAt -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$primary" -U postgres -d postgres -o /dev/null <<'END'
SELECT current_setting('data_directory') AS folder, :SERVER_VERSION_NUM < 150000 AS old \gset
\setenv FOLDER :folder
\if :old
    SELECT pg_start_backup('standby', true, false);
    \! cp -a "$FOLDER/." .
    SELECT labelfile FROM pg_stop_backup(false, false) \g backup_label
\else
    SELECT pg_backup_start('standby', true);
    \! cp -a "$FOLDER/." .
    SELECT labelfile FROM pg_backup_stop(false) \g backup_label
\endif
END
    rm -rf postmaster.* pg_replslot/*
    echo "primary_conninfo = 'host=127.0.0.1 port=$primary user=postgres'" >>postgresql.auto.conf
    touch standby.signal
}

if [ -e PG_VERSION ]; then
    while lingering; do sleep 0.02; done
elif [ -n "$primary" ]; then
    copy
else
    "$programs/initdb" -D . -U postgres -A trust -E UTF8 --locale=C --no-sync >/dev/null
    sed -i '1i host all guarded all scram-sha-256' pg_hba.conf
fi
# Its shared memory is in files of its folder: anything elsewhere would remain when it is killed.
exec "$programs/postgres" -D . -p "$port" -c listen_addresses=127.0.0.1 -c unix_socket_directories= \
    -c dynamic_shared_memory_type=mmap -c fsync=off -c password_encryption=scram-sha-256 "$@"
