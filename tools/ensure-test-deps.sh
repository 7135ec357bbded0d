#!/usr/bin/env bash
# Makes sure that what the tests run is there: PostgreSQL, Chromium, Node, jq,
# curl, git, and Playwright's driver. As root on Debian what is missing is
# installed; elsewhere one sentence says what is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
playwright=1.52.0

has_postgres() { command -v postgres >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null; }
has_chromium() { command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null; }

missing() {
    has_postgres || echo postgresql
    has_chromium || echo chromium
    command -v node >/dev/null || echo nodejs
    local program
    for program in npm jq curl git; do
        command -v "$program" >/dev/null || echo "$program"
    done
}

packages=$(missing | xargs)
if [ -n "$packages" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing: $packages"
    apt-get update -qq
    # shellcheck disable=SC2086 # a list of words
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages
    packages=$(missing | xargs)
fi
if [ -n "$packages" ]; then
    echo "The tests need these packages, please install them (names as on Debian): $packages" >&2
    exit 1
fi

driver=.tools/playwright/package
if ! grep -qs "\"version\": \"$playwright\"" "$driver/package.json"; then
    echo "fetching playwright-core $playwright"
    rm -rf .tools/playwright .tools/playwright.new
    mkdir -p .tools/playwright.new
    if ! archive=$(cd .tools/playwright.new && npm pack --silent "playwright-core@$playwright"); then
        echo "The browser tests need playwright-core $playwright, and npm could not fetch it; try again with a network." >&2
        exit 1
    fi
    tar -xzf ".tools/playwright.new/$archive" -C .tools/playwright.new
    rm ".tools/playwright.new/$archive"
    mv .tools/playwright.new .tools/playwright
fi
echo "PostgreSQL, Chromium, Node, jq, curl, git and Playwright $playwright are there"
