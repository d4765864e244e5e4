# Rules for kernels, for GNU make:
#   KERNELS := dir/SPEC.yaml…
#   include $(shell pkg-config --variable=makefile attnc)
# These make dir/NAME.c and dir/NAME.h from dir/SPEC.yaml, again when it changes; NAME is the spec's `name:`, or SPEC.
# - Link $(ATTNC_OBJECTS) and $(ATTNC_LIBS).
# - Sources that include NAME.h depend on $(ATTNC_HEADERS) and are compiled with $(ATTNC_CFLAGS).
# - ATTNCFLAGS are options of attnc.
# - Specs of KERNELS that are also in TUNED take the schedule in dir/SPEC.tuned.yaml, which `attnc tune` writes.

attnc_goal := $(.DEFAULT_GOAL)
ATTNC := $(or $(ATTNC),$(shell pkg-config --variable=attnc attnc))
ATTNC_CFLAGS := $(shell pkg-config --cflags attnrt)
ATTNC_LIBS := $(shell pkg-config --variable=archive attnrt) -lm
ATTNC_OPENMP ?= -fopenmp
ATTNC_OBJECTS :=
ATTNC_HEADERS :=

attnc_command = $(ATTNC) $(ATTNCFLAGS) $(if $(filter $1,$(TUNED)),--tuned) --quiet -o $(patsubst %/,%,$(dir $1))
# A spec that attnc refuses is treated as one without a name; the recipe of its rule then prints the errors.
attnc_outputs = $(or $(shell $(attnc_command) --outputs $1 2>/dev/null),$(basename $1).c $(basename $1).h)

# The rule of the spec $1, whose outputs are the files $2. attnc writes all of them by the rule of the first; the others
# have a recipe only in case they were deleted.
define attnc_rule
ATTNC_OBJECTS += $(patsubst %.c,%.o,$(filter %.c,$2))
ATTNC_HEADERS += $(filter %.h,$2)
$(firstword $2): $1
	$(attnc_command) -MD -MF $1.d $1
$(wordlist 2,$(words $2),$2): $(firstword $2)
	@test -f $$@ || $(attnc_command) -MD -MF $1.d $1
-include $1.d
endef
$(foreach spec,$(KERNELS),$(eval $(call attnc_rule,$(spec),$(call attnc_outputs,$(spec)))))

$(ATTNC_OBJECTS): %.o: %.c
	$(CC) $(CPPFLAGS) $(ATTNC_CFLAGS) -O2 $(CFLAGS) $(ATTNC_OPENMP) -c -o $@ $<

# The including makefile's first rule stays the default goal.
.DEFAULT_GOAL := $(attnc_goal)
