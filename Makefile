# SPDX-License-Identifier: Apache-2.0
# The front door. Meson and ninja do the work; the scripts behind each target are in tools/.
# BUILD names the build folder; sanitizer and compiler builds get folders beside it.
BUILD ?= build
PREFIX ?= /usr/local
SCRATCH ?= $(BUILD)/repair

.PHONY: help build run test test-long bench lint format sanitize compilers docs install uninstall clean
.DEFAULT_GOAL := help

help:
	@echo 'make build       install what is missing (Debian packages), then build into $(BUILD)/'
	@echo 'make run         build, then watch a loop repair a broken program'
	@echo 'make test        everything that must hold; last line: N passed, N failed'
	@echo 'make test-long   long crash, simulation and power-cut tests'
	@echo 'make bench       measure against floor programs'
	@echo 'make lint        format, clang-tidy, cppcheck, layers, sizes, scripts'
	@echo 'make sanitize    unit tests and simulator under ASan + UBSan, and under TSan'
	@echo 'make compilers   gcc and clang with -Werror'
	@echo 'make format      lay out the C sources with clang-format'
	@echo 'make docs        write the generated pages in docs/ again'
	@echo 'make install     into PREFIX ($(PREFIX)); DESTDIR is respected'
	@echo 'make clean       remove the build folders'

build:
	@tools/setup.sh build
	@tools/build.sh $(BUILD)

run:
	@tools/setup.sh build run
	@tools/build.sh $(BUILD)
	@tools/run-example.sh $(BUILD) $(SCRATCH)

test:
	@python3 --version >/dev/null 2>&1 || tools/setup.sh build
	@tools/test.py --build $(BUILD)

test-long:
	@tools/setup.sh build test long browser
	@tools/build.sh $(BUILD)
	@tools/test-long.sh $(BUILD)

bench:
	@tools/setup.sh build
	@tools/bench.sh $(BUILD)

lint:
	@tools/setup.sh build lint
	@tools/build.sh $(BUILD)
	@tools/lint.sh $(BUILD)

format:
	@tools/setup.sh lint
	@tools/sources.sh | xargs clang-format -i

sanitize:
	@tools/setup.sh build test
	@tools/test.py --build $(BUILD) --only address --only thread

compilers:
	@tools/setup.sh build test
	@tools/test.py --build $(BUILD) --only gcc --only clang

docs: build
	@tools/docs.sh $(BUILD)

install: build
	@meson configure $(BUILD) --prefix "$(abspath $(PREFIX))"
	@DESTDIR="$(DESTDIR)" meson install -C $(BUILD) --quiet
	@echo 'installed into $(DESTDIR)$(abspath $(PREFIX))'

uninstall:
	@ninja -C $(BUILD) uninstall

clean:
	rm -rf $(BUILD) $(BUILD)-gcc $(BUILD)-clang $(BUILD)-address $(BUILD)-thread $(BUILD)-bench
