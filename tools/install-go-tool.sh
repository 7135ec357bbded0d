#!/usr/bin/env bash
# install-go-tool.sh MODULE VERSION [PATH]: builds the program at PATH of MODULE@VERSION into
# .tools/bin, unless that version is there.
set -euo pipefail
cd "$(dirname "$0")/.."
module=$1 version=$2 package=$1${3:+/$3}
bin=$PWD/.tools/bin
program=$bin/$(basename "$package")

if go version -m "$program" 2>/dev/null | awk -v m="$module" -v v="$version" \
    '$1 == "mod" && $2 == m && $3 == v { found = 1 } END { exit !found }'; then
    exit 0
fi
echo "building $module@$version (once; this may take minutes)"
GOBIN=$bin go install "$package@$version"
