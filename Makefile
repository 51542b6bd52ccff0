# The commands of the project. `make` alone lists them.
#
# A .env file is read when there is one; see .env.example.

# Values given on the command line reach the commands as they are, through the environment.
export NAME SLUG ZONE CLUB SUB ROLE DURATION SEED CHECK FAULTS RUNS QUICK ONLY PROFILE SCALE TITLE
# WSL sets a variable NAME to the name of the machine, which is not the name of a club.
ifeq ($(origin NAME),environment)
unexport NAME
endif

ENV_FILE := $(if $(wildcard .env),--env-file=.env)
# The commands are TypeScript, which tsx runs directly; production, tests and benchmark run compiled code.
NODE := node --import=tsx $(ENV_FILE)
TEST := node --enable-source-maps $(ENV_FILE) dist/development/tools/test.js
# The defects of chaos take minutes: `make chaos` plants all of them, `make defects` two. Those of campaigns take longest, so they are first.
OF_CHAOS := test/defects/campaigns/chaos/scenarios.txt
SAMPLE := 'An idempotency key is forgotten' 'The reply does not wait for COMMIT'
PLANTED := $(SAMPLE) $(filter-out $(OF_CHAOS),$(wildcard test/defects/campaigns/*/*.txt test/defects/*/*.txt))
# Those of every change; the others of test/campaigns have commands of their own.
CAMPAIGNS := $(wildcard test/campaigns/matrix/*.test.ts test/campaigns/mutants/*.test.ts) \
  $(filter-out %/timing.test.ts,$(wildcard test/campaigns/attack/*.test.ts)) \
  $(addprefix test/campaigns/chaos/,checker.test.ts order.test.ts scenarios.test.ts) test/campaigns/cells/resume.test.ts
PLANT := node --enable-source-maps $(ENV_FILE) dist/development/tools/defects.js
DEVELOPMENT := NODE_ENV=$${NODE_ENV:-development} $(NODE)

.PHONY: help run reset dev test tools browser coverage campaigns full defects chaos failover cells load attack deploys bench check format verify snapshot migrate audit psql token club clean

help: ## list the commands
	@grep -E '^[a-z]+:.*## ' Makefile | awk -F ':.*## ' '{ printf "make %-10s %s\n", $$1, $$2 }'

run: node_modules ## start everything: PostgreSQL, demo data, token issuer, the service
	@$(DEVELOPMENT) tools/run.ts

reset: node_modules ## drop the embedded database, with all its clubs; the next make run creates a new one
	@$(DEVELOPMENT) tools/reset.ts

dev: node_modules ## same as run, restarting on source changes
	@$(DEVELOPMENT) --watch-path=src --watch-path=tools --watch-path=sql tools/run.ts

test: build development ## run the tests of API, database, SQL and client against a real PostgreSQL; FILES=test/api/tasks.test.ts for some, TEST_POSTGRES_BIN or TEST_DATABASE_URL for another server
	@node_modules/.bin/tsc --project client
	@$(TEST) $(FILES)

tools: build development ## run the tests of these commands and of the code on the pages
	@node_modules/.bin/tsc --project client
	@$(TEST) test/tools/*.test.ts

coverage: node_modules ## run the tests and print which lines of src they ran; FILES as with make test
	@node_modules/.bin/c8 $(MAKE) --no-print-directory test

campaigns: build development ## the campaigns of every change: isolation by matrix and mutants, attacks, the order of events, the oracle of chaos, a move between two cells that is killed
	@$(TEST) $(CAMPAIGNS)

full: ## everything that is tested, for some hours, and a record in .ci/full.txt; DURATION=600 for shorter chaos
	@.ci/run full

browser: build development ## the two pages in Chromium
	@node_modules/.bin/tsc --project client
	@$(TEST) test/browser/*.test.ts

defects: development ## plant defects in copies of the source, each of which a test must find; FILES=test/defects/api/calendar.txt or TITLE='Members delete tasks' for some
	@$(PLANT) $(if $(TITLE),"$$TITLE",$(or $(FILES),$(PLANTED)))

chaos: build development ## kill, crash, freeze and cut everything under load, then check what clients saw; DURATION=600 SEED=7, CHECK=file for a saved history
	@rm -f .tap/chaos.txt
	@status=0; \
	$(if $(CHECK),,$(PLANT) $(OF_CHAOS) || status=1;) \
	DURATION=$${DURATION:-180} $(TEST) test/campaigns/chaos/chaos.test.ts || status=1; \
	$(if $(CHECK),,DURATION=$${DURATION:-180} $(TEST) test/campaigns/chaos/order.test.ts || status=1;) \
	cat .tap/chaos.txt && exit $$status

failover: build development ## kill, freeze and cut off the primary of three servers under Patroni; FAULTS='node lost,switchover' for some
	@rm -f .tap/failover.txt
	@status=0; $(TEST) test/campaigns/failover/failover.test.ts || status=1; \
	cat .tap/failover.txt && exit $$status

cells: build development ## move clubs between two clusters behind HAProxy under load and faults, and measure the pause of a large club; DURATION=600 SEED=7, SCALE=100000 for its tasks
	@rm -f .tap/cells.txt
	@status=0; DURATION=$${DURATION:-120} $(TEST) test/campaigns/cells/cells.test.ts || status=1; \
	$(TEST) test/campaigns/cells/pause.test.ts || status=1; \
	cat .tap/cells.txt && exit $$status

load: build development ## measure the capacity of the service, send ten times as much, and flood it from one club beside a quiet one; MAX_CONNECTIONS=5000 for more clients
	@rm -f .tap/load.txt
	@status=0; LOAD=whole $(TEST) test/campaigns/load/load.test.ts || status=1; \
	cat .tap/load.txt && exit $$status

attack: build development ## try to break in: tokens, other clubs, injection, random requests; RUNS=200000 for more of these, FILES=test/api/authenticate.test.ts for some
	@rm -f .tap/attacks.txt
	@status=0; \
	ATTACK=whole $(TEST) $(or $(FILES),test/campaigns/attack/*.test.ts test/api/authenticate.test.ts) || status=1; \
	touch .tap/attacks.txt; awk '{ tried += $$1; succeeded += $$3; errors += $$5; leaks += $$8 } \
	  END { print "attacks: " tried + 0 " tried, " succeeded + 0 " succeeded, " errors + 0 " server errors, " leaks + 0 " leaks"; \
	  exit tried == 0 || succeeded + errors + leaks > 0 }' .tap/attacks.txt || status=1; exit $$status

deploys: build development ## deploy under load, with 400,000 tasks, two at once, killed, and against a lock
	@DEPLOYS=whole $(TEST) test/sql/interruptions.test.ts test/campaigns/deploy/deploy.test.ts

bench: build development bench/rivals/node_modules ## compare the service with its rivals and limits; QUICK=1 takes some minutes, ONLY=tasks-page,mix a part
	@node_modules/.bin/tsc --project bench/rivals
	@node --enable-source-maps dist/development/bench/run.js

check: development ## check types, lint, format, the structure of the source, the links, commands and names of the pages, and that each defect can be planted
	@node_modules/.bin/tsc --project client && node_modules/.bin/tsc || { $(NODE) tools/snapshot.ts --stale; exit 1; }
	@node_modules/.bin/biome check --error-on-warnings
	@$(NODE) tools/lint-docs.ts
	@$(TEST) test/source/*.test.ts

format: node_modules ## format the source
	@node_modules/.bin/biome check --write

verify: node_modules ## fail if a generated file is stale, a new database has a finding of the audit or breaks a rule of sql/lint.sql, or a migration would block requests
	@$(NODE) tools/snapshot.ts --verify
	@$(NODE) tools/lint-migrations.ts

snapshot: node_modules ## write the generated files: the roles in sql/policies and sql/audit, sql/snapshot.txt, docs/errors.md, docs/api-snapshot.txt, docs/requests.http, docs/api.md's operations, the client's types
	@$(NODE) tools/snapshot.ts

migrate: build ## deploy migrations and policies to MIGRATION_DATABASE_URL
	@node --enable-source-maps $(ENV_FILE) dist/migrate.js

audit: node_modules ## report whether the clubs are isolated, in AUDIT_DATABASE_URL or the database of make run; ACCESS=1 also for who may do what
	@$(DEVELOPMENT) tools/audit.ts $(if $(ACCESS),access)

psql: node_modules ## a psql session as the runtime role inside a demo club; CLUB=north SUB=anna ROLE=Manager
	@$(DEVELOPMENT) tools/psql.ts "$$CLUB" "$$SUB" "$$ROLE"

# As one file it starts in a third of the time. It is moved into place, so that a parallel `make token` never reads a part.
token: node_modules ## print a token of the development issuer; SUB=anna CLUB=north ROLE=Manager
	@file=dist/development/token.js; \
	node_modules/.bin/esbuild tools/token.ts --bundle --packages=external --outfile=$$file.$$$$ \
	  --platform=node --format=esm --log-level=warning && mv $$file.$$$$ $$file
	@NODE_ENV=$${NODE_ENV:-development} node $(ENV_FILE) dist/development/token.js "$$SUB" "$$CLUB" "$$ROLE"

club: node_modules ## create a club and print its id; NAME="Chess Club" SLUG=chess ZONE=Europe/Berlin
	@$(DEVELOPMENT) tools/club.ts "$$NAME" "$$SLUG" "$$ZONE"

clean: ## remove what was built; keeps .data
	@rm -rf dist client/dist .tap bench/rivals/dist

# The commands below are quiet, so that `make token` prints a token and nothing else.
.PHONY: build development
build: node_modules
	@node_modules/.bin/tsc --project tsconfig.build.json

# Compiled once, each process of the tests starts faster. `make check` checks the types.
development: node_modules
	@node_modules/.bin/esbuild 'src/**/*.ts' 'tools/**/*.ts' 'test/**/*.ts' 'bench/*.ts' 'bench/limits/*.ts' 'client/src/**/*.ts' \
	  --outdir=dist/development --outbase=. --platform=node --format=esm --sourcemap --sources-content=false --log-level=warning

node_modules: package-lock.json
	@npm ci --include=dev --no-progress >&2
	@touch node_modules

# What only the bench needs is installed when it runs.
bench/rivals/node_modules: bench/rivals/package-lock.json
	@npm ci --prefix bench/rivals --no-progress >&2
	@touch bench/rivals/node_modules
