#!/usr/bin/env bash
# Prints what the last run of each step of make test cost: its packages, the dearest first, and
# its ten slowest tests. A package that go test knew already is left out.
set -euo pipefail
cd "$(dirname "$0")/../.tools/test-times"

short='def short: sub("^github.com/fleetboard/fleetboard/"; ""); def ended: .Action == "pass" or .Action == "fail";'
rows() { jq -r "$short $1" ./*.json | sort -rn; }
echo "seconds  package"
rows 'select(.Test == null and ended and .Elapsed >= 1) |
    "\(.Elapsed * 10 | round / 10)\t \(.Package | short) (\(input_filename | ltrimstr("./") | rtrimstr(".json")))"'
printf '\nseconds  test\n'
rows 'select(.Test != null and ended and (.Test | contains("/") | not)) |
    "\(.Elapsed * 10 | round / 10)\t \(.Package | short).\(.Test)"' | awk 'NR <= 10'
