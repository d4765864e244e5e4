/* Answers questions about a program, by the rows of program.def. */
#include "schedule.h"

#include <string.h>

enum {
#define FACT(name, text) FACT_##name,
#include "program.def"
    FACTS
};

_Static_assert(FACTS <= 32, "the facts of a program have more bits than `unsigned`");

#define HAS(name) | 1U << FACT_##name
const struct program_row program_table[] = {
#define PROGRAM(kind, graph, says, quadratic, linear, few, heads, facts) \
    [PROGRAM_##kind] = {says, {quadratic, linear, few, heads}, 0U facts},
#include "program.def"
};

const struct step_row step_table[STEPS] = {
#define STEP(step, name, kind, first, wanted) [STEP_##step] = {name, PROGRAM_##kind, first},
#include "program.def"
};

const struct function_row function_table[FUNCTIONS] = {
#define FUNCTION(suffix, emit, listed, type, parameters, passed, says) \
    [FUNCTION_##suffix] = {#suffix, type, parameters, passed, says, emit, listed},
#include "program.def"
};

#define FACT(name, text) \
    bool program_##name(const struct program *p) \
    { \
        return program_table[p->kind].facts >> FACT_##name & 1U; \
    }
#include "program.def"

const char *program_function(const struct program *p)
{
    return program_table[p->kind].function[p->few ? 2 : p->by_heads ? 3 : p->linear];
}

bool program_is_differentiated(const struct program *p)
{
    return program_is_backward(p) || program_saves_rows(p);
}

bool program_takes_outer_sums(const struct compilation *c)
{
    return program_is_backward(&c->program) && (c->spec->emit & EMIT_BACKWARD) && (c->spec->emit & EMIT_DECODE);
}

bool name_is_sum_in_order(const char *name)
{
    return strncmp(name, SUM_IN_ORDER, strlen(SUM_IN_ORDER)) == 0;
}
