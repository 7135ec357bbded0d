#!/usr/bin/env bash
# Ends the PostgreSQL server that the tests share (see db/dbtest).
set -euo pipefail

case $(uname) in
Darwin) cache=$HOME/Library/Caches ;;
*) cache=${XDG_CACHE_HOME:-$HOME/.cache} ;;
esac
dir=$cache/fleetboard-test
place=$(cat "$dir/postgres.location" 2>/dev/null || echo "$dir/postgres")
pid=$(head -n 1 "$place/data/postmaster.pid" 2>/dev/null || true)
# A number alone may be another program by now: a server names its cluster.
if [ -n "$pid" ] && ps -o args= -p "$pid" 2>/dev/null | grep -qF "$place/data"; then
    kill -INT "$pid"
    echo "stopped the test server, process $pid"
else
    echo "no test server runs"
fi
