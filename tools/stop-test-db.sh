#!/usr/bin/env bash
# Ends the PostgreSQL server that the tests share (see db/dbtest), and empties the
# memory that it took.
set -euo pipefail

case $(uname) in
Darwin) cache=$HOME/Library/Caches ;;
*) cache=${XDG_CACHE_HOME:-$HOME/.cache} ;;
esac
memory=/dev/shm/fleetboard-test-$(id -u)

found=no
for dir in "$memory" "$cache/fleetboard-test"; do
    place=$(cat "$dir/postgres.location" 2>/dev/null || echo "$dir/postgres")
    pid=$(head -n 1 "$place/data/postmaster.pid" 2>/dev/null || true)
    # A number alone may be another program by now: a server names its cluster.
    if [ -n "$pid" ] && ps -o args= -p "$pid" 2>/dev/null | grep -qF "$place/data"; then
        kill -INT "$pid"
        while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
        echo "stopped the test server, process $pid"
        found=yes
    fi
done
rm -rf "$memory"
[ "$found" = yes ] || echo "no test server runs"
