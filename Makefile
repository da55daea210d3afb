# SPDX-FileCopyrightText: The cinder-operator Authors
# SPDX-License-Identifier: Apache-2.0

# Needs Go, make, git and gcc, nothing else. Development tools and the lab's
# Kubernetes components are built from pinned Go modules, once per version,
# into the user's cache folder; everything else lands in _output.

SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

OUTPUT := $(CURDIR)/_output
BIN := $(OUTPUT)/bin
LAB := $(BIN)/lab

# The lab that lab-up, lab-down, run and demo work on.
LAB_DIR ?= $(OUTPUT)/lab
TARGETS ?= 2

# How long the whole of one module's suites may take, how many packages are
# tested at once, and what is tested, in this order: the longest ones first, one
# that waits beside one that works, so that none of them is left to run alone. The
# end-to-end suites that leave their lab to others (see hack/suite.sh) follow one
# another, and those that take one and spoil it come last: an idle lab costs, too.
#   make suite PACKAGES=./clusters/... TESTFLAGS='-run TestConnect -v'
TEST_TIMEOUT ?= 20m
SOAK_TIMEOUT ?= 6h
TEST_PARALLEL ?= 2
PACKAGES ?= ./test/e2e/fleet ./controllers/cinder ./test/e2e/upgrade ./clusters \
  $(addprefix ./test/e2e/,killmatrix isolation randomkill deletion hostile children detach identity reasons admission) \
  ./test/e2e/... ./...
TESTFLAGS ?=
# verify has vetted everything, and nobody debugs these binaries: linking them
# takes half as long without the debugger's tables.
GOTEST := go test -race -vet=off -ldflags=-w

# A program under the race detector rests a whole second before it exits, so that
# goroutines beside the one that ends it may still be caught. The suites end some
# hundred of them.
export GORACE ?= atexit_sleep_ms=50

# Without its folder in what it compiles, a clone finds in the build cache what
# another one compiled.
export GOFLAGS += -trimpath

# What the built programs call themselves; without it they name their commit.
VERSION ?=

##@ General

.PHONY: help
help: ## Show this list.
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z0-9-]+:.*## / { printf "  %-22s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: clean
clean: lab-down ## Take the lab down and remove _output (the caches outside the clone stay).
	rm -rf $(OUTPUT)

##@ Development

.PHONY: build
build: ## Build the operator and everything else in cmd into _output/bin.
	@mkdir -p $(BIN)
	go build $(if $(VERSION),-ldflags '-X main.version=$(VERSION)') -o $(BIN)/ ./cmd/...

.PHONY: generate
generate: ## Write everything that is generated: deep copies, CRDs, roles, webhooks.
	hack/generate.sh

.PHONY: fmt
fmt: ## Format every Go file.
	git ls-files -z --cached --others --exclude-standard -- '*.go' | xargs -0 -r gofmt -w

.PHONY: run
run: lab ## Run the operator against the lab of lab-up, outside any cluster (ARGS adds flags).
	hack/run.sh $(ARGS)

.PHONY: demo
demo: lab ## Hub, two targets, a Ready Cinder on each; stays until interrupted (DEMO_ONCE=1: shows and ends).
	hack/demo.sh

##@ Checks

VERIFY := gofmt scripts headers words file-length no-fake-client imports generate tidy vet lint
.PHONY: verify $(VERIFY:%=verify-%)
verify: $(VERIFY:%=verify-%) ## Every check that needs no cluster; each part also runs alone, see below.

verify-gofmt: ## Go files are formatted.
	@hack/verify/gofmt.sh
verify-scripts: ## Shell scripts parse and are executable.
	@hack/verify/scripts.sh
verify-headers: ## Source files open with the licence lines.
	@hack/verify/headers.sh
verify-words: ## No line matches hack/verify/forbidden-words.txt.
	@hack/verify/words.sh
verify-file-length: ## No hand-written Go file is over 500 lines.
	@hack/verify/file-length.sh
verify-no-fake-client: ## No fake API client is imported.
	@hack/verify/no-fake-client.sh
verify-imports: ## Packages import along the room table, and the checks themselves work (test/arch).
	@go test -count=1 ./test/arch/...
verify-generate: ## Generated files are up to date (made anew in a copy and compared).
	@hack/verify/generate.sh
verify-tidy: ## go.mod and go.sum of every module are tidy.
	@hack/verify/tidy.sh
verify-vet: ## go vet passes.
	@hack/verify/vet.sh
verify-lint: ## golangci-lint with kube-api-linter passes.
	@hack/verify/lint.sh

.PHONY: lint
lint: verify-lint ## The same as verify-lint.

.PHONY: tools
tools: ## Build the development tools now rather than at first use.
	@hack/tool.sh controller-gen
	@hack/tool.sh golangci-lint
	@hack/tool.sh chainsaw

##@ Tests

.PHONY: test
test: ## verify, then every suite of every module under the race detector.
	@$(MAKE) -j2 --output-sync=target verify
	@$(MAKE) -j2 suite test-lab

# What the end-to-end suites run, built once for all of them.
E2E_OPERATOR := $(BIN)/race/cinder-operator
E2E_ENV = CINDER_E2E_LAB="$(LAB)" CINDER_E2E_OPERATOR="$(E2E_OPERATOR)"

.PHONY: e2e-operator
e2e-operator:
	@go build -race -ldflags=-w -o $(E2E_OPERATOR) ./cmd/cinder-operator

.PHONY: suite
suite: lab-assets e2e-operator ## The operator's unit, integration and end-to-end suites (PACKAGES, TESTFLAGS).
	@export KUBEBUILDER_ASSETS="$$($(LAB) assets)" CHAINSAW="$$(hack/tool.sh chainsaw)" $(E2E_ENV); \
	  hack/suite.sh $(GOTEST) -p $(TEST_PARALLEL) -timeout $(TEST_TIMEOUT) $(TESTFLAGS) $(PACKAGES)

# The lives are counted against the clock: 50 of them are to take less than 8
# minutes, and they run without the race detector, which suite has them under.
.PHONY: soak
soak: lab-assets e2e-operator build ## 50 lives killed at random (below 8 minutes), then the kill matrix at every write and the isolation suite with a larger fleet: 40 minutes on two quiet cores.
	@export KUBEBUILDER_ASSETS="$$($(LAB) assets)" CINDER_SOAK=1 $(E2E_ENV); \
	  CINDER_E2E_OPERATOR="$(BIN)/cinder-operator" go test -count=1 -v -timeout $(SOAK_TIMEOUT) $(TESTFLAGS) ./test/e2e/randomkill; \
	  $(GOTEST) -count=1 -v -p 1 -timeout $(SOAK_TIMEOUT) $(TESTFLAGS) ./test/e2e/killmatrix ./test/e2e/isolation

# How long each fuzz target runs.
FUZZTIME ?= 60s
.PHONY: fuzz
fuzz: lab-assets ## Every fuzz target for FUZZTIME each (their corpora are part of suite); FUZZ picks targets by a part of the name.
	@export KUBEBUILDER_ASSETS="$$($(LAB) assets)" FUZZTIME="$(FUZZTIME)"; hack/fuzz.sh $(FUZZ)

.PHONY: test-lab
test-lab: lab-assets ## The lab's own suites.
	@cd test/lab && $(GOTEST) -timeout $(TEST_TIMEOUT) $(TESTFLAGS) ./...

##@ Lab

.PHONY: lab
lab: ## Build the lab's command line, _output/bin/lab.
	@mkdir -p $(BIN)
	@# It finds what it builds by the folder that it was compiled in, wherever it runs.
	@cd test/lab && GOFLAGS="$(filter-out -trimpath,$(GOFLAGS))" go build -o $(LAB) .

.PHONY: lab-assets
lab-assets: lab ## Build the Kubernetes components that the lab runs (once per version).
	@$(LAB) build

.PHONY: lab-up
lab-up: lab ## Bring up a hub and TARGETS target clusters with fake nodes in LAB_DIR.
	$(LAB) up --dir $(LAB_DIR) --targets $(TARGETS) --nodes fake

.PHONY: lab-down
lab-down: ## Take the lab in LAB_DIR down.
	@if [[ -x $(LAB) && -d $(LAB_DIR) ]]; then $(LAB) down --dir $(LAB_DIR); fi
