#!/usr/bin/env bash
# Reads the files of deploy as strictly as the programs that they are for.
set -euo pipefail
cd "$(dirname "$0")/.."
if command -v systemd-analyze >/dev/null; then
    unit=$(mktemp -d)
    trap 'rm -rf "$unit"' EXIT
    sed 's,/usr/local/bin/fleetboard,/bin/true,' deploy/systemd/fleetboard.service >"$unit/fleetboard.service"
    systemd-analyze verify "$unit/fleetboard.service"
else
    echo "no systemd here: the unit was not read"
fi
cd deploy/check
go test ./...
