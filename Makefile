# `make demo` and `make test` are the commands of README.md; `make test-all` is the whole check. tools/check.toml has the parts of
# both; each is a target here too.

CARGO ?= cargo
DEVICE_TARGETS := thumbv7em-none-eabihf thumbv7m-none-eabi
DEVICE_CRATES := -p terse-tls -p terse-rustcrypto -p terse-brski -p terse-pem

# A workspace of its own, since it has no standard library.
FIRMWARE := firmware/Cargo.toml

SECONDS ?= 60

# Features are those that the chosen packages want. With one choice throughout, nothing is compiled twice: `bogo/run`,
# `tools/product.sh` and `interop` make the same.
WORKSPACE := --workspace --exclude terse-bench

.PHONY: help demo test test-all prepare lint format clippy documentation product devices firmware size unit doctests lab smoke \
	fuzz fuzz-check soak interop bytes bench lossy bogo

help: ## Show this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

demo: ## Onboard a device, connect in full, then cached, over TCP and UDP on loopback, and show what was saved
	@$(CARGO) build --profile demo -p terse --no-default-features --bin terse
	@$${CARGO_TARGET_DIR:-target}/demo/terse demo

test: ## All that a change of the engine, the services or the simulator can break
	@CARGO="$(CARGO)" tools/check --tier test

test-all: ## Everything that must hold: `make test`, images and their sizes, fuzzing, packages, corpora, a browser
	@CARGO="$(CARGO)" tools/check --tier all

prepare: ## Install what the tests need: packages with apt-get, Rust targets with rustup
	@tools/prepare.sh

lint: format clippy documentation ## Formatting, lints, documentation without a warning

format:
	$(CARGO) fmt --all --check
	rustfmt --edition 2024 --check bench/voucher/src/lib.rs
	$(CARGO) fmt --all --check --manifest-path $(FIRMWARE)

clippy:
	$(CARGO) clippy --quiet --workspace --all-targets -- -D warnings

documentation:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --quiet

product: ## Whether what users build is free of what is there for tests, and whether cargo can package what is published
	@CARGO="$(CARGO)" tools/product.sh
	@CARGO="$(CARGO)" tools/packages.sh

# What is built never runs, and need not be fast.
devices: export RUSTFLAGS := -D warnings -C opt-level=0
devices: export TERSE_TESTING := 0
devices: ## Build the device crates for Cortex-M, as a firmware has them: without a warning
	@targets=; \
	for target in $(DEVICE_TARGETS); do \
		if tools/prepare.sh has-target $$target; then \
			echo "building the device crates for $$target"; \
			targets="$$targets --target $$target"; \
		fi; \
	done; \
	if [ -n "$$targets" ]; then \
		$(CARGO) build --quiet $(DEVICE_CRATES) $$targets && \
		$(CARGO) build --quiet -p terse-ibc --no-default-features $$targets && \
		$(CARGO) build --quiet -p terse-capi --no-default-features --features firmware $$targets; \
	fi
	@if tools/prepare.sh has-firmware; then \
		echo "checking the images of firmware/ for thumbv7em-none-eabihf"; \
		cd firmware && $(CARGO) clippy --quiet --locked --workspace --exclude terse-lab --exclude terse-size \
			--target thumbv7em-none-eabihf; \
	fi

RESETS ?= 200

firmware: ## On Cortex-M in QEMU: the providers for devices, clients and a pledge: what they cost, and RESETS at any time
	@if tools/prepare.sh has-firmware; then \
		$(CARGO) build --quiet $(WORKSPACE) --bin terse && \
		CARGO="$(CARGO)" TERSE="$$(realpath $${CARGO_TARGET_DIR:-target})/debug/terse" firmware/run-all $(RESETS); \
	fi

size: export TERSE_TESTING := 0
size: ## How large pledges and clients are on Cortex-M4F, and what of, beside peers; SIZE="--symbols 40" lists what is largest
	@if tools/prepare.sh has-firmware; then \
		$(CARGO) run --quiet --locked --manifest-path $(FIRMWARE) -p terse-size -- $(SIZE); \
	fi

unit: ## Unit tests, properties, client against server, the command and its services; not the corpora and the browser
	@CARGO="$(CARGO)" tools/check tests tests-waiting

doctests:
	$(CARGO) test $(WORKSPACE) --doc

lab:
	$(CARGO) test --locked --manifest-path $(FIRMWARE) --lib --bin terse-size --bin terse-lab

fuzz: ## Fuzz each target for SECONDS with a fresh seed, a minute unless given; a finding is an error
	@CARGO="$(CARGO)" tools/fuzz.sh run $(SECONDS)

fuzz-check:
	@CARGO="$(CARGO)" tools/fuzz.sh check

soak: ## Properties, the matrix, lossy onboarding and fuzzing with fresh seeds for MINUTES, an hour unless given
	@CARGO="$(CARGO)" tools/soak $(MINUTES)

interop: ## Against OpenSSL, GnuTLS, wolfSSL, BoringSSL, Mbed TLS, Scandium, dimpl, rustls, Bouncy Castle; prints the matrix
	$(CARGO) test $(WORKSPACE) --test bytes --test coaps --test matrix

smoke: ## Whether the benchmarks run, not how fast anything is
	$(CARGO) test --workspace --test smoke

bogo: ## BoringSSL's protocol tests (needs Go; BORINGSSL=dir for other sources); prints what passes, and why the rest is not run
	@if [ "$(WITHOUT_GO)" != skip ] || tools/prepare.sh has-go; then \
		CARGO="$(CARGO)" BORINGSSL="$(BORINGSSL)" bogo/run; \
	fi

bytes: ## Record bytes of full and cached handshakes, ours and the peers', counted on the wire
	@$(CARGO) run --quiet -p terse-interop --bin record-bytes

lossy: ## Simulates handshakes on a slow path that loses packets, ours and the peers'; LOSSY="--help" says more
	@RUSTFLAGS="--cfg terse_testing" $(CARGO) run --quiet --profile dist -p terse-bench -- lossy $(LOSSY)

bench: ## Bytes, heap, stack, instructions and rates beside the peers; BENCH="--quick" is short, --help says more
	@$(CARGO) run --quiet --profile dist -p terse-bench -- $(BENCH)
