#!/usr/bin/env bash
# Makes sure that what the tests run is there: PostgreSQL, PgBouncer, Chromium, Node,
# jq, curl, git, Git LFS, an SMTP server (aiosmtpd), Playwright's driver and axe. As root on Debian what is missing is
# installed; elsewhere one sentence says what is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
playwright=1.52.0
axe=4.14.1

has_postgres() { command -v postgres >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null; }
has_pgbouncer() { command -v pgbouncer >/dev/null || [ -x /usr/sbin/pgbouncer ]; }
has_smtp() { /usr/bin/python3 -c 'import aiosmtpd' 2>/dev/null || python3 -c 'import aiosmtpd' 2>/dev/null; }
has_chromium() { command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null; }

missing() {
    has_postgres || echo postgresql
    has_pgbouncer || echo pgbouncer
    has_chromium || echo chromium-headless-shell
    has_smtp || echo python3-aiosmtpd
    command -v node >/dev/null || echo nodejs
    local program
    for program in npm jq curl git git-lfs; do
        command -v "$program" >/dev/null || echo "$program"
    done
}

packages=$(missing | xargs)
if [ -n "$packages" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing: $packages"
    apt-get update -qq
    # shellcheck disable=SC2086 # a list of words
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages ||
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends ${packages/chromium-headless-shell/chromium}
    packages=$(missing | xargs)
fi
if [ -n "$packages" ]; then
    echo "The tests need these packages, please install them (names as on Debian): $packages" >&2
    exit 1
fi

# fetch PACKAGE VERSION DIR: unpacks a package of npm's into .tools/DIR/package.
fetch() {
    if grep -qs "\"version\": \"$2\"" ".tools/$3/package/package.json"; then
        return
    fi
    echo "fetching $1 $2"
    rm -rf ".tools/$3" ".tools/$3.new"
    mkdir -p ".tools/$3.new"
    local archive
    if ! archive=$(cd ".tools/$3.new" && npm pack --silent "$1@$2"); then
        echo "The browser tests need $1 $2, and npm could not fetch it; try again with a network." >&2
        exit 1
    fi
    tar -xzf ".tools/$3.new/$archive" -C ".tools/$3.new"
    rm ".tools/$3.new/$archive"
    mv ".tools/$3.new" ".tools/$3"
}
fetch playwright-core "$playwright" playwright
fetch axe-core "$axe" axe
echo "PostgreSQL, PgBouncer, Chromium, Node, jq, curl, git, Git LFS, aiosmtpd, Playwright $playwright and axe $axe are there"
