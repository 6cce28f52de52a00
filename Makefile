.PHONY: help build run test

help: ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

build: ## the static binary, bin/ringmill
	CGO_ENABLED=0 go build -o bin/ringmill ./tools/ringmill

run: build ## a node on 127.0.0.1:9092 with its data in ./data
	bin/ringmill serve

test: ## every test
	go vet ./...
	go test ./...
