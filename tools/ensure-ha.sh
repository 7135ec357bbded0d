#!/usr/bin/env bash
# Makes sure that what make test-ha runs is there: PostgreSQL, PgBouncer, Patroni, etcd and
# HAProxy. As root on Debian what is missing is installed, without starting it; elsewhere one
# sentence says what is missing.
set -euo pipefail

has() { command -v "$1" >/dev/null || [ -x "/usr/sbin/$1" ]; }

missing() {
    has postgres || compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || echo postgresql
    has pgbouncer || echo pgbouncer
    has patroni || echo patroni
    has etcd || echo etcd-server
    has haproxy || echo haproxy
    has setpriv || echo util-linux
}

packages=$(missing | xargs)
if [ -n "$packages" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing: $packages"
    apt-get update -qq
    # shellcheck disable=SC2086 # a list of words
    RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages
    packages=$(missing | xargs)
fi
if [ -n "$packages" ]; then
    echo "make test-ha needs these packages, please install them (names as on Debian): $packages" >&2
    exit 1
fi
echo "PostgreSQL, PgBouncer, Patroni, etcd and HAProxy are there"
