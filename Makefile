# Everything a developer runs. `make demo` and `make test` work on a fresh machine with Python 3.10 or later and make.
# PYTHON=python3.12 picks the interpreter; PYTEST_ARGS="-k cv" passes options to pytest; R=no leaves R out of `make test`.

PYTHON ?= python3
PYTEST_ARGS ?=
R ?= yes

VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check
SPHINX_OPTIONS ?= -W -T

.DEFAULT_GOAL := help
.PHONY: help demo test r lint types doctest docs bench clean

help:
	@echo "make demo     set up, fit Engel's data, print the summaries, write the plots and say where"
	@echo "make test     set up (R too, where it is root on Debian or Ubuntu) and run the tests; R=no leaves R out"
	@echo "make lint     ruff            make types    mypy"
	@echo "make doctest  the examples in the docstrings"
	@echo "make docs     run the vignettes and build the manual: vignettes/_build/html"
	@echo "make bench    this package against its peers, in one run"
	@echo "make clean    remove what was built, .venv included"

demo: $(VENV)/.plots $(VENV)/.kernels
	@$(VENV)/bin/qreg-boost demo

test: $(VENV)/.test $(VENV)/.kernels r
	$(PY) -m pytest $(PYTEST_ARGS)

r: $(VENV)/.test
ifeq ($(R),no)
	@echo "R was left out (R=no): the tests marked 'r' are skipped unless R and rpy2 are there already."
else
	@sh .ci/setup-r $(PY)
endif

lint: $(VENV)/.test
	$(PY) -m ruff check .

types: $(VENV)/.test
	$(PY) -m mypy

doctest: $(VENV)/.test $(VENV)/.kernels
	$(PY) -m pytest -q --doctest-modules qreg_boost

docs: $(VENV)/.docs
	$(PY) -m sphinx -b html $(SPHINX_OPTIONS) vignettes vignettes/_build/html
	@echo "The manual: vignettes/_build/html/index.html"

bench: $(VENV)/.bench $(VENV)/.kernels
	$(PY) -m tests.benchmarks

clean:
	rm -rf $(VENV) build dist vignettes/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find qreg_boost tests -name __pycache__ -type d -prune -exec rm -rf {} +

# .venv is made once; the package and its needs are installed again when pyproject.toml changes.
$(VENV)/.made:
	@sh .ci/make-venv "$(PYTHON)" $(VENV)
	@touch $@

$(VENV)/.plots: $(VENV)/.made pyproject.toml
	$(PIP) install -q -e '.[plots]'
	@touch $@

$(VENV)/.test: $(VENV)/.made pyproject.toml
	$(PIP) install -q -e '.[plots,sklearn,test]'
	@touch $@

$(VENV)/.docs: $(VENV)/.made pyproject.toml
	$(PIP) install -q -e '.[plots,docs]'
	@touch $@

# numba looks at the file of a compiled function alone, not at those of the functions it calls: when any source is newer,
# what was compiled goes.
$(VENV)/.kernels: $(VENV)/.made $(wildcard qreg_boost/*/*.py qreg_boost/*/*/*.py)
	@find qreg_boost -name '*.nb[ic]' -delete
	@touch $@

$(VENV)/.bench: $(VENV)/.made pyproject.toml
	$(PIP) install -q -e '.[bench]'
	@touch $@
