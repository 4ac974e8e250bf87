# Starts PgBouncer in transaction mode in the current folder.
#
# Parameters: the program, the port of the server, the most connections to it, the port to listen on.
echo '"postgres" ""' >users
cat >pgbouncer.ini <<END
[databases]
* = host=127.0.0.1 port=$2
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $4
unix_socket_dir =
auth_type = trust
auth_file = users
pool_mode = transaction
max_client_conn = 200
default_pool_size = $3
max_db_connections = $3
END
exec "$1" pgbouncer.ini
