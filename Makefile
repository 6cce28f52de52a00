# Everything that a developer or the CI runs. Each target installs what it needs; nothing here touches a node that runs already.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
GO ?= go
# whole-process tests start servers: they run apart from the rooms' own, and never from Go's cache of results, which
# knows nothing of the binary that they start
ROOMS = $(shell $(GO) list ./... | grep -v /tests)
WHOLE = ./tests/...
BIN := $(CURDIR)/bin
# a package's tests: staticcheck alone takes Go's ten minutes where nothing is built yet and two cores have other work
TEST := $(GO) test -timeout 20m
# a fuzz target's time, and the endings of a soak run
FUZZTIME ?= 20s
KILLS ?= 200
APPKILLS ?= 20
CUTS ?= 30
FLIPS ?= 1000
DEVICES ?= 60
# partitions of a cluster's network in a campaign, and the ledger in which campaigns add up
PARTITIONS ?= 100
LEDGER ?= $(BIN)/ledger.jsonl
# rounds and endings of a comparison that count, and a regular expression of its cases (PERFORMANCE.md names them)
PAIRS ?= 6
BENCHKILLS ?= 50
ONLY ?=
# seeds of a simulation: how many, and which one alone
SEEDS ?= 2000
FROM ?= 1
SEED ?=

.PHONY: bench-iouringgo bench-compare bench-peers help build run cluster test unit test-benchmarks test-iouringgo test-race test-invariants test-engines test-clients cluster-free fuzz soak soak-cluster soak-disk sim sim-mutants compat bench lint generate

help: ## what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "%-16s %s\n", $$1, $$2}'

build: ## the static binary, bin/ringmill
	CGO_ENABLED=0 $(GO) build -trimpath -o $(BIN)/ringmill ./tools/ringmill

run: build ## a node on 127.0.0.1:9092 with its data in ./data
	$(BIN)/ringmill serve

cluster: build ## three nodes of one cluster on 127.0.0.1, ports 9092, 9192 and 9292, until ^C
	tools/trycluster.sh $(BIN)/ringmill

test: lint unit test-benchmarks test-iouringgo test-race test-invariants test-clients test-engines ## every test: both engines, real clients, kill -9 and power cuts

lint: ## vet, staticcheck, gofmt, import arrows, forbidden words
	$(GO) vet ./...
	$(TEST) ./tools/lint/...

unit: ## each room's own tests
	$(TEST) $(ROOMS)

test-benchmarks: ## each micro benchmark once, so that make bench is not the first to find out
	$(TEST) -run '^$$' -bench . -benchtime 1x $(ROOMS)

# iouring-go's package reaches into syscall's internals, which has to be allowed since Go 1.23: no other build does
test-iouringgo: ## the limits beside iouring-go's own API, in a build of its own
	$(GO) vet -tags iouringgo ./bench/limits
	$(GO) test -tags iouringgo -ldflags=-checklinkname=0 ./bench/limits

# node carries the invariants here, so that one run pays for both
test-race: ## the rooms with threads under the race detector
	$(TEST) -race -tags invariants ./node/... ./iouring/...
	$(TEST) -race ./control/...

test-invariants: ## the costly checks: poisoned buffers, shuffled orders
	$(TEST) -tags invariants ./wire/... ./segment/... ./replicate/... ./control/...

test-clients: build ## real clients, agents and endings against a node on the engine that the machine offers
	RINGMILL_TEST_BINARY=$(BIN)/ringmill $(TEST) -count 1 -p 1 $(WHOLE)

# the binary carries the invariants here, so that the other engine's run pays for both
test-engines: ## the wire's answers and kill -9 on the epoll engine, with invariants on, and replicas with them
	CGO_ENABLED=0 $(GO) build -tags invariants -o $(BIN)/ringmill-invariants ./tools/ringmill
	RINGMILL_TEST_BINARY=$(BIN)/ringmill-invariants RINGMILL_TEST_ENGINE=epoll RINGMILL_TEST_KILLS=3 RINGMILL_TEST_CUTS=2 \
	  $(TEST) -count 1 -p 1 ./tests/protocol ./tests/crash ./tests/eos
	RINGMILL_TEST_BINARY=$(BIN)/ringmill-invariants $(TEST) -count 1 -run 'TestNothingAcknowledgedIsLost|TestFollowerOfAnOlderEpochIsKilled' ./tests/cluster

cluster-free: build ## what needs Go and nothing else: no packages, no root, no other server
	$(TEST) $(ROOMS)
	RINGMILL_TEST_BINARY=$(BIN)/ringmill RINGMILL_TEST_CUTS=0 $(TEST) -count 1 -p 1 ./tests/protocol ./tests/crash ./tests/eos

fuzz: ## every fuzz target for FUZZTIME (20s)
	for pkg in $(ROOMS); do \
	  for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "== $$pkg $$target"; $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg; \
	  done; \
	done

soak: build ## KILLS (200) kill -9 and CUTS (30) power cuts under load, APPKILLS (20) of node and application each
	RINGMILL_TEST_BINARY=$(BIN)/ringmill RINGMILL_TEST_KILLS=$(KILLS) RINGMILL_TEST_CUTS=$(CUTS) RINGMILL_TEST_KEEP=$${TMPDIR:-/tmp} \
	  $(GO) test -v -count 1 -p 1 -timeout 3h ./tests/crash ./tests/eos
	RINGMILL_TEST_BINARY=$(BIN)/ringmill RINGMILL_TEST_KILLS=$(APPKILLS) $(GO) test -v -count 1 -timeout 3h ./tests/apps

soak-cluster: build ## a cluster in network namespaces under load until KILLS kill -9 and PARTITIONS (100) have been; LEDGER adds campaigns up
	RINGMILL_TEST_BINARY=$(BIN)/ringmill RINGMILL_TEST_KILLS=$(KILLS) RINGMILL_TEST_PARTITIONS=$(PARTITIONS) RINGMILL_TEST_LEDGER=$(LEDGER) \
	  RINGMILL_TEST_KEEP=$${TMPDIR:-/tmp} $(GO) test -v -count 1 -timeout 6h -run TestCampaign ./tests/faults

soak-disk: build ## clusters under load until CUTS power cuts, FLIPS flipped bits and DEVICES faults of a device have been; LEDGER adds campaigns up
	RINGMILL_TEST_BINARY=$(BIN)/ringmill RINGMILL_TEST_CUTS=$(CUTS) RINGMILL_TEST_FLIPS=$(FLIPS) RINGMILL_TEST_DEVICES=$(DEVICES) RINGMILL_TEST_LEDGER=$(LEDGER) \
	  RINGMILL_TEST_KEEP=$${TMPDIR:-/tmp} nice -n 15 $(GO) test -v -count 1 -timeout 6h ./tests/diskfaults

sim: ## whole clusters on virtual time: SEEDS (2000) seeds from FROM on, or SEED alone with its trace
	$(GO) run ./tools/simulate $(if $(SEED),-seed $(SEED) -trace,-seeds $(SEEDS) -from $(FROM))

sim-mutants: ## whether the simulation finds planted faults: MUTANT picks by the beginning of the name
	$(GO) run ./tools/simulate -mutants -mutant "$(MUTANT)"

compat: ## public test suites on Apache Kafka and on ringmill, side by side; SUITES="kcat java-tools" picks
	tests/compat/run.sh $(SUITES)

bench-compare: build ## ringmill and Apache Kafka side by side: medians and ratios
	$(GO) run ./tools/compare -ringmill $(BIN)/ringmill -dir $(BIN)

bench-peers: build ## ringmill, Apache Kafka, NATS JetStream and Redis streams (apt-get install redis-server) on the same durable work
	GOBIN=$(BIN) GOFLAGS= $(GO) install github.com/nats-io/nats-server/v2@v2.15.3
	$(GO) run ./tools/compare -ringmill $(BIN)/ringmill -dir $(BIN) -nats $(BIN)/nats-server -redis "$$(command -v redis-server)" -only '^peers' -pairs $(PAIRS)

bench: build ## what PERFORMANCE.md holds: micro benchmarks, what the machine allows, ringmill beside Apache Kafka (PAIRS, BENCHKILLS, ONLY)
	$(GO) test -run '^$$' -bench . -benchmem $(ROOMS)
	$(BIN)/ringmill bench disk --dir $(BIN)
	$(BIN)/ringmill bench loop --dir $(BIN)
	$(GO) run ./tools/compare -ringmill $(BIN)/ringmill -dir $(BIN) -pairs $(PAIRS) -kills $(BENCHKILLS) -only '$(ONLY)'

bench-iouringgo: test-iouringgo ## bench loop with iouring-go's own API beside the rest
	CGO_ENABLED=0 $(GO) build -trimpath -tags iouringgo -ldflags=-checklinkname=0 -o $(BIN)/ringmill-iouringgo ./tools/ringmill
	$(BIN)/ringmill-iouringgo bench loop

generate: ## what is written by programs: the configuration reference and the tables of the wire
	$(GO) generate ./...
