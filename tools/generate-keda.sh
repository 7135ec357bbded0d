#!/usr/bin/env bash
# Generates the server and the client of KEDA's external scaler from its proto, with tools in Go.
set -euo pipefail
cd "$(dirname "$0")/../handlers/keda/externalscaler"
PATH=$(cd ../../../.tools/bin && pwd):$PATH
goprotoc -I . --go_out=. --go-grpc_out=. externalscaler.proto
