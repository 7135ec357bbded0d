#!/usr/bin/env bash
# Installs the inspector of the Model Context Protocol into .tools/inspector, in the version of
# tools/inspector/package-lock.json.
set -euo pipefail
cd "$(dirname "$0")/.."
into=.tools/inspector
cmp -s tools/inspector/package-lock.json "$into/package-lock.json" && [ -f "$into/installed" ] && exit 0
command -v npm >/dev/null || { echo "The test of the inspector needs npm; please install it." >&2; exit 1; }
echo "installing the inspector"
mkdir -p "$into"
rm -f "$into/installed"
cp tools/inspector/package.json tools/inspector/package-lock.json "$into"
if ! (cd "$into" && npm install --no-save --ignore-scripts --no-audit --no-fund --loglevel=error >npm.log 2>&1); then
    tail -n 5 "$into/npm.log" >&2
    echo "The test of the Model Context Protocol needs its inspector, and npm could not install it; try again with a network." >&2
    exit 1
fi
"$into/node_modules/.bin/mcp-inspector" --cli --version >/dev/null
touch "$into/installed"
