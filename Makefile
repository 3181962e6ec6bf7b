# Everything a fresh machine needs is installed by the targets themselves.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
RUN := $(VENV)/.run
TEST := $(VENV)/.test

.PHONY: demo test check format tools clean

## demo: train nothing, install, build the digits example for this machine and a Raspberry Pi 4, run and measure it
demo: $(RUN)
	$(BIN)/python examples/digits/demo.py

## test: install the tools the tests need (apt packages when root), then lint and test
test: $(TEST) tools check
	$(BIN)/python -m pytest -n 2 --dist worksteal -q

## check: lint, format, types, boundaries
check: $(TEST)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	git ls-files '*.c' '*.h' | xargs $(BIN)/clang-format --dry-run --Werror

## format: rewrite sources in the project's style
format: $(TEST)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	git ls-files '*.c' '*.h' | xargs $(BIN)/clang-format -i

## tools: system packages of the test suite; without root the tests that need a missing one are skipped with the reason
tools:
	@missing=""; \
	command -v qemu-aarch64 >/dev/null || missing="$$missing qemu-user"; \
	command -v qemu-system-arm >/dev/null || missing="$$missing qemu-system-arm"; \
	test -x /usr/sbin/sshd || missing="$$missing openssh-server"; \
	command -v gcc >/dev/null || missing="$$missing gcc"; \
	command -v g++ >/dev/null || missing="$$missing g++"; \
	command -v cmake >/dev/null || missing="$$missing cmake"; \
	command -v pgrep >/dev/null || missing="$$missing procps"; \
	if [ -n "$$missing" ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing; \
	elif [ -n "$$missing" ]; then echo "not installed:$$missing"; fi

$(VENV):
	$(PYTHON) -m venv $(VENV)

$(RUN): pyproject.toml | $(VENV)
	@echo "installing edgepack and its dependencies into $(VENV) (about 300 MB; a minute or two)"
	$(BIN)/pip install -q --disable-pip-version-check -e '.[verify]'
	@touch $@

$(TEST): pyproject.toml | $(VENV)
	@echo "installing edgepack and what its tests need into $(VENV)"
	$(BIN)/pip install -q --disable-pip-version-check -e '.[test]'
	@touch $@ $(RUN)

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
