# make app      the dashboard on this machine (FILES="a.gfa b.gfa.gz" PORT=5006)
# make test     style checks and all tests, those in the browser too
# make bench    measures the kernels against their peers, into benchmarks/RESULTS.md
# make mutants  plants small bugs, one at a time, and writes into docs/mutants.md which the tests see
#               (hours; it goes on where it was. MUTANTS="--jobs 8", and see MUTANTS=--help)
# make stamps   writes the lines by which Numba compiles a file anew when what it calls has changed
# make pins     writes constraints.txt anew from what .venv holds, and the hashes of what a server needs
# make clean    removes .venv and all caches
#
# PYTHON names the interpreter (>= 3.11). What an earlier call installed is used without a network.
# GPU_EXTRA is cuda12 or cuda13 by the NVIDIA driver, and empty (Numba alone) without one.

PYTHON ?= python3
PORT ?= 5006
FILES ?=

BIN := .venv/bin
CUDA := $(shell nvidia-smi 2>/dev/null | sed -n 's/.*CUDA[A-Za-z ]* Version: *\([0-9][0-9]*\).*/\1/p' | head -n 1)
GPU_EXTRA ?= $(if $(CUDA),$(shell test $(CUDA) -ge 13 && echo cuda13 || { test $(CUDA) -ge 12 && echo cuda12; }))
# Without a GPU the tests still compile the CUDA sources, which NVRTC can do on any Linux machine.
TEST_EXTRA := $(or $(GPU_EXTRA),$(if $(filter Linux,$(shell uname -s)),cuda12))

comma := ,
with_gpu = $(1)$(if $(2),$(comma)$(2))
APP := .venv/installed-app$(if $(GPU_EXTRA),-$(GPU_EXTRA))
TEST := .venv/installed-test$(if $(TEST_EXTRA),-$(TEST_EXTRA))

.PHONY: app test bench mutants stamps pins clean

app: $(APP)
	@exec $(BIN)/python -m genoviz serve --no-browser --port $(PORT) $(FILES)

# The programs that the tests start, some hundreds, need not compile the same sources each.
test: export PYTHONDONTWRITEBYTECODE =
test: $(TEST)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	find genoviz -name '*.cu' -o -name '*.[ch]' | xargs $(BIN)/clang-format --dry-run --Werror
	$(BIN)/python -m pytest --timeout 600 -n auto --no-loadscope-reorder

bench: $(TEST)
	$(BIN)/python -m benchmarks.run

mutants: $(TEST)
	$(BIN)/python -m tests.mutants $(MUTANTS)

stamps: $(TEST)
	$(BIN)/python -m tests.stamps

pins: $(TEST)
	$(BIN)/python -m pip freeze --exclude-editable | grep -v -i -e '^cupy' -e '^nvidia' > .venv/pins
	grep -i -e '^cupy' -e '^nvidia' constraints.txt >> .venv/pins
	LC_ALL=C sort -f .venv/pins > constraints.txt
	$(BIN)/python -m tests.pins

clean:
	rm -rf .venv .mutants .pytest_cache .ruff_cache .hypothesis build dist *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'genoviz needs Python 3.11 or newer: make PYTHON=/path/to/python3.12 ...'; exit 1; }
	@$(PYTHON) -m venv .venv || \
	  { rm -rf .venv; echo 'No virtual environment could be made: is python3-venv installed?'; exit 1; }

define install
	@echo 'Installing genoviz[$(1)] into .venv; the first time this takes a few minutes'
	@$(BIN)/python -m pip install --quiet --no-compile -c constraints.txt -e '.[$(1)]'
	-@$(BIN)/python -m compileall -qq -j 0 -x '/(tests|pip|setuptools|debugpy|cupyx)/' .venv/lib
	@touch $@
endef

define warm_up
	@echo 'Compiling the kernels for this processor, one or two minutes'
	-@$(BIN)/python -m genoviz_app.warm_up genotypes sequences & $(BIN)/python -m genoviz_app.warm_up graphs; wait
endef

$(APP): pyproject.toml constraints.txt | $(BIN)/python
	$(call install,$(call with_gpu,app$(comma)genetics,$(GPU_EXTRA)))
	$(warm_up)

$(TEST): pyproject.toml constraints.txt | $(BIN)/python
	$(call install,$(call with_gpu,app$(comma)cluster$(comma)genetics$(comma)notebook$(comma)test$(comma)dev,$(TEST_EXTRA)))
	$(warm_up)
