#!/usr/bin/env bash
# Starts a server of its own in .demo and shows a fleet at work on it, until it is
# interrupted. The demo goes on where it was; `rm -r .demo` begins it anew.
#
#   FLEETBOARD_LISTEN   default 127.0.0.1:8090
set -euo pipefail
cd "$(dirname "$0")/.."
export FLEETBOARD_LISTEN=${FLEETBOARD_LISTEN:-127.0.0.1:8090} FLEETBOARD_DATA_DIR=$PWD/.demo/data
export FLEETBOARD_ADMIN_EMAIL=demo@fleetboard.invalid FLEETBOARD_ADMIN_PASSWORD='quiet demo room'
url=http://$FLEETBOARD_LISTEN
mkdir -p .demo
(trap "" INT; exec bin/fleetboard) >.demo/server.log 2>&1 & # an interrupt ends the workers first
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server"' EXIT
for _ in $(seq 300); do
	if curl -fs "$url/readyz" >/dev/null 2>&1; then break; fi
	kill -0 "$server" 2>/dev/null || { cat .demo/server.log >&2; exit 1; }
	sleep 0.1
done
cat <<TEXT
The board is at $url
  log in as $FLEETBOARD_ADMIN_EMAIL
  with      $FLEETBOARD_ADMIN_PASSWORD
The server's log is in .demo/server.log. Interrupt to end the demo.
TEXT
bin/fleet demo --server "$url" --dir "$PWD/.demo" "$@"
