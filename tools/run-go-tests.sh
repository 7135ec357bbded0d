#!/usr/bin/env bash
# Runs go test with the arguments. Where it fails, the output ends with what failed
# and the first lines of each message.
set -euo pipefail
cd "$(dirname "$0")/.."

output=$(mktemp)
trap 'rm -f "$output"' EXIT
# The step vet has looked already.
if go test -vet=off "$@" 2>&1 | tee "$output"; then
    exit 0
fi
printf '\n== what failed\n'
awk -v most=8 '
    /^ *--- FAIL:/ || /^(FAIL\t|panic:|# |WARNING: DATA RACE)/ { print substr($0, 1, 300); left = most; next }
    /^(ok|FAIL|PASS|===|---|\?)/ { left = 0 }
    left > 0 { print substr($0, 1, 300); left-- }
' "$output"
exit 1
