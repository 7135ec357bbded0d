#!/usr/bin/env bash
# Looks in a database of vulnerabilities for what our code calls. GOVULNDB (or
# VULNDB) names another one than the public one: an address, or a directory with
# a copy, as in GOVULNDB=/srv/vulndb.
set -euo pipefail
cd "$(dirname "$0")/.."
database=${GOVULNDB:-${VULNDB:-https://vuln.go.dev}}
case $database in
/*) database=file://$database ;;
esac

case $database in
file://*)
    index=${database#file://}/index/db.json
    if [ ! -r "$index" ]; then
        echo "There is no database of vulnerabilities in ${database#file://}: index/db.json is missing." >&2
        exit 1
    fi
    modified=$(sed -n 's/.*"modified": *"\([^"]*\)".*/\1/p' "$index")
    ;;
*)
    if ! modified=$(curl --fail --silent --show-error --max-time 20 "$database/index/db.json" | sed -n 's/.*"modified": *"\([^"]*\)".*/\1/p'); then
        echo "The database of vulnerabilities at $database cannot be reached, so nothing was checked." >&2
        echo "Name a copy of it: GOVULNDB=/path/to/copy make vuln" >&2
        exit 1
    fi
    ;;
esac
echo "database $database of ${modified:-an unknown date}"
exec .tools/bin/govulncheck -db "$database" ./...
