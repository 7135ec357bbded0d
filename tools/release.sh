#!/usr/bin/env bash
# Builds what people download into dist: an archive for each system with both programs, statically
# linked, their parts lists (CycloneDX), and the check sums of all. The same commit gives the same
# archives, wherever they are built.
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=0 GOFLAGS=-trimpath

if [ -n "$(git status --porcelain)" ]; then
    echo "There are changes that are not committed; a release is made of a commit." >&2
    exit 1
fi
rm -rf dist
mkdir dist
unpacked=$(mktemp -d)
trap 'rm -rf "$unpacked"' EXIT

# build PROGRAM FOLDER: the program at cmd/FOLDER for GOOS and GOARCH.
build() { go build -ldflags '-s -w' -o "$unpacked/$name/$1" "./cmd/$2"; }

version=
for system in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64; do
    export GOOS=${system%/*} GOARCH=${system#*/}
    name=$GOOS-$GOARCH
    mkdir "$unpacked/$name"
    build fleetboard web
    build fleet fleet
    version=${version:-$(go version -m "$unpacked/$name/fleetboard" | awk '$1 == "mod" { print $3 }')}
    cp README.md CHANGELOG.md docs/operating.md "$unpacked/$name"
    [ "$GOOS" != linux ] || cp deploy/systemd/fleetboard.service "$unpacked/$name"
    archive=fleetboard-$version-$name
    mv "$unpacked/$name" "$unpacked/$archive"
    tar -C "$unpacked" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$(git log -1 --format=%ct)" \
        -cf - "$archive" | gzip -n9 >"dist/$archive.tar.gz"
    for program in fleetboard fleet; do
        env -u GOOS -u GOARCH .tools/bin/cyclonedx-gomod bin -json -noserial -notimestamp -std \
            -output "dist/$program-$version-$name.cdx.json" "$unpacked/$archive/$program" 2>/dev/null
    done
done
(cd dist && sha256sum -- * >SHA256SUMS)
cat dist/SHA256SUMS
