# Everything goes through here; `make` alone lists what there is.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
# What was built in one clone serves the next one, wherever it is.
export GOFLAGS := $(filter-out -trimpath,$(GOFLAGS)) -trimpath

# Tools, pinned. They are built once into .tools/bin.
export TEMPL_VERSION    := v0.3.1020
export SQLC_VERSION     := v1.31.1
export OAPI_VERSION     := v2.8.2
export GOPROTOC_VERSION := v0.5.0
export PROTOC_GO_VERSION := v1.36.12
export PROTOC_GRPC_VERSION := v1.6.2
export GOLANGCI_VERSION := v2.15.0
export GOVULN_VERSION   := v1.8.0
export GOTESTSUM_VERSION := v1.13.0
export CYCLONEDX_VERSION := v1.10.0
BIN := $(CURDIR)/.tools/bin

# Where the code is; folders that a clone does not have are left out.
CODE := $(wildcard api bench cmd db e2e examples handlers internal static views)
# The race detector makes a test several times slower. It guards what is about goroutines that
# meet in memory: the packages RACED, and of the large ones in RACED_IN_PART the tests whose
# names say so. make soak races everything. The detector needs a C compiler.
RACE := $(if $(shell command -v "$$(go env CC)" 2>/dev/null),-race)
RACED := $(addprefix ./,db/vault handlers/api/stream handlers/edge \
	$(addprefix internal/,accounts/identities accounts/login accounts/members accounts/sessions accounts/setup \
	accounts/twofactor accounts/workspaces backup batch bus client/demo client/engines/process client/mcptools client/sim \
	client/worker client/worker/outbox client/worker/probe coordinator dispatch/announce dispatch/claim dispatch/lease dispatch/report \
	eventlog eventlog/seal jobs/secrets leadership notifier runloop signal tenancy/quota transport waitlist))
RACED_IN_PART := ./db ./handlers/live ./internal/blobs ./internal/dispatch ./internal/jobs ./internal/screens
RACED_NAMES := Together|AtOnce|AtTheSame|Beside|Race|Once|Twice|Meanwhile|Meet|Embedded|Supervis|Wakes|Gathered|Cyc
# The browser tests and those of processes are steps of their own.
PLAIN = $(filter-out ./e2e/% $(RACED) $(RACED_IN_PART),$(shell go list -f '{{.Dir}}' ./... | sed 's,^$(CURDIR),.,' | grep -v '^./e2e$$'))

step = @printf '\n== %s\n' '$(1)'

## run: start the server on http://127.0.0.1:8080 (needs only Go and PostgreSQL's programs)
.PHONY: run
run:
	@go build -o bin/fleetboard ./cmd/web
	@exec bin/fleetboard

## fleet: build the fleet command, as bin/fleet
.PHONY: fleet
fleet:
	@go build -ldflags "-s -w" -o bin/fleet ./cmd/fleet
	@echo "bin/fleet has $$(($$(wc -c <bin/fleet) / 1000)) KB"

## demo: a server of its own with three workers on small repositories, and a stream of jobs; goes on where it was
.PHONY: demo
demo: fleet
	@go build -o bin/fleetboard ./cmd/web
	@exec tools/demo.sh

## test: every check and every test, as the build server does
.PHONY: test
test: deps tools check-fmt check-generated
	@tools/run-steps.sh "test-go lint test-chaos" "test-processes test-browser"
	$(call step,all checks passed)

## test-times: what the last make test cost, by package, and its ten slowest tests
.PHONY: test-times
test-times:
	@tools/test-times.sh

## test-agents: the tests with the real Codex and OpenCode (1 GB from npm)
.PHONY: test-agents
test-agents: $(BIN)/gotestsum
	$(call step,Codex and OpenCode)
	@tools/ensure-engines.sh all
	@tools/run-go-tests.sh agents -count=1 -timeout 10m -tags agents -run 'TestCodex|TestOpenCode' ./internal/client/engines ./e2e/factory

## test-gitea: the test of merging at a real Gitea, which is built from its source first (minutes)
.PHONY: test-gitea
test-gitea: $(BIN)/gotestsum
	$(call step,Gitea)
	@tools/ensure-gitea.sh
	@tools/run-go-tests.sh gitea -count=1 -timeout 10m -tags agents -run TestARealGitea ./e2e/factory

## test-ha: three servers, HAProxy, Patroni and etcd, with something killed every 30 s for ten minutes (FLEETBOARD_HA_SECONDS, FLEETBOARD_HA_AGENTS, FLEETBOARD_HA_WORK, FLEETBOARD_HA_SEED)
.PHONY: test-ha
test-ha:
	$(call step,several servers)
	@tools/ensure-ha.sh
	@go test -count=1 -v -timeout 1h -run Whatever ./e2e/ha

# What is fuzzed: each package and target there is. One that fails leaves its input under testdata.
FUZZ = $(shell grep -roE --include='*_test.go' '^func Fuzz\w+' $(CODE) | sed -E 's,/[^/]+:func ,:,')

## soak: everything raced, twenty thousand random lives of jobs and ten thousand of money against their models (about a quarter of an hour each), a restore of 1 GB to a named second, and each fuzz target for FLEETBOARD_FUZZ_TIME (60s)
.PHONY: soak
soak:
	@FLEETBOARD_ISOLATION_CROSSINGS=10000 go test -race -count=1 -p 2 -timeout 1h ./db/... ./handlers/... ./internal/... ./views/...
	@FLEETBOARD_LIFE_SEQUENCES=$${FLEETBOARD_LIFE_SEQUENCES:-20000} go test -count=1 -v -timeout 2h -run 'TestWholeLives|TestMutantsAreFound' ./e2e/life
	@FLEETBOARD_LEDGER_LIVES=$${FLEETBOARD_LEDGER_LIVES:-10000} go test -count=1 -timeout 2h ./e2e/ledger
	@FLEETBOARD_RESTORE_MB=$${FLEETBOARD_RESTORE_MB:-1024} go test -count=1 -v -timeout 30m -run TestANamedSecondIsRestored ./cmd/web | grep -v level=
	@set -e; for target in $(FUZZ); do \
		go test -run '^$$' -fuzz "^$${target#*:}$$" -fuzztime "$${FLEETBOARD_FUZZ_TIME:-60s}" "./$${target%:*}"; done

## chaos: five minutes of kills, stops and crashes, of servers, of workers and of a NATS cluster, and ten upgrades beside the version before (FLEETBOARD_CHAOS_SECONDS, FLEETBOARD_CHAOS_SEED, FLEETBOARD_CHAOS_JOBS, FLEETBOARD_UPGRADE_ROUNDS, FLEETBOARD_UPGRADE_FROM, FLEETBOARD_WEBHOOK_KILLS)
.PHONY: chaos
chaos:
	@FLEETBOARD_CHAOS_SECONDS=$${FLEETBOARD_CHAOS_SECONDS:-300} FLEETBOARD_CHAOS_JOBS=$${FLEETBOARD_CHAOS_JOBS:-5000} \
		FLEETBOARD_WEBHOOK_KILLS=$${FLEETBOARD_WEBHOOK_KILLS:-50} \
		go test -count=1 -v -timeout 40m -tags upgrade ./e2e/chaos
	@FLEETBOARD_CHAOS_SECONDS=$${FLEETBOARD_CHAOS_SECONDS:-300} go test -count=1 -v -timeout 30m -run ThirtyJobs ./e2e/factory

## generate: bring all generated files up to date
.PHONY: generate
generate: generate-go generate-css

## lint: golangci-lint, with the floors of the house
.PHONY: lint
lint: $(BIN)/golangci-lint
	$(call step,lint)
	@$(BIN)/golangci-lint run --allow-parallel-runners

## vuln: known vulnerabilities in what our code calls (GOVULNDB=DIR names a copy of the database)
.PHONY: vuln
vuln: $(BIN)/govulncheck
	@tools/check-vulnerabilities.sh

## fmt: format Go and templ files
.PHONY: fmt
fmt: $(BIN)/templ
	@gofmt -s -w $(CODE)
	@$(BIN)/templ fmt -log-level=error views

## bench: measure this machine, about fifteen minutes (LINES="claims flat" measures some lines)
.PHONY: bench
bench:
	@go run ./bench $(LINES)

## bench-long: the same with millions of jobs and a snapshot of five minutes, most of an hour
.PHONY: bench-long
bench-long:
	@FLEETBOARD_BENCH_LONG=1 go run ./bench $(LINES)

## bench-browser: how soon the board is painted over a slow line, and what 48 changes a second cost a browser
.PHONY: bench-browser
bench-browser:
	@go test -tags browserbench -count=1 -v -run 'TestMeasureThePaintOfTheBoard|TestPaceOfABoardThatChanges' ./e2e | grep -v level=

## bench-go: the Go benchmarks (COUNT=10 for benchstat)
.PHONY: bench-go
bench-go:
	@go test -run=NONE -bench=. -benchmem -count=$(or $(COUNT),1) ./...

## release: the programs for Linux and macOS, their parts lists and check sums, in dist (a tag such as v1.2.0 names the version)
.PHONY: release
release: $(BIN)/cyclonedx-gomod
	@tools/release.sh

## check-deploy: read the files of deploy as strictly as the programs that they are for
.PHONY: check-deploy
check-deploy:
	@tools/check-deploy.sh

## stop-test-db: end the PostgreSQL server that tests share and leave running
.PHONY: stop-test-db
stop-test-db:
	@tools/stop-test-db.sh

## clean: remove what was built, the tools included
.PHONY: clean
clean:
	@rm -rf bin dist .tools node_modules

.PHONY: help
help:
	@awk -F': ' '/^## /{printf "  make %-14s %s\n", substr($$1, 4), substr($$0, length($$1) + 3)}' Makefile

# The steps of test.

.PHONY: deps
deps:
	$(call step,what the tests need)
	@tools/ensure-test-deps.sh
	@tools/ensure-engines.sh
	@tools/ensure-inspector.sh
	@tools/ensure-promtool.sh

.PHONY: check-fmt
check-fmt: $(BIN)/templ
	$(call step,format)
	@tools/check-format.sh $(CODE)

.PHONY: check-generated
check-generated: tools
	$(call step,generated files)
	@tools/check-generated.sh

# Two packages at a time: the other lane needs the processors too. A set that fails keeps none of
# the others from being run.
.PHONY: test-go
test-go: $(BIN)/gotestsum
	@[ -n "$(RACE)" ] || echo "no C compiler here: the race detector is off"
	@failed=0; \
	tools/run-go-tests.sh in-part -p 2 -timeout 20m -skip '$(RACED_NAMES)' $(RACED_IN_PART) || failed=1; \
	tools/run-go-tests.sh raced-in-part $(RACE) -p 2 -timeout 20m -run '$(RACED_NAMES)' $(RACED_IN_PART) || failed=1; \
	tools/run-go-tests.sh raced $(RACE) -p 2 -timeout 20m $(RACED) || failed=1; \
	tools/run-go-tests.sh plain -p 2 -timeout 20m $(PLAIN) || failed=1; \
	exit $$failed
	@go test -run=NONE -bench=. -benchtime=1x ./internal/dispatch >/dev/null

.PHONY: test-browser
test-browser: $(BIN)/gotestsum
	@tools/run-go-tests.sh browser -count=1 -parallel 3 -timeout 30m ./e2e

# Workers as processes, repositories, and whole lives of jobs and of money.
.PHONY: test-processes
test-processes: $(BIN)/gotestsum
	@tools/run-go-tests.sh processes -count=1 -p 2 -parallel 3 -timeout 15m ./e2e/factory ./e2e/newcomer ./e2e/repositories ./e2e/life ./e2e/ledger ./e2e/monitoring

.PHONY: test-chaos
test-chaos: $(BIN)/gotestsum
	@tools/run-go-tests.sh chaos -count=1 -timeout 10m ./e2e/chaos

# Generators.

.PHONY: generate-go
generate-go: tools
	@$(BIN)/sqlc generate
	@$(BIN)/oapi-codegen -config api/oapi-codegen.yaml api/openapi.yaml
	@$(BIN)/oapi-codegen -config handlers/api/oapi-codegen.yaml api/openapi.yaml
	@go run ./api/internal/generate
	@tools/generate-keda.sh
	@$(BIN)/templ generate -log-level=error -path views
	@go run ./internal/client/cli/clidoc

.PHONY: generate-css
generate-css:
	@tools/build-css.sh

# Tools. A version that is there already is kept, also one that was copied there.

.PHONY: tools
tools: $(BIN)/templ $(BIN)/sqlc $(BIN)/oapi-codegen $(BIN)/goprotoc $(BIN)/protoc-gen-go $(BIN)/protoc-gen-go-grpc $(BIN)/golangci-lint $(BIN)/gotestsum

.PHONY: $(BIN)/templ $(BIN)/sqlc $(BIN)/oapi-codegen $(BIN)/goprotoc $(BIN)/protoc-gen-go $(BIN)/protoc-gen-go-grpc $(BIN)/golangci-lint $(BIN)/govulncheck $(BIN)/gotestsum $(BIN)/cyclonedx-gomod
$(BIN)/templ:
	@tools/install-go-tool.sh github.com/a-h/templ $(TEMPL_VERSION) cmd/templ
$(BIN)/sqlc:
	@tools/install-go-tool.sh github.com/sqlc-dev/sqlc $(SQLC_VERSION) cmd/sqlc
$(BIN)/goprotoc:
	@tools/install-go-tool.sh github.com/jhump/goprotoc $(GOPROTOC_VERSION) cmd/goprotoc
$(BIN)/protoc-gen-go:
	@tools/install-go-tool.sh google.golang.org/protobuf $(PROTOC_GO_VERSION) cmd/protoc-gen-go
$(BIN)/protoc-gen-go-grpc:
	@tools/install-go-tool.sh google.golang.org/grpc/cmd/protoc-gen-go-grpc $(PROTOC_GRPC_VERSION)
$(BIN)/oapi-codegen:
	@tools/install-go-tool.sh github.com/oapi-codegen/oapi-codegen/v2 $(OAPI_VERSION) cmd/oapi-codegen
$(BIN)/golangci-lint:
	@tools/install-go-tool.sh github.com/golangci/golangci-lint/v2 $(GOLANGCI_VERSION) cmd/golangci-lint
$(BIN)/govulncheck:
	@tools/install-go-tool.sh golang.org/x/vuln $(GOVULN_VERSION) cmd/govulncheck
$(BIN)/gotestsum:
	@tools/install-go-tool.sh gotest.tools/gotestsum $(GOTESTSUM_VERSION)
$(BIN)/cyclonedx-gomod:
	@tools/install-go-tool.sh github.com/CycloneDX/cyclonedx-gomod $(CYCLONEDX_VERSION) cmd/cyclonedx-gomod
