# Starts a Sentinel in the current folder.
#
# Parameters: the name of the watched primary, its port, the Sentinel's own port, then more lines of its
#             configuration.
name=$1 primary=$2 port=$3
shift 3
if [ ! -e sentinel.conf ]; then
    printf '%s\n' "bind 127.0.0.1" "port $port" "dir $PWD" "sentinel monitor $name 127.0.0.1 $primary 2" \
        "sentinel down-after-milliseconds $name 1000" "sentinel failover-timeout $name 10000" "$@" >sentinel.conf
fi
exec redis-server sentinel.conf --sentinel
