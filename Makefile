# Pairway: `make help` lists the commands.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.NOTPARALLEL:

HOST ?= 127.0.0.1
PORT ?= 8000
APISERVER_PORT ?= $(shell expr $(PORT) + 1)
# Of the Prometheus of `make up MONITORING=1`.
PROMETHEUS_PORT ?= 9090
# cpu or cuda; each has its own environment (deploy/environment.py).
BUILD ?= cpu
CATALOG ?= deploy/models/demo.yaml
# Logs, lock and the URL of Redis of one `make up`.
RUN_DIR ?= .run
# The benchmarks' sentences, as NAME.valid.tsv of english<TAB>other lines; see benchmarks/README.md.
PAIRS ?= data

VENV := $(if $(filter cpu,$(BUILD)),.venv,.venv-$(BUILD))
BIN := $(VENV)/bin

# Each candidate must run, because a pyenv shim can exist and fail; PYTHON=/path/to/python3.11 replaces the search.
PYTHON ?= $(shell for candidate in python3.11 python3.12 python3 /usr/bin/python3; do \
	$$candidate -c 'import sys, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 12))' 2>/dev/null \
	&& echo $$candidate && break; done)

UV := .venv-lock/bin/uv
LOCK := .cache/lock
RESOLVE = $(UV) pip compile --quiet --no-annotate --no-header --no-emit-index-url --no-emit-find-links \
	--system-certs --python-version 3.11 --generate-hashes
COMPILE = $(RESOLVE) --universal pyproject.toml
# Removes the platform's markers, which are the same on every line (see [tool.uv] in pyproject.toml).
PLAIN = sed -i -e "s/ and implementation_name == [^\\]*/ /" -e "s/ ; python_full_version < '3.13' / /" \
	-e "1i \# Made by make lock from pyproject.toml."

FUZZ_ROUNDS ?= 10
MINUTES ?= 20

.PHONY: help up keys roll browser clients test test-fast test-clients test-page test-setup test-edge test-edge-setup \
	test-monitoring test-monitoring-setup test-smoke screenshots test-all fuzz \
	check environment dev python lock audit pin-images clean tune bench-quality bench-guards bench-long faults compose-test soak \
	bench-overload bench-connections bench-hostile bench-proxy bench-origin bench-origin-plots bench-scale bench-page request-path \
	plan shown-sentences calibrate bench-confidence bench-start bench-client client-reference metrics-reference \
	dashboards

help:  ## Show this list.
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | while IFS='	' read -r name text; do \
		printf '  make %-18s %s\n' "$$name" "$$text"; done

# exec, so that a signal to make reaches the launcher and not a shell in between.
up: environment  ## Start everything on this machine; Ctrl-C stops it. (PORT=8000 APISERVER_PORT= HOST= BUILD=cpu|cuda CATALOG= RUN_DIR=.run MONITORING=1 PROMETHEUS_PORT=9090)
	@exec $(BIN)/python -m deploy.local --host $(HOST) --port $(PORT) --apiserver-port $(APISERVER_PORT) \
		--catalog $(CATALOG) --run-dir $(RUN_DIR) $(if $(MONITORING),--prometheus-port $(PROMETHEUS_PORT))

# Uses the Redis of `make up` if that runs, unless PROXY_REDIS_URL names another one.
keys: environment  ## Create, list, limit, revoke, export and import API keys. (ARGS="create --name alice", ARGS=--help, RUN_DIR=.run)
	@PROXY_REDIS_URL="$${PROXY_REDIS_URL:-$$(cat $(RUN_DIR)/redis-url 2>/dev/null || echo redis://127.0.0.1:6379/0)}" \
		$(BIN)/python -m proxy keys $(ARGS)

# Needs Python and docker alone: no virtual environment.
roll: python  ## Bring docker compose's containers up to date while they serve. (ARGS="--dry-run", ARGS="--in-place apiserver-de", ARGS=--help)
	@$(PYTHON) -m deploy.rollout $(ARGS)

# Processes that run tests; tests/conftest.py sets auto. Bytecode is on, because otherwise each of them, and each server
# that it starts, would compile every file.
WORKERS ?= auto
PYTEST = env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest -n $(WORKERS)

test: check browser  ## Run the gates, then the tests, with real Redis and the real engine. (WORKERS=auto)
	@$(PYTEST) -m "not clients and not pages and not edge and not monitoring and not smoke" --cov --cov-report=term:skip-covered

# One of the system's tests opens the page /docs in it.
browser: dev  ## Install the browser of the tests into .cache/browser: headless Chromium, from the npm registry.
	@$(BIN)/python -m tests.support.browser_install

test-fast: dev  ## Run the tests that start neither an engine nor a system.
	@$(PYTEST) -m "not engine and not system and not edge and not monitoring and not smoke"

test-clients: clients  ## Run real clients of other APIs, and the command pairway, with the demo models; install its wheel.
	@$(PYTEST) -n 0 -m clients tests/clients

# Environments of their own: some clients exclude each other, and none may change what the product runs with.
clients: dev  ## Install these clients, and what ours needs, into .cache/clients, from PyPI and the npm registry.
	@$(BIN)/python -m tests.clients.install
	@$(BIN)/python -m tests.clients.wheel

test-page: test-setup  ## Open the pages / and /status in a real browser: fake replicas, and the demo models.
	@$(PYTEST) -n 0 -m pages tests/pages

# An environment of its own: Playwright brings 50 MB. None of it needs root or a package of the system.
test-setup: browser  ## Install what test-page, screenshots and bench-page need into .cache: browser, Playwright, axe-core, a font.
	@$(BIN)/python -m tests.pages.install

screenshots: test-setup  ## Take the pictures of the pages again, into docs/images.
	@$(BIN)/python -m tests.pages.screenshots

test-edge: test-edge-setup  ## Run the edge's nginx among 500 slow readers and 500 slow writers.
	@$(PYTEST) -n 0 -m edge tests/edge

test-monitoring: test-monitoring-setup  ## Test the alerts and dashboards, and what they read, with a real Prometheus.
	@$(PYTEST) -n 0 -m monitoring tests/monitoring

# Debian's packages, from where apt gets its own, unpacked without root.
test-monitoring-setup: dev  ## Install Prometheus and Alertmanager into .cache/monitoring, from Debian's packages.
	@$(BIN)/python -m tests.monitoring.install

test-smoke: test-setup test-edge-setup  ## Run every target of this file in its smallest form, in a copy of the checkout.
	@$(PYTEST) -n 0 -m smoke tests/smoke

test-edge-setup: dev  ## Install the nginx of test-edge and bench-connections into .cache/clients, from PyPI.
	@$(BIN)/python -m tests.edge.install

# Minutes that each may take on two busy cores, as in CONTRIBUTING.md.
BUDGETS := test:14 test-clients:6 test-page:5 test-edge:2 test-monitoring:4 test-smoke:10

test-all:  ## Run everything that needs no Docker; print how long each part took.
	@for part in $(BUDGETS); do \
		began=$$(date +%s); $(MAKE) --no-print-directory $${part%:*} || exit 1; \
		echo "$${part%:*}: $$(( $$(date +%s) - began )) s of $${part#*:} minutes"; done

fuzz: dev  ## Run the property tests with new examples, in rounds. (FUZZ_ROUNDS=10)
	@for round in $$(seq $(FUZZ_ROUNDS)); do \
		$(PYTEST) -q -m hypothesis --hypothesis-profile=fuzz || exit 1; done

check: dev  ## Run only the gates: ruff, basedpyright, mypy, import-linter; print the words of prose for each line.
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/basedpyright
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m tests.layout.prose

environment: python  ## Install what `make up` needs.
	@$(PYTHON) -m deploy.environment --build $(BUILD)

dev: python  ## Install the test tools too.
	@$(PYTHON) -m deploy.environment --build $(BUILD) --dev

python:
	@test -n "$(PYTHON)" || { echo "Pairway needs Python 3.11 or 3.12 with the venv module (on Debian and Ubuntu:" \
		"apt install python3-venv); none of python3.11, python3.12 and python3 qualifies. Choose yours:" \
		"make PYTHON=/path/to/python3.11 …" >&2; exit 1; }

lock: python  ## Resolve pyproject.toml into requirements/ (UPGRADE=--upgrade takes newer versions).
	@cmp -s requirements/uv.txt .venv-lock/uv.txt || { $(PYTHON) -m venv .venv-lock \
		&& .venv-lock/bin/python -m pip install --quiet --require-hashes -r requirements/uv.txt \
		&& cp requirements/uv.txt .venv-lock; }
	@rm -rf $(LOCK) && mkdir -p $(LOCK)
	@# Everything is resolved together first, so that any locks can share an environment; hashes are for one file at a time.
	@cat requirements/proxy.txt requirements/apiserver-cpu.txt requirements/local.txt requirements/dev.txt \
		2>/dev/null | sed -n "s/ \\\\$$//p" | grep == | sort -u >$(LOCK)/all.txt || true
	@$(COMPILE) --no-generate-hashes $(UPGRADE) --extra proxy --extra apiserver --extra cpu --extra local --extra dev \
		--excludes requirements/excluded.txt --output-file $(LOCK)/all.txt
	@for part in proxy local dev; do \
		$(COMPILE) --extra $$part --constraints $(LOCK)/all.txt --output-file $(LOCK)/$$part.txt || exit 1; done
	@$(COMPILE) --extra apiserver --extra cpu --constraints $(LOCK)/all.txt \
		--excludes requirements/excluded.txt --output-file $(LOCK)/apiserver-cpu.txt
	@# CUDA: vLLM has its own torch from PyPI; packages that other locks have too must have the same versions.
	@test ! -f requirements/apiserver-cuda.txt || cp requirements/apiserver-cuda.txt $(LOCK)/apiserver-cuda.txt
	@$(COMPILE) $(UPGRADE) --extra apiserver --extra cuda --constraints $(LOCK)/proxy.txt \
		--constraints $(LOCK)/local.txt --constraints $(LOCK)/dev.txt --output-file $(LOCK)/apiserver-cuda.txt
	@# The clients and the browser's driver of the tests: nothing else of the product's has a say in their versions.
	@for part in clients clients-translate pages edge; do \
		test ! -f requirements/$$part.txt || cp requirements/$$part.txt $(LOCK)/$$part.txt; \
		$(RESOLVE) $(UPGRADE) --group $$part --excludes requirements/clients-excluded.txt \
			--output-file $(LOCK)/$$part.txt || exit 1; done
	@# What builds the client's wheel, and what that needs of others on any Python.
	@test ! -f requirements/client-wheel.txt || cp requirements/client-wheel.txt $(LOCK)/client-wheel.txt
	@$(RESOLVE) $(UPGRADE) client/pyproject.toml --extra cli --group client-wheel --output-file $(LOCK)/client-wheel.txt
	@# The tools that install, lock and audit, and matplotlib.
	@for part in pip uv audit plots; do \
		test ! -f requirements/$$part.txt || cp requirements/$$part.txt $(LOCK)/$$part.txt; \
		$(RESOLVE) --universal $(UPGRADE) --group $$part --output-file $(LOCK)/$$part.txt || exit 1; done
	@rm $(LOCK)/all.txt
	@$(PLAIN) $(LOCK)/*.txt && mv $(LOCK)/*.txt requirements/ && cp requirements/uv.txt .venv-lock && wc -l requirements/*.txt

# The database knows versions: no hashes, and torch without its build. Several versions of one package are in several files.
audit: python  ## Compare all that is pinned with a database of known faults; fail if something has one, or if no database answers.
	@rm -rf .cache/audit && mkdir -p .cache/audit && $(PYTHON) -m venv .cache/audit/venv
	@.cache/audit/venv/bin/python -m pip install --quiet --require-hashes -r requirements/audit.txt
	@sed -n "s/^\([^ #=]*==[^ +]*\).*/\1/p" requirements/*.txt | sort -u \
		| awk -F== '{ file = ".cache/audit/pins-" ++versions[$$1] ".txt"; print >file }'
	@for pins in .cache/audit/pins-*.txt; do \
		.cache/audit/venv/bin/pip-audit --strict --no-deps --disable-pip --progress-spinner off \
			--output $$pins.faults --requirement $$pins && continue; \
		cat $$pins.faults 2>/dev/null || echo "not audited: no database answers for all of it" >&2; exit 1; done

pin-images:  ## Write the digests of the images' tags, as their registry answers them, into deploy/images.yml.
	@sed -E "s/@sha256:[0-9a-f]+$$//" deploy/images.yml >deploy/images.yml.new
	@for image in $$(sed -nE "s/^ +(image|PYTHON_IMAGE): //p" deploy/images.yml.new); do \
		digest=$$(docker buildx imagetools inspect $$image --format "{{.Manifest.Digest}}") \
		&& echo "$$digest" | grep -qxE "sha256:[0-9a-f]{64}" \
		|| { echo "no registry answers for $$image: deploy/images.yml stays as it is" >&2; rm deploy/images.yml.new; exit 1; }; \
		sed -i "s|: $$image$$|&@$$digest|" deploy/images.yml.new; done
	@mv deploy/images.yml.new deploy/images.yml && grep @ deploy/images.yml

tune: dev  ## Measure how many texts an engine should run at once; print catalog lines. (CATALOG= MODEL= SEQS= TOKENS= SECONDS= PAIRS=folder of *.valid.tsv)
	@$(BIN)/python -m benchmarks.sizing.tune --catalog $(CATALOG) --pairs $(PAIRS) $(if $(MODEL),--model $(MODEL)) \
		$(if $(SEQS),--seqs $(SEQS)) $(if $(TOKENS),--tokens $(TOKENS)) $(if $(SECONDS),--seconds $(SECONDS))

bench-quality: dev  ## Measure quality with and without guards. (PAIRS=folder of *.valid.tsv HELD_OUT=folder of *.held-out.tsv PARTS= LIMIT=1000 CATALOG= MODELS= OUT=.run/quality)
	@$(BIN)/python -m benchmarks.quality --pairs $(PAIRS) --catalog $(CATALOG) --out $(or $(OUT),.run/quality) \
		$(if $(HELD_OUT),--held-out $(HELD_OUT)) $(if $(PARTS),--parts $(PARTS)) $(if $(LIMIT),--limit $(LIMIT)) \
		$(if $(MODELS),--models $(MODELS))

shown-sentences: dev  ## Translate the sentences that README.md, models/CARD.md and docs/benchmarks/quality.md show, and renew their rows.
	@$(BIN)/python -m benchmarks.quality --parts shown --publish --catalog $(CATALOG)

calibrate: dev  ## Fit the models' confidence to held-out pairs; write calibration/NAME.yaml beside the catalog. (PAIRS=folder of *.valid.tsv CATALOG= MODELS= LIMIT=1000 DIAGRAM=)
	@$(BIN)/python -m benchmarks.calibration --pairs $(PAIRS) --catalog $(CATALOG) $(if $(MODELS),--models $(MODELS)) \
		$(if $(DIAGRAM),--diagram $(DIAGRAM)) $(if $(LIMIT),--limit $(LIMIT))

bench-confidence: dev  ## Measure what confidence costs the engine. (PAIRS=folder of *.valid.tsv CATALOG= MODELS= TEXTS= SECONDS=)
	@$(BIN)/python -m benchmarks.calibration.cost --pairs $(PAIRS) --catalog $(CATALOG) $(if $(MODELS),--models $(MODELS)) \
		$(if $(TEXTS),--texts $(TEXTS)) $(if $(SECONDS),--seconds $(SECONDS))

bench-guards: dev  ## Count the guards' false alarms on reference translations. (PAIRS=folder of *.valid.tsv)
	@$(BIN)/python -m benchmarks.quality.alarms.guard_alarms --pairs $(PAIRS)/*.valid.tsv
	@$(BIN)/python -m benchmarks.quality.alarms.name_alarms --pairs $(PAIRS)/*.valid.tsv
	@$(BIN)/python -m benchmarks.quality.alarms.number_alarms --pairs $(PAIRS)/*.valid.tsv
	@$(BIN)/python -m benchmarks.quality.alarms.calendar_alarms --pairs $(PAIRS)/*.valid.tsv

bench-long: dev  ## Measure short requests during a long one; `make up` must run. (PAIRS=folder with en-de.train.tsv CHARS=)
	@$(BIN)/python -m benchmarks.quality.long_text --pairs $(PAIRS)/en-de.train.tsv --url http://$(HOST):$(PORT) \
		$(if $(CHARS),--chars $(CHARS))

bench-overload: dev  ## Load the demo model up to 4 times its capacity; fail if a target is missed. (PAIRS= SECONDS= SEED= PARTS= OUT=.run/overload)
	@$(BIN)/python -m benchmarks.overload --pairs $(PAIRS)/en-de.valid.tsv --out $(or $(OUT),.run/overload) \
		$(if $(SECONDS),--seconds $(SECONDS)) $(if $(SEED),--seed $(SEED)) $(if $(PARTS),--parts $(PARTS))

bench-connections: test-edge-setup  ## Measure normal clients among silent, slow and hostile ones; fail if a target is missed. (KINDS= HOLD= OUT=.run/connections)
	@$(BIN)/python -m benchmarks.connections --out $(or $(OUT),.run/connections) --nginx "$$($(BIN)/python -m tests.edge.install)" \
		$(if $(KINDS),--kinds "$(KINDS)") $(if $(HOLD),--hold $(HOLD))

bench-hostile: dev  ## Send hostile inputs of growing size to every endpoint; fail where a loop stands still, or twice the size costs more than 2.5 times. (ROWS=pattern DOUBLINGS=5 OUT=.run/hostile)
	@$(BIN)/python -m tests.hostile --out $(or $(OUT),.run/hostile) $(if $(ROWS),--rows '$(ROWS)') \
		$(if $(DOUBLINGS),--doublings $(DOUBLINGS))

bench-proxy: dev  ## Compare our proxy with others, CPU per request and more; fail if a target is missed. (PEERS= BEFORE=folder of another checkout ROUNDS= SECONDS= CONCURRENCY= OUT=.run/proxy)
	@$(BIN)/python -m benchmarks.proxy --out $(or $(OUT),.run/proxy) $(if $(PEERS),--peers $(PEERS)) $(if $(BEFORE),--before $(BEFORE)) \
		$(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(SECONDS),--seconds $(SECONDS)) \
		$(if $(CONCURRENCY),--concurrency $(CONCURRENCY))

bench-origin: dev  ## Repeat the origin's experiment: six designs, two references; fail if a target is missed. (PAIRS= DEVICE=cpu|cuda SHAPE= ROUNDS=5 SECONDS=2.5 CONCURRENCY= OPEN= ARCHITECTURES= KINDS= TEXTS= SEED= OUT=.run/origin)
	@$(BIN)/python -m benchmarks.origin --pairs $(PAIRS)/en-de.valid.tsv --out $(or $(OUT),.run/origin) \
		$(if $(DEVICE),--device $(DEVICE)) $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(SECONDS),--seconds $(SECONDS)) \
		$(if $(CONCURRENCY),--concurrency $(CONCURRENCY)) $(if $(ARCHITECTURES),--architectures $(ARCHITECTURES)) \
		$(if $(OPEN),--open $(OPEN)) $(if $(KINDS),--kinds $(KINDS)) $(if $(SEED),--seed $(SEED)) $(if $(SHAPE),--shape $(SHAPE)) \
		$(if $(TEXTS),--texts $(TEXTS))

bench-origin-plots: python  ## Draw the results of bench-origin, in a separate environment. (OUT=.run/origin)
	@test -x .venv-plots/bin/python || $(PYTHON) -m venv .venv-plots
	@.venv-plots/bin/python -m pip install --quiet --require-hashes -r requirements/plots.txt
	@.venv-plots/bin/python -m benchmarks.origin.plots $(or $(OUT),.run/origin)

bench-scale: dev  ## Measure 200 replicas, 50 pairs, 4 proxies: sweeps, requests, Redis, /health; fail if a target is missed. (REPLICAS= PAIR_COUNT= ROUNDS= SECONDS= SHAPES= PARTS= OUT=.run/scale)
	@$(BIN)/python -m benchmarks.scale --out $(or $(OUT),.run/scale) $(if $(SHAPES),--shapes $(SHAPES)) $(if $(PARTS),--parts $(PARTS)) \
		$(if $(REPLICAS),--replicas $(REPLICAS)) $(if $(PAIR_COUNT),--pairs $(PAIR_COUNT)) \
		$(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(SECONDS),--seconds $(SECONDS))

bench-page: test-setup  ## Measure the pages in a browser: bytes, requests, first words, dead replicas, open pages; fail if a target is missed. (ROUNDS= SECONDS= OUT=.run/page)
	@$(BIN)/python -m tests.pages.bench --out $(or $(OUT),.run/page) $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(SECONDS),--seconds $(SECONDS))

bench-start: dev  ## Measure starts, and the way back of what is killed, cold and warm: seconds, CPU seconds, memory. (PARTS= MODELS=1,3 ROUNDS=5 OUT=.run/start)
	@$(BIN)/python -m benchmarks.start --out $(or $(OUT),.run/start) $(if $(PARTS),--parts $(PARTS)) \
		$(if $(MODELS),--models $(MODELS)) $(if $(ROUNDS),--rounds $(ROUNDS))

client-reference: dev  ## Write docs/client-reference.md from the client's code.
	@PYTHONPATH=client $(BIN)/python -m tests.client.reference

metrics-reference: dev  ## Write docs/operations/metrics.md, the table of all metrics, from the code.
	@$(BIN)/python -m tests.docs.metrics_reference

dashboards: dev  ## Write Grafana's dashboards, deploy/monitoring/dashboards/, from deploy/dashboards/.
	@$(BIN)/python -m deploy.dashboards

bench-client: dev  ## Measure what the Python client costs beside plain httpx; fail if a target is missed. (ROUNDS=5 CALLS=2000 TEXTS=10000 OUT=.run/client)
	@PYTHONPATH=client $(BIN)/python -m benchmarks.client --out $(or $(OUT),.run/client) $(if $(ROUNDS),--rounds $(ROUNDS)) \
		$(if $(CALLS),--calls $(CALLS)) $(if $(TEXTS),--texts $(TEXTS))

request-path: dev  ## Trace the product files that one warm request en-de enters; fail if there are too many.
	@$(BIN)/python -m benchmarks.request_path

plan: dev  ## Compute the number of replicas for a rate and a p95 in seconds. (RATE=100 P95=1.0 MEASURED=.run/overload/results.json, see benchmarks/README.md)
	@$(BIN)/python -m benchmarks.sizing --rate $(RATE) --p95 $(P95) --measured $(or $(MEASURED),.run/overload/results.json)

faults: dev  ## Run the full fault suite, and compare with peers; fail if a target is missed. (ROWS= SECONDS= SEED= OUT=.run/faults)
	@$(BIN)/python -m tests.faults --out $(or $(OUT),.run/faults) $(if $(ROWS),--rows $(ROWS)) \
		$(if $(SECONDS),--seconds $(SECONDS)) $(if $(SEED),--seed $(SEED))

compose-test: dev  ## Run the compose file for real under load, with everything that operators change; fail if a request fails. (ROWS= RATE=20 AFTER= OUT=.run/compose)
	@$(BIN)/python -m tests.compose --out $(or $(OUT),.run/compose) $(if $(ROWS),--rows $(ROWS)) \
		$(if $(RATE),--rate $(RATE)) $(if $(AFTER),--after $(AFTER))

soak: dev  ## Run random faults under load, and check for leaks. (MINUTES=20 SEED= OUT=.run/soak)
	@$(BIN)/python -m tests.faults.soak --out $(or $(OUT),.run/soak) --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

clean:  ## Remove the environments, caches and run files.
	@rm -rf .venv .venv-* .run .cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage*
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
