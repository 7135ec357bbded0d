#!/usr/bin/env bash
# Runs steps of make in lanes, one lane beside the other: each argument is one, the names of its
# steps. A step's output is printed whole when it ends, and how those ended that failed once
# more at the end.
set -uo pipefail
cd "$(dirname "$0")/.."
outputs=$(mktemp -d)
trap 'rm -rf "$outputs"' EXIT

step() {
    local began=$SECONDS output=$outputs/$1.out ended=""
    if ! make "$1" >"$output" 2>&1; then
        ended=", FAILED"
        mv "$output" "$outputs/$1.failed"
        output=$outputs/$1.failed
    fi
    flock "$outputs" bash -c 'printf "\n== %s (%d s%s)\n" "$1" "$2" "$3"; cat "$4"' _ "$1" "$((SECONDS - began))" "$ended" "$output"
}

for lane in "$@"; do
    for name in $lane; do
        step "$name"
    done &
done
wait

failed=$(cd "$outputs" && ls ./*.failed 2>/dev/null)
for output in $failed; do
    printf '\n== what failed in %s\n' "$(basename "$output" .failed)"
    # From where the tests' summary begins, else the last lines.
    sed -n '/^=== \(Failed\|Errors\)/,$p' "$outputs/$output" | grep . || tail -40 "$outputs/$output"
done
[ -z "$failed" ]
