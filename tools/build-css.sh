#!/usr/bin/env bash
# Builds static/css/app.css. Only this needs npm; the built file is committed.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v npm >/dev/null; then
    echo "npm is not installed: static/css/app.css stays as it is"
    exit 0
fi
# npm writes this file last, so a newer one means a whole installation.
installed=node_modules/.package-lock.json
if [ ! -e "$installed" ] || [ package-lock.json -nt "$installed" ]; then
    # Not npm ci: it insists on the binaries of every platform, and not every
    # registry has them all. What the lock names is checked by its hash all the same.
    npm install --no-save --ignore-scripts --no-audit --no-fund
    touch "$installed"
fi
npm run --silent css
# Two kinds of daisyUI's rules, that nothing here needs, would have each word or class that changes
# calculate the styles of all that is around it: placeholders of disabled fields, and buttons in prose.
sed -E -i 's/[^{}]*(:has\([^{}]*::placeholder|not-prose)[^{}]*\{[^{}]*\}//g' static/css/app.css
