# steady: targets say what they do; `make help` lists them.
export CGO_ENABLED ?= 0
TOOLS := $(CURDIR)/.tools
FUZZTIME ?= 10s
BENCH ?= .
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOTESTSUM := gotest.tools/gotestsum@v1.13.0
DATA ?= data

.PHONY: help demo build test bench check fuzz compare-sar compare-perf compare-cost evaluate evaluate-short

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-15s %s\n", $$1, $$2}' Makefile

demo: build ## the main job on this host, in a minute and a half: compare three servers, make a report
	@bin/steady demo --data $(DATA)

build: ## bin/steady
	@test -x bin/steady || echo "building steady: the first build downloads and compiles for a minute or two"
	@go build -trimpath -o bin/steady ./cmd/steady

test: ## all tests; installs the real tools they use where it may, and says what it skipped and why
	@sh .ci/tools
	@STEADY_TOOLS=$(TOOLS) go run $(GOTESTSUM) --format pkgname-and-test-fails --format-icons text -- -timeout 15m -coverprofile $(TOOLS)/cover.out ./...
	@if command -v gcc >/dev/null; then \
		echo "race detector (without the long single-threaded tests of ingest):"; \
		CGO_ENABLED=1 go test -race -timeout 10m -skip 'TestKilled|TestHoursInRowGroups|TestIncrementsAndQuality' ./bus ./campaign ./collector/... ./ingest; \
	else echo "skipped: race detector: it needs gcc"; fi

bench: ## benchmarks, and the collector beside sadc; compare two runs with benchstat
	@STEADY_TOOLS=$(TOOLS) go test -run '^$$' -bench '$(BENCH)' -benchmem ./...

check: ## gofmt, vet, staticcheck, and the imports that the architecture allows
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "gofmt would change:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	@go vet ./...
	@go run $(STATICCHECK) ./...
	@go test -run TestImports .

compare-sar: ## every column of sadc beside ours on this host, for two minutes; charts in DATA/compare-sar.html
	@mkdir -p $(DATA)
	@go run ./collector/compare -o $(DATA)/compare-sar.html

compare-perf: ## the software events of perf stat beside ours on this host
	@go test -count 1 -run TestAgreesWithPerf -v ./collector/perf

compare-cost: ## CPU time and memory beside sysstat, node_exporter, netdata and PCP, a quarter of an hour
	@go run ./collector/cost

evaluate: ## measure the error rates of the statistics at full size, a quarter of an hour; writes docs/EVALUATION.md
	@go run ./analyze/protocol -o docs/EVALUATION.md

evaluate-short: ## the same at a glance, under two minutes (the tests of analyze do as much)
	@go run ./analyze/protocol -short

fuzz: ## every fuzz target for FUZZTIME (10s)
	@for p in $$(go list ./...); do \
		for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz'); do \
			echo "$$p $$f"; go test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$p || exit 1; \
		done; \
	done
