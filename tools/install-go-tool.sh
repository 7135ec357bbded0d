#!/usr/bin/env bash
# Builds MODULE@VERSION's program PATH into .tools/bin, unless that version is there.
set -euo pipefail
cd "$(dirname "$0")/.."
module=$1 version=$2 path=$3
bin=$PWD/.tools/bin
program=$bin/$(basename "$path")

if go version -m "$program" 2>/dev/null | awk -v m="$module" -v v="$version" \
    '$1 == "mod" && $2 == m && $3 == v { found = 1 } END { exit !found }'; then
    exit 0
fi
echo "building $module@$version (once; this may take minutes)"
GOBIN=$bin go install "$module/$path@$version"
