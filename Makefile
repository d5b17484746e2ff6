# The product is built without cgo; only the race detector needs it.
export CGO_ENABLED := 0

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null)
# Where git does not answer (another owner's checkout), Go cannot stamp builds.
ifeq ($(VERSION),)
export GOFLAGS := $(GOFLAGS) -buildvcs=false
endif

FUZZTIME ?= 30s
# How long each phase of the benchmark lasts, how often all are run, how many
# receipts a year of growth has, and the one part to run: postgres, sqlite,
# reads or growth.
BENCHTIME ?= 5s
ROUNDS ?= 3
GROWTH ?= 1000000
ONLY ?=
# Where pictures of the pages go.
SHOTS ?= shots
# For one package or test: make test PKG=./web/... RUN=TestAckContract
PKG ?= ./...
RUN ?= .

# SQLite is C, translated: what it does with its own memory is not ours to watch, and
# watching it takes twice as long.
RACE := CGO_ENABLED=1 go test -race -gcflags=modernc.org/sqlite/lib=-race=false -shuffle=on -count=1 -run '$(RUN)'
TESTS := env $(RACE) -timeout 25m $(PKG)

# The tests of the command drive it as a process of its own, which the race detector
# does not see: it would only slow them down. And all sampled orders through both
# stores, and what fills an embedded database, are too slow with it.
ifeq ($(PKG)$(RUN),./....)
TESTS = go test -count=1 -timeout 10m -run '^Test(OrderDoesNotMatter|LoadsWhatDecideNeeds|AuditSearches)' -v ./booking ./booking/store && \
	env $(RACE) -timeout 25m $(filter-out %/cmd/slotkeeper,$(shell go list ./...)) && \
	go test -shuffle=on -count=1 -timeout 25m ./cmd/slotkeeper
endif

.DEFAULT_GOAL := help
.PHONY: help run demo build test shots check soak bench fuzz lint vet fmt vuln clean

help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' Makefile

run: build ## Build and serve on http://127.0.0.1:8080, data in ./data
	bin/slotkeeper serve

demo: build ## Build and serve a demo with invented bookings
	bin/slotkeeper demo

build: ## Build bin/slotkeeper, one static file
	@mkdir -p bin
	go build -trimpath -ldflags '-s -w -X main.release=$(VERSION)' -o bin/slotkeeper ./cmd/slotkeeper

test: ## Run all tests, with the race detector, on SQLite and PostgreSQL
	-@.ci/axe-core >/dev/null # what needs it says so, if it is not to be had
	.ci/with-postgres sh -c "$(TESTS)"

shots: ## Take pictures of all pages, in all languages, into SHOTS (./shots)
	@.ci/install-tools && .ci/axe-core >/dev/null
	SLOTKEEPER_SHOTS='$(abspath $(SHOTS))' go test -count=1 -timeout 40m -v -run '^TestShots$$' ./cmd/slotkeeper

check: vet lint ## Formatting, vet, linters and the quick tests: before each commit
	.ci/with-postgres go test -short -parallel 8 -timeout 5m $(PKG)

soak: ## Run all tests with more orders, rounds and deliveries (long)
	SLOTKEEPER_SOAK=1 .ci/with-postgres env $(RACE) -timeout 120m -v $(PKG)

bench: build ## Measure, BENCHTIME (5s) a phase, ROUNDS (3) times, all parts or ONLY=reads
	go build -o bin/slotkeeper-bench ./cmd/slotkeeper-bench
	DURABLE=1 .ci/with-postgres bin/slotkeeper-bench -time $(BENCHTIME) -rounds $(ROUNDS) -growth $(GROWTH) -only '$(ONLY)'

fuzz: ## Fuzz every parser, FUZZTIME (30s) each
	.ci/fuzz $(FUZZTIME)

lint: ## Run the linters, formatting included
	.ci/golangci-lint run $(PKG)

vet:
	go vet $(PKG)

fmt: ## Format the code
	.ci/golangci-lint fmt

vuln: ## Look for known vulnerabilities (needs the network)
	go run golang.org/x/vuln/cmd/govulncheck@v1.1.4 ./...

clean: ## Remove what was built
	rm -rf bin shots
