# Rules for kernels, for GNU make:
#   KERNELS := dir/NAME.yaml…
#   include $(shell pkg-config --variable=makefile attnc)
# dir/NAME.yaml makes dir/NAME.c and dir/NAME.h, anew whenever it changes; the spec's `name:` is NAME. $(ATTNC_OBJECTS) are to be linked with
# $(ATTNC_LIBS); what includes NAME.h depends on $(ATTNC_HEADERS) and is compiled with $(ATTNC_CFLAGS). ATTNCFLAGS are options of attnc.
# Those of KERNELS that are in TUNED, too, take the schedule in dir/NAME.tuned.yaml, which `attnc tune` writes.

attnc_goal := $(.DEFAULT_GOAL)
ATTNC ?= $(shell pkg-config --variable=attnc attnc)
ATTNC_CFLAGS := $(shell pkg-config --cflags attnrt)
ATTNC_LIBS := $(shell pkg-config --variable=archive attnrt) -lm
ATTNC_OPENMP ?= -fopenmp
ATTNC_OBJECTS := $(KERNELS:.yaml=.o)
ATTNC_HEADERS := $(KERNELS:.yaml=.h)

%.c %.h: %.yaml
	$(ATTNC) $(ATTNCFLAGS) $(if $(filter $<,$(TUNED)),--tuned) --quiet -o $(@D) -MD -MF $<.d $<

$(ATTNC_OBJECTS): %.o: %.c
	$(CC) $(CPPFLAGS) $(ATTNC_CFLAGS) -O2 $(CFLAGS) $(ATTNC_OPENMP) -c -o $@ $<

.SECONDARY: $(KERNELS:.yaml=.c) $(ATTNC_HEADERS)
-include $(KERNELS:=.d)
# These rules are nobody's first.
.DEFAULT_GOAL := $(attnc_goal)
