#!/usr/bin/env bash
# Fails where a Go or templ file is not formatted; changes nothing. Arguments: the
# folders with Go code.
set -euo pipefail
cd "$(dirname "$0")/.."

files=$(gofmt -s -l "$@")
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r views "$copy"
.tools/bin/templ fmt -log-level=error "$copy/views"
files+=$(diff -rq views "$copy/views" | awk '$1 == "Files" { print "\n" $2 }' || true)
if [ -n "$files" ]; then
    echo "not formatted (make fmt mends it):"
    echo "$files"
    exit 1
fi
