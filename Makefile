# supple: `make` builds, `make demo` shows, `make check` tests. One makefile, non-recursive.
#
#   SAN=1              address and undefined-behaviour sanitizers, in a build folder of their own
#   COVERAGE=1         counts which lines ran, in a build folder of its own (make coverage)
#   FUZZ=1             the same with libFuzzer's instrumentation, clang only (make fuzz)
#   PREFIX, DESTDIR    where `make install` puts things; LIBDIR, ZSH_COMPLETIONS where a distribution has its own places
#   V=1                show whole command lines
#
# `make viewer` bundles the page of `supple report`, with the run time in it where clang and wasi-libc are; it needs node and npm,
# all else builds without. `make demo` and `make check` try it where npm is installed.

PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
ZSH_COMPLETIONS ?= $(PREFIX)/share/zsh/site-functions
CXX := $(if $(filter clang%,$(notdir $(CC))),clang++,$(CXX))
CFLAGS ?= $(if $(FUZZ),-O1 -gline-tables-only,$(if $(COVERAGE),-O1 -g,-O2 -g))
PKG_CONFIG ?= pkg-config

WARN := -Wall -Wextra -Wshadow -Wpointer-arith -Wvla
C_WARN := -Wstrict-prototypes -Wmissing-prototypes
BUILD := build/$(if $(COVERAGE),coverage,$(if $(FUZZ),fuzz,$(if $(SAN),san,$(if $(filter clang%,$(notdir $(CC))),clang,default))))
BIN := $(if $(filter build/default,$(BUILD)),bin,$(BUILD)/bin)
comma := ,
SANFLAGS := $(if $(SAN),-fsanitize=address$(comma)undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
# libFuzzer's instrumentation, with the sanitizers; clang only.
SANFLAGS := $(if $(FUZZ),-fsanitize=address$(comma)undefined$(comma)fuzzer-no-link -fno-sanitize-recover=undefined -fno-omit-frame-pointer,$(SANFLAGS))
# Threads count as well, and children that end by _exit (core/child.c).
SANFLAGS := $(if $(COVERAGE),--coverage -fprofile-update=atomic -DSU_COVERAGE,$(SANFLAGS))
# The same objects go into the shared library, which shows what its headers declare and nothing else.
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -fopenmp -fPIC -fvisibility=hidden $(WARN) $(C_WARN) $(CFLAGS) $(SANFLAGS) -Ilib -I/usr/include/suitesparse $(CPPFLAGS)
# What lies between a C++ library and us. Its headers are not held to our warnings.
ALL_CXXFLAGS = -std=c++17 -fPIC -fvisibility=hidden -Wall -Wextra $(CFLAGS) $(SANFLAGS) -Ilib $(CPPFLAGS)

# Libraries. CHOLMOD and SPQR have no pkg-config file in Debian 12.
PACKAGES := zlib jansson libxxhash openblas lapacke arpack assimp draco
LDLIBS = -lspqr -lcholmod $(shell $(PKG_CONFIG) --libs $(PACKAGES)) -lstdc++ -lm
RUNTIME_LDLIBS = $(shell $(PKG_CONFIG) --libs zlib jansson libxxhash) -lm
OBJCOPY ?= objcopy

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-6s %s\n' $(1) $(2))

# ---- what there is ----

# Fuzzers call readers: what stands above these folders would take most of the build (docs/design.md, section 2).
LIB_C := $(if $(FUZZ),$(wildcard $(foreach d,core geometry io io/* rig,lib/$(d)/*.c)),$(wildcard lib/*/*.c lib/*/*/*.c))
LIB_CXX := $(wildcard lib/*/*/*.cpp)
# What a game or a plug-in links: these and what they need, which is no sparse solver and no BLAS (tests/test_layers.sh).
RUNTIME_C := $(wildcard lib/runtime/supple_*.c)
RUNTIME_H := lib/runtime/supple_runtime.h lib/runtime/supple_clip.h
TOOL_DIRS := $(notdir $(patsubst %/,%,$(dir $(wildcard tools/*/main.c))))
# A folder is named for what it does, its program for what one types.
program = $(if $(filter supple,$(1)),supple,supple-$(subst simulate,sim,$(subst tetfit,fit,$(1))))
PROGRAMS := $(foreach t,$(TOOL_DIRS),$(BIN)/$(call program,$(t)))
TEST_C := $(wildcard tests/test_*.c)
TESTS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(TEST_C))
TEST_HELP_C := $(filter-out $(TEST_C) tests/failing_memory.c,$(wildcard tests/*.c))
BENCH_C := $(wildcard bench/bench_*.c)
BENCH_HELP_C := $(filter-out $(BENCH_C),$(wildcard bench/*.c))
EXAMPLE_C := $(wildcard examples/*.c)
EXAMPLES := $(patsubst examples/%.c,$(BUILD)/examples/%,$(EXAMPLE_C))
BENCHES := $(patsubst bench/%.c,$(BUILD)/bench/%,$(BENCH_C))

LIB := $(BUILD)/libsupple.a
RUNTIME := $(BUILD)/libsupple-runtime.a
# supple_runtime.h says which version the interface has.
api = $(shell sed -n 's/^.define SUPPLE_RUNTIME_$(1) //p' lib/runtime/supple_runtime.h)
SONAME := libsupple-runtime.so.$(call api,MAJOR)
SHARED := $(BUILD)/$(SONAME).$(call api,MINOR)
VERSION := $(shell sed -n 's/^.define SU_VERSION "\(.*\)"/\1/p' lib/core/tool.h)
SCRIPTS := $(wildcard scripts/supple-*)
object = $(addprefix $(BUILD)/,$(addsuffix .o,$(basename $(1))))
SOURCES := $(LIB_C) $(LIB_CXX) $(wildcard tools/*/*.c) $(TEST_C) $(TEST_HELP_C) tests/failing_memory.c $(BENCH_C) $(BENCH_HELP_C) $(EXAMPLE_C) $(wildcard tests/fuzz/*.c)

all: $(LIB) $(RUNTIME) $(SHARED) $(PROGRAMS)

# ---- packages: installed where missing, by apt-get as root or through sudo ----

# Goals that must work on a bare machine fetch their packages first; plain `make` only names what is missing.
deps:
	$(Q)scripts/install-packages

# ---- compile and link ----

# Compiles everything, links nothing.
objects: $(call object,$(SOURCES))

# Objects depend on the flags they were made with.
FLAGS_NOW := $(CC) $(ALL_CFLAGS) $(CXX) $(ALL_CXXFLAGS)
$(BUILD)/flags: force
	@mkdir -p $(@D)
	@echo '$(FLAGS_NOW)' | cmp -s - $@ || echo '$(FLAGS_NOW)' > $@

$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/%.o: %.cpp $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CXX,$<)
	$(Q)$(CXX) $(ALL_CXXFLAGS) -MMD -MP -c -o $@ $<

# The run time, and what lives by the vector units beside it.
$(BUILD)/lib/runtime/%.o $(BUILD)/lib/physics/loads.o $(BUILD)/lib/physics/collider_mesh.o $(BUILD)/lib/io/expand.o $(BUILD)/lib/io/frame_window.o: CFLAGS += $(if $(SAN),-O1,-O3) -ffp-contract=fast -fno-math-errno
# Meshing and contact are small loops over corners and boxes, with square roots: unrolled and without errno a third faster. Nothing here
# lets results differ.
$(BUILD)/lib/geometry/%.o $(BUILD)/lib/contact/%.o: CFLAGS += $(if $(SAN)$(COVERAGE)$(FUZZ),,-O3) -fno-math-errno -fno-trapping-math
# Sums in vector lanes, fused where the processor can.
$(BUILD)/lib/fem/tet_lanes_%.o $(BUILD)/lib/linalg/factor_single.o $(BUILD)/lib/linalg/lane_kernels_%.o $(BUILD)/lib/linalg/sparse.o $(BUILD)/lib/linalg/half_panels_%.o: CFLAGS += -O3 -ffp-contract=fast -fno-math-errno
$(BUILD)/lib/estimate/reduced_motion.o: CFLAGS += $(if $(SAN)$(COVERAGE)$(FUZZ),,-O3)

$(LIB): $(call object,$(LIB_C) $(LIB_CXX))
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# One object, so that the linker finds what belongs to it; its own names stay inside, those of a game are free.
$(RUNTIME): $(call object,$(RUNTIME_C)) $(LIB)
	$(call say,AR,$@)
	$(Q)$(LD) -r -o $(@:.a=.o) $^
	$(Q)$(OBJCOPY) --localize-hidden $(@:.a=.o)
	$(Q)rm -f $@ && $(AR) rcs $@ $(@:.a=.o)

# With the links by which it is linked and found.
$(SHARED): $(RUNTIME)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -shared -Wl,-soname,$(SONAME) $(LDFLAGS) -o $@ $(RUNTIME:.a=.o) $(RUNTIME_LDLIBS)
	$(Q)ln -sf $(notdir $@) $(@D)/$(SONAME) && ln -sf $(SONAME) $(@D)/libsupple-runtime.so

define tool_rule
$(BIN)/$(call program,$(1)): $(call object,$(wildcard tools/$(1)/*.c)) $(LIB)
	@mkdir -p $$(@D)
	$(call say,LD,$$@)
	$(Q)$$(CC) $$(ALL_CFLAGS) $$(LDFLAGS) -o $$@ $$^ $$(LDLIBS)
endef
$(foreach t,$(TOOL_DIRS),$(eval $(call tool_rule,$(t))))

# Programs in which the N-th allocation fails (tests/failing_memory.h): the library's calls go through its hooks.
WRAPPED := malloc calloc realloc aligned_alloc free strdup strndup getline __getdelim asprintf realpath $(if $(COVERAGE),__gcov_dump __gcov_fork)
$(BUILD)/tests/test_no_memory_%: $(BUILD)/tests/test_no_memory_%.o $(BUILD)/tests/failing_memory.o $(call object,$(TEST_HELP_C)) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(addprefix -Wl$(comma)--wrap=,$(WRAPPED)) $(LDFLAGS) -o $@ $^ -lcmocka $(LDLIBS) -lsuitesparseconfig

$(BUILD)/tests/test_%: $(BUILD)/tests/test_%.o $(call object,$(TEST_HELP_C)) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka $(LDLIBS)

# The n-th call fails (tests/faults/inject.c): no sanitizers, for what it runs may have them.
$(BUILD)/tests/faults/inject: tests/faults/inject.c tests/faults/faults.h $(BUILD)/tests/faults/preload.so
	$(call say,LD,$@)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE $(WARN) -O2 -o $@ $<
$(BUILD)/tests/faults/%.so: tests/faults/%.c tests/faults/faults.h
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE $(WARN) -O2 -shared -fPIC -o $@ $<

$(BUILD)/tests/fuzz/fuzz: $(BUILD)/tests/fuzz/fuzz.o $(BUILD)/tests/readers.o $(LIB)
	$(call say,LD,$@)
	$(Q)$(CXX) $(ALL_CFLAGS) -fsanitize=fuzzer $(LDFLAGS) -o $@ $^ $(LDLIBS)

# The run-time archive and nothing else: what a game links.
$(BUILD)/examples/%.o: CPPFLAGS += -Ilib/runtime
$(BUILD)/examples/%: $(BUILD)/examples/%.o $(RUNTIME)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(RUNTIME_LDLIBS)

$(BUILD)/bench/bench_%: $(BUILD)/bench/bench_%.o $(call object,$(BENCH_HELP_C)) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

-include $(patsubst %.o,%.d,$(call object,$(SOURCES)))

# ---- the page of supple report: three.js and uPlot from the npm registry; nothing else needs npm ----

VIEWER := build/viewer/report.html
# The run time as WebAssembly (scripts/packages-live); without it the page only plays.
LIVE := build/viewer/live.wasm
viewer: live-packages
	+$(Q)$(MAKE) -s --no-print-directory $(VIEWER)
# What it lacks without them it says when it is built.
live-packages:
	$(Q)! command -v npm >/dev/null || scripts/install-packages scripts/packages-live 2>/dev/null || true
$(VIEWER): WEB := $(filter-out %/node_modules,$(wildcard tools/report/web/*))
$(VIEWER): $(wildcard tools/report/web/* tools/report/wasm/* lib/runtime/*.[ch] lib/runtime/*/*.[ch] lib/physics/*.[ch] lib/contact/*.[ch])
	$(call say,NPM,$@)
	$(Q)mkdir -p $(@D)/source && cp $(WEB) $(@D)/source/
	$(Q)rm -f $(LIVE); tools/report/wasm/build $(LIVE) || { [ $$? = 2 ] && \
	    echo 'the page of supple report plays and does not simulate: install the packages of scripts/packages-live'; }
	$(Q)cd $(@D)/source && npm ci --silent --no-audit --no-fund >npm.log 2>&1 || { cat npm.log; exit 1; }
	$(Q)node $(@D)/source/build.mjs $(CURDIR)/$@ $(CURDIR)/$(LIVE)

# Where npm is: demo and check show and test the page then. No network is no reason to stop.
try-viewer: live-packages
	+$(Q)! command -v npm >/dev/null || timeout 120 $(MAKE) -s --no-print-directory $(VIEWER) || echo 'the viewer of supple report could not be bundled; all else goes on'

# ---- use ----

# The build itself runs after the packages are there, hence the second make; on all processors where -j says nothing else.
ALL_PROCESSORS = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))
demo: deps
	+$(Q)$(MAKE) --no-print-directory $(ALL_PROCESSORS) all try-viewer
	$(Q)scripts/demo $(BIN) out/demo

check: deps
	+$(Q)$(MAKE) --no-print-directory try-viewer
	+$(Q)$(MAKE) --no-print-directory $(ALL_PROCESSORS) check-built

examples: $(EXAMPLES)

# 10,000 frames in one call, 2,000 shots in one call: how much memory each further one takes.
soak: all $(BUILD)/tests/faults/heap.so
	$(Q)tests/faults/soak $(BIN) $(BUILD)/tests/faults/heap.so

# Which lines of lib/ the tests run, by folder and file; fails below 90 %, for readers 95 % (docs/reliability.md). Needs lcov.
coverage:
	+$(Q)$(MAKE) --no-print-directory COVERAGE=1 all
	$(Q)find build/coverage -name '*.gcda' -delete
	+$(Q)$(MAKE) --no-print-directory COVERAGE=1 check-built || true
	$(Q)scripts/coverage build/coverage

# What `make check` samples, in full (docs/reliability.md): every system call of a small bake of every program fails in turn, and of
# allocations MOST a program (0: all, an hour); kill -9 at KILLS random instants. With SAN=1 leaks are looked for as well.
faults: all $(BUILD)/tests/faults/inject
	$(Q)nice tests/faults/sweep --bin $(BIN) --inject $(BUILD)/tests/faults/inject --kinds open,read,write,sync,rename,fork,map -j $(JOBS)
	$(Q)nice tests/faults/sweep --bin $(BIN) --inject $(BUILD)/tests/faults/inject --kinds memory --most $(or $(MOST),300) $(if $(SAN),--asan) -j $(JOBS)
	$(Q)nice tests/faults/kills --bin $(BIN) --count $(or $(KILLS),1000)
JOBS ?= $(shell nproc)

# T=word runs only the tests whose name contains it.
check-built: all $(TESTS) $(EXAMPLES) $(BUILD)/tests/faults/inject $(BUILD)/tests/faults/heap.so
	$(Q)BIN=$(CURDIR)/$(BIN) BUILD=$(CURDIR)/$(BUILD) tests/run $(T)

bench: all $(BENCHES)
	$(Q)BIN=$(CURDIR)/$(BIN) BUILD=$(CURDIR)/$(BUILD) bench/run $(T)

# Tables and figures after the paper's, through the programs themselves, into build/experiments (docs/experiments.md).
# T=NAMES runs only those. matplotlib draws the figures where it is there.
experiments: all
	$(Q)for p in python3 /usr/bin/python3; do "$$p" -c 'import numpy' 2>/dev/null && \
	    exec nice "$$p" scripts/experiments/run --bin $(BIN) --out build/experiments $(T); done; \
	    echo 'make experiments needs python3-numpy' >&2; exit 1

# Every format, judged by three.js, Khronos' validator, TinyUSDZ, Blender and what else is there: remakes docs/format-checks.md.
check-formats: all
	+$(Q)$(MAKE) -s --no-print-directory try-viewer
	$(Q)for p in python3 /usr/bin/python3; do "$$p" -c 'import numpy' 2>/dev/null && exec "$$p" scripts/check-formats --bin $(BIN); done; \
	    echo 'make check-formats needs python3-numpy' >&2; exit 1

# Ten minutes of CPU a reader (MINUTES), or only those in READERS; clang's libFuzzer with ASan and UBSan.
fuzz:
	+$(Q)$(MAKE) --no-print-directory $(ALL_PROCESSORS) CC=clang FUZZ=1 build/fuzz/tests/fuzz/fuzz
	$(Q)nice scripts/fuzz-readers --minutes $(or $(MINUTES),10) build/fuzz/tests/fuzz/fuzz $(READERS)

# What stands in share/doc is found from the top of it, as in a checkout.
install: all
	install -d $(addprefix $(DESTDIR),$(PREFIX)/bin $(LIBDIR)/pkgconfig $(PREFIX)/include $(PREFIX)/share/supple \
	    $(PREFIX)/share/man/man1 $(addprefix $(PREFIX)/share/doc/supple/,docs/notes examples) \
	    $(PREFIX)/share/bash-completion/completions $(ZSH_COMPLETIONS))
	install -m 755 $(PROGRAMS) $(SCRIPTS) $(DESTDIR)$(PREFIX)/bin
	install -m 644 $(RUNTIME) $(SHARED) $(DESTDIR)$(LIBDIR)
	cp -P $(BUILD)/$(SONAME) $(BUILD)/libsupple-runtime.so $(DESTDIR)$(LIBDIR)
	scripts/runtime-pc '$(PREFIX)' '$(LIBDIR)' '$(VERSION)' > $(DESTDIR)$(LIBDIR)/pkgconfig/supple-runtime.pc
	install -m 644 $(RUNTIME_H) $(DESTDIR)$(PREFIX)/include
	install -m 644 scripts/pipeline.mk scripts/common.sh scripts/blender/supple_addon.py $(wildcard $(VIEWER)) $(DESTDIR)$(PREFIX)/share/supple
	install -m 644 README.md LICENSE CHANGELOG.md SECURITY.md $(DESTDIR)$(PREFIX)/share/doc/supple
	install -m 644 $(wildcard docs/*.md docs/*.png) $(DESTDIR)$(PREFIX)/share/doc/supple/docs
	install -m 644 $(wildcard docs/notes/*.md) $(DESTDIR)$(PREFIX)/share/doc/supple/docs/notes
	install -m 644 $(wildcard examples/*.*) $(DESTDIR)$(PREFIX)/share/doc/supple/examples
	$(BIN)/supple completions bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/supple
	$(BIN)/supple completions zsh > $(DESTDIR)$(ZSH_COMPLETIONS)/_supple
	$(Q)for p in $(filter-out supple,$(notdir $(PROGRAMS) $(SCRIPTS))); do \
	    $(BIN)/supple $${p#supple-} --help=man > $(DESTDIR)$(PREFIX)/share/man/man1/$$p.1 || exit 1; done
	$(Q)$(BIN)/supple --help=man > $(DESTDIR)$(PREFIX)/share/man/man1/supple.1

uninstall:
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/bin/,$(notdir $(PROGRAMS) $(SCRIPTS))) \
	    $(patsubst %,$(DESTDIR)$(PREFIX)/share/man/man1/%.1,$(notdir $(PROGRAMS) $(SCRIPTS))) \
	    $(addprefix $(DESTDIR)$(LIBDIR)/,$(notdir $(RUNTIME) $(SHARED)) $(SONAME) libsupple-runtime.so pkgconfig/supple-runtime.pc) \
	    $(addprefix $(DESTDIR)$(PREFIX)/include/,$(notdir $(RUNTIME_H))) \
	    $(DESTDIR)$(PREFIX)/share/bash-completion/completions/supple $(DESTDIR)$(ZSH_COMPLETIONS)/_supple
	rm -rf $(DESTDIR)$(PREFIX)/share/supple $(DESTDIR)$(PREFIX)/share/doc/supple

# A Debian package of all this: build/deb/supple_VERSION_ARCHITECTURE.deb, with the page of the report where npm is.
DEB ?= build/deb
deb: deps
	+$(Q)$(MAKE) --no-print-directory all try-viewer
	+$(Q)$(MAKE) --no-print-directory deb-built
deb-built: all
	+$(Q)rm -rf $(DEB)/tree && $(MAKE) --no-print-directory install DESTDIR=$(DEB)/tree PREFIX=/usr \
	    LIBDIR=/usr/lib/$$($(CC) -print-multiarch) ZSH_COMPLETIONS=/usr/share/zsh/vendor-completions >/dev/null
	$(Q)scripts/make-deb $(DEB)/tree $(VERSION) $(DEB)

clean:
	rm -rf build bin

.PHONY: all examples experiments objects deps viewer live-packages try-viewer demo check check-built check-formats bench coverage faults soak fuzz install uninstall deb deb-built clean force
.DELETE_ON_ERROR:
.SECONDARY:
