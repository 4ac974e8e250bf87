# Starts PostgreSQL in the folder it is called in, and makes its files at the first start.
#
# Parameters: the folder of its programs, the port, the port of the server to copy and follow or
#             nothing, then more of the server's command line.
programs=$1 port=$2 primary=$3
shift 3

# Whether a process of a server that was killed is still here. It ends as soon as it notices, and
# no new server starts beside it.
lingering() {
    for process in /proc/[0-9]*; do
        if [ "$(readlink "$process/cwd")" = "$PWD" ]; then
            case $(readlink "$process/exe") in */postgres) return 0 ;; esac
        fi
    done
    return 1
}

if [ -e PG_VERSION ]; then
    while lingering; do sleep 0.02; done
elif [ -n "$primary" ]; then
    "$programs/pg_basebackup" -h 127.0.0.1 -p "$primary" -U postgres -D . -R -X stream -c fast --no-sync
else
    "$programs/initdb" -D . -U postgres -A trust -E UTF8 --locale=C --no-sync >/dev/null
    sed -i '1i host all guarded all scram-sha-256' pg_hba.conf
fi
exec "$programs/postgres" -D . -p "$port" -c listen_addresses=127.0.0.1 -c unix_socket_directories= \
    -c fsync=off "$@"
