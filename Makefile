# What each target needs beyond Go is named beside it. Tools run at the
# versions pinned here; the build cache keeps them.
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT ?= $(shell git rev-parse --short HEAD 2>/dev/null)
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)
PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

.PHONY: build test check format vet lint tidy schema cross vuln e2e bench fuzz clean

build: ## one static binary in bin/
	CGO_ENABLED=0 go build -trimpath -ldflags "$(LDFLAGS)" -o bin/adkmcp ./cmd/adkmcp

test: ## everything that needs no network; the race detector wants a C compiler
	go test -race -shuffle=on -timeout 5m ./...

check: format vet lint tidy schema cross vuln

format:
	@out=$$(gofmt -l cmd internal); test -z "$$out" || { echo "not formatted (gofmt -w): $$out"; exit 1; }

vet:
	go vet ./...

lint:
	go run $(GOLANGCI) run ./...

tidy:
	go mod tidy -diff

schema: ## the schema in the tree is the one that the types give
	go run ./cmd/adkmcp schema | diff -u internal/config/agent.schema.json -

cross: ## builds and vets for every platform that is released
	@for p in $(PLATFORMS); do echo "build $$p"; \
	  CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} go build -trimpath -o /dev/null ./cmd/adkmcp || exit 1; done
	GOOS=windows go vet ./...
	GOOS=darwin go vet ./...

vuln: ## needs the vulnerability database; without it this says so and goes on
	@if out=$$(go run $(GOVULNCHECK) ./... 2>&1); then echo "$$out" | tail -3; \
	elif echo "$$out" | grep -qE 'vuln\.go\.dev|fetching vulnerabilities'; then echo "SKIPPED: govulncheck cannot reach its database"; \
	else echo "$$out"; exit 1; fi

e2e: build ## third-party clients, see e2e/README.md; needs Node, npm, script, and on Linux unshare and ip
	./e2e/run

bench: ## allocations and ratios; see docs/performance.md
	go test -run '^$$' -bench . -benchmem ./...

fuzz: ## each fuzz target for a short while
	@go list ./... | while read p; do for f in $$(go test -list '^Fuzz' $$p | grep ^Fuzz); do \
	  go test -run '^$$' -fuzz "^$$f$$" -fuzztime 20s $$p || exit 1; done; done

clean:
	rm -rf bin
