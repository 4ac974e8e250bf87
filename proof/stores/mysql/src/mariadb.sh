# Starts MariaDB in the current folder, and creates its files at the first start.
#
# Parameters: the port, then more of the server's command line.
port=$1
shift
PATH=$PATH:/usr/sbin
user=
[ "$(id -u)" -ne 0 ] || user=--user=root
small="--innodb-buffer-pool-size=16M --innodb-log-file-size=16M --skip-name-resolve --tmpdir=$PWD"

command -v mariadbd >/dev/null || {
    echo "MariaDB's server is not installed (on Debian: apt-get install mariadb-server-core mariadb-client-core)" >&2
    exit 1
}
if [ ! -e installed ]; then
    # shellcheck disable=SC2086 # many words
    mariadb-install-db --no-defaults --datadir="$PWD" --auth-root-authentication-method=normal --skip-test-db $user $small
    touch installed
fi
# What a killed process loses is the same whether or not commits are flushed to the disk; a machine's crash would lose
# more.
# shellcheck disable=SC2086
exec mariadbd --no-defaults --datadir="$PWD" --port="$port" --bind-address=127.0.0.1 --socket=socket --pid-file=pid \
    --max-connections=1000 --innodb-flush-log-at-trx-commit=2 $user $small "$@"
