#!/usr/bin/env bash
# Installs the programs of coding agents that tests run into .tools/engines, in the versions
# of tools/engines/package-lock.json: Claude Code, and with the argument "all" Codex and
# OpenCode too.
set -euo pipefail
cd "$(dirname "$0")/.."
into=.tools/engines
programs=(claude)
omit=--omit=dev
if [ "${1:-}" = all ]; then
    programs+=(codex opencode)
    omit=--include=dev
fi
command -v npm >/dev/null || { echo "The tests of engines need npm, to install ${programs[*]}; please install it." >&2; exit 1; }

complete() {
    cmp -s tools/engines/package-lock.json "$into/package-lock.json" || return 1
    local program
    for program in "${programs[@]}"; do
        [ -f "$into/installed-$program" ] || return 1
    done
}
complete && exit 0

echo "installing ${programs[*]}"
mkdir -p "$into"
rm -f "$into"/installed-*
cp tools/engines/package.json tools/engines/package-lock.json "$into"
# Their own scripts put the program of this platform into its place. npm ci would want
# those of all platforms, which not every registry has.
if ! (cd "$into" && npm install "$omit" --no-save --ignore-scripts=false --no-audit --no-fund --loglevel=error >npm.log 2>&1); then
    tail -n 5 "$into/npm.log" >&2
    echo "The tests of engines need ${programs[*]}, and npm could not install them; try again with a network." >&2
    exit 1
fi
for program in "${programs[@]}"; do
    "$into/node_modules/.bin/$program" --version >/dev/null
    touch "$into/installed-$program"
done
