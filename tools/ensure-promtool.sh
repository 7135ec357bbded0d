#!/usr/bin/env bash
# Makes sure that Prometheus and promtool are there, for the tests of the alerts: those on the path, or
# Debian's, unpacked into .tools/prometheus without installing or starting them. Elsewhere one sentence
# says what is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

has() { command -v "$1" >/dev/null || [ -x ".tools/prometheus/usr/bin/$1" ]; }

if ! { has promtool && has prometheus; } && command -v apt-get >/dev/null && command -v dpkg >/dev/null; then
    echo "fetching prometheus"
    rm -rf .tools/prometheus.new
    mkdir -p .tools/prometheus.new
    (
        cd .tools/prometheus.new
        apt-get download -qq prometheus 2>/dev/null || { apt-get update -qq && apt-get download -qq prometheus; }
        dpkg -x prometheus_*.deb .
        rm prometheus_*.deb
    ) && rm -rf .tools/prometheus && mv .tools/prometheus.new .tools/prometheus || rm -rf .tools/prometheus.new
fi
if ! { has promtool && has prometheus; }; then
    echo "The tests of the alerts need promtool and prometheus, please install them (on Debian: prometheus)." >&2
    exit 1
fi
echo "Prometheus and promtool are there"
