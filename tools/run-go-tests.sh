#!/usr/bin/env bash
# run-go-tests.sh NAME ARGUMENTS: go test with the arguments. What failed comes last in the
# output; each test's time stays in .tools/test-times/NAME.json, for make test-times.
set -euo pipefail
cd "$(dirname "$0")/.."
name=$1
shift
mkdir -p .tools/test-times
# The linter has vetted already.
exec .tools/bin/gotestsum --format pkgname --format-hide-empty-pkg --hide-summary=skipped \
    --jsonfile ".tools/test-times/$name.json" -- -vet=off "$@"
