# Runs a server for a test process and outlives both.
#
# Parameters: the folder, the signal that ends the server, how many twentieths of a second it gets
#             to end, then the server's command line.
# Input:      a pipe that the test process holds open. A line is a signal's name, or `start`. Its end
#             means that the test process is gone or is done: end the server, remove the folder.
# Environment: DLOCK_LEFT_BEHIND, the files that the server leaves outside its folder: paths without spaces,
#              separated by spaces.
# Results:    control/pid while the server runs, control/exited (its status) once it has ended,
#             control/log with the server's output.
root=$1 signal=$2 patience=$3
shift 3
control=$root/control

start() {
    rm -f "$control/exited" "$control/pid"
    # The inner shell is the server's parent, so that its pid stays ours until `exited` is written.
    (
        cd "$root/data" || exit
        "$@" </dev/null >>"$control/log" 2>&1 &
        echo "$!" >"$control/pid.new"
        mv "$control/pid.new" "$control/pid"
        wait "$!"
        echo "$?" >"$control/exited.new"
        mv "$control/exited.new" "$control/exited"
    ) </dev/null &
    while [ ! -e "$control/pid" ]; do sleep 0.01; done
}

tell() { [ -e "$control/exited" ] || kill -s "$1" "$(cat "$control/pid")" 2>/dev/null; }

start "$@"
while read -r command; do
    case $command in
        start) start "$@" ;;
        *) tell "$command" ;;
    esac
done

# A stopped server reacts only to CONT and KILL.
tell CONT
tell "$signal"
while [ ! -e "$control/exited" ] && [ "$patience" -gt 0 ]; do
    sleep 0.05
    patience=$((patience - 1))
done
tell KILL
wait
cd /
# Unquoted, since it may be several paths.
rm -rf "$root" $DLOCK_LEFT_BEHIND
# Everything that the server left in our process group, and this shell.
kill -s KILL 0
