#!/usr/bin/env bash
# Generates everything again and fails where a file was not what its source makes.
set -euo pipefail
cd "$(dirname "$0")/.."

sums() {
    find api db/dbsqlc handlers views static/css docs/cli.md -type f \
        \( -path 'db/dbsqlc/*' -o -name '*_templ.go' -o -name '*.gen.go' -o -name '*.pb.go' -o -path static/css/app.css -o -path docs/cli.md \) \
        -exec sha256sum {} + | sort -k 2
}

before=$(sums)
make generate
if ! changed=$(diff <(echo "$before") <(sums)); then
    echo "these generated files were not up to date; they are now, look at them and commit them:"
    awk '/^[<>]/ { print "  " $3 }' <<<"$changed" | sort -u
    exit 1
fi
echo "all generated files are what their sources make"
