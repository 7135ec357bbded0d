#!/usr/bin/env bash
# Starts a server of its own in .demo and shows a fleet at work on it, until it is
# interrupted or terminated. The demo goes on where it was; `rm -r .demo` begins it anew.
#
#   FLEETBOARD_LISTEN   default 127.0.0.1:8090
set -euo pipefail
set -m # the server and the fleet get groups of their own: what ends them is the trap below
cd "$(dirname "$0")/.."
export FLEETBOARD_LISTEN=${FLEETBOARD_LISTEN:-127.0.0.1:8090} FLEETBOARD_DATA_DIR=$PWD/.demo/data
export FLEETBOARD_ADMIN_EMAIL=demo@fleetboard.invalid FLEETBOARD_ADMIN_PASSWORD='quiet demo room'
url=http://$FLEETBOARD_LISTEN server='' fleet=''
# finish ends the fleet before the server, so that the work is given back, and waits for both.
# Whoever does not want to wait interrupts again.
finish() {
	local pid
	trap 'for pid in $fleet $server; do kill -KILL -- "-$pid" 2>/dev/null; done' INT TERM HUP
	for pid in $fleet $server; do
		kill -TERM "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
}
trap finish EXIT
trap 'exit 0' INT TERM HUP
mkdir -p .demo
bin/fleetboard >.demo/server.log 2>&1 </dev/null &
server=$!
for _ in $(seq 600); do
	kill -0 "$server" 2>/dev/null || { cat .demo/server.log >&2; exit 1; }
	if curl -fs --max-time 2 -o /dev/null "$url/readyz" 2>/dev/null && grep -q '^Fleetboard is at' .demo/server.log; then break; fi
	sleep 0.1
done
cat <<TEXT
The board is at $url
  log in as $FLEETBOARD_ADMIN_EMAIL
  with      $FLEETBOARD_ADMIN_PASSWORD
The server's log is in .demo/server.log. Interrupt to end the demo; it goes on where it was the next time.
TEXT
bin/fleet demo --server "$url" --dir "$PWD/.demo" "$@" </dev/null &
fleet=$!
wait "$fleet"
