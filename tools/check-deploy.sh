#!/usr/bin/env bash
# Reads the files of deploy as strictly as the programs that they are for.
set -euo pipefail
cd "$(dirname "$0")/.."
if command -v systemd-analyze >/dev/null; then
    unit=$(mktemp -d)
    trap 'rm -rf "$unit"' EXIT
    for file in deploy/systemd/*; do
        sed 's,/usr/local/bin/fleetboard,/bin/true,' "$file" >"$unit/${file##*/}"
    done
    systemd-analyze verify "$unit"/*
else
    echo "no systemd here: the units were not read"
fi
cd deploy/check
go test ./...
