# Each target is a script of its own; this file only names them.
.DEFAULT_GOAL := help
.PHONY: help demo wordpress test lint bench experiments advise fuzz soak deps

help: ## List what there is
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## All set-up and a demonstration: Weir in front of a throwaway server, measured with sysbench (KEEP=1 leaves it running)
	@scripts/demo.sh

wordpress: ## A blog of WordPress directly and through Weir with cache rules: the same pages, and how long they take (ARGS="--family mysql")
	@scripts/wordpress.sh $(ARGS)

test: ## All tests, against real MariaDB and MySQL servers
	@scripts/test.sh

lint: ## Format, warnings, licences, floors and sizes
	@scripts/lint.sh

bench: ## Weir against a direct connection, HAProxy, a bare relay and redis (ARGS=--quick: 3 minutes instead of 20)
	@scripts/bench.sh $(ARGS)

experiments: ## The published experiments E1, E2, E4 on real servers, with a report in .cache/experiments (ARGS=--quick: 3 minutes instead of 20)
	@scripts/experiments.sh $(ARGS)

advise: ## What the cache advisor tells of rules against what they then do, on five workloads: 5 minutes of 10 s runs (ARGS="--seconds 30": 13; ARGS=--help)
	@scripts/advise.sh $(ARGS)

fuzz: ## Every parser of a peer's bytes against random ones (SECONDS=30 for each)
	@cargo xtask fuzz --seconds $(or $(SECONDS),30)

soak: ## Sessions through Weir against sessions on the server, seed after seed, until they differ
	@scripts/deps.sh && scripts/get-mysql.sh
	@cargo build --release -p weir
	@cargo run --release -p weir-testkit --bin differential -- --spawn --soak

deps: ## Install the Debian packages that the others need
	@scripts/deps.sh
