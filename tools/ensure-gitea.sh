#!/usr/bin/env bash
# Builds the forge that tests merge at into .tools/gitea, unless that version is there. It
# comes as a Go module; its replacements hold only where it is the main one, so it is built
# in a copy.
set -euo pipefail
cd "$(dirname "$0")/.."
version=v1.26.0
into=.tools/gitea
[ "$(cat "$into/version" 2>/dev/null)" = "$version" ] && exit 0

command -v gcc >/dev/null || { echo "The tests at a real Gitea need gcc, for its database; please install it." >&2; exit 1; }
echo "building Gitea $version (once; this takes minutes)"
source=$(go mod download -json "code.gitea.io/gitea@$version" | jq -er .Dir) || {
    echo "The tests at a real Gitea need its module code.gitea.io/gitea@$version; try again with a network." >&2
    exit 1
}
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r "$source/." "$copy"
chmod -R u+w "$copy"
rm -rf "$into"
mkdir -p "$into"
program=$PWD/$into/gitea
(cd "$copy" && CGO_ENABLED=1 GOFLAGS=-mod=mod go build -trimpath -buildvcs=false -ldflags '-s -w' \
    -tags sqlite,sqlite_unlock_notify -o "$program" .)
cp -r "$copy/templates" "$copy/options" "$into"
"$program" --version >/dev/null
echo "$version" >"$into/version"
