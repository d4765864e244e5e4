/* The table of the names that expressions may use: variables, sizes and functions. */
#include "reader.h"

#include <string.h>

enum {
    PAIR = EXPRESSION_PAIR,
    MASK = EXPRESSION_MASK,
    ANGLE = EXPRESSION_ANGLE,
    QUERY = EXPRESSION_QUERY,
    POSITION = EXPRESSION_POSITION,
    DECAY = EXPRESSION_DECAY,
    OUTPUT = EXPRESSION_OUTPUT,
    TERM = EXPRESSION_TERM
};

static const struct {
    const char *text;
    int places;
    bool decodes;
    const char *says;
} names[EXPRESSION_NAMES] = {
#define NAME(name, places, decodes, says) {#name, places, decodes, says},
#include "names.def"
};

static const struct {
    const char *text;
    int arguments;
    int operation;
} more[EXPRESSION_FUNCTIONS - EXPR_OPS] = {
#define COMPOSED(name, arguments) [COMPOSED_##name] = {#name, arguments, -1},
#define ALIAS(name, operation) [(int)EXPRESSION_COMPOSED + (int)ALIAS_##name] = {#name, 0, EXPR_##operation},
#include "names.def"
};

const char *expression_name(enum expression_name name)
{
    return names[name].text;
}

const char *expression_name_says(enum expression_name name)
{
    return names[name].says;
}

bool expression_name_allowed(enum expression_name name, enum expression_place place)
{
    return names[name].places & (int)place;
}

bool expression_name_decodes(enum expression_name name)
{
    return names[name].decodes;
}

enum expression_name expression_find_name(const char *text)
{
    int name = 0;
    while (name < EXPRESSION_NAMES && strcmp(names[name].text, text) != 0) name++;
    return (enum expression_name)name;
}

struct module *expression_module(struct arena *arena)
{
    struct module *const m = module_new(arena, "expression", DTYPE_F64);
    for (int name = 0; name < EXPRESSION_NAMES; name++) module_axis(m, names[name].text, SIZE_N_K, 0);
    return m;
}

void expression_list_names(enum expression_place place, struct text *out, const char *between)
{
    bool any = false;
    for (int name = 0; name < EXPRESSION_NAMES; name++) {
        if (!expression_name_allowed((enum expression_name)name, place)) continue;
        text_add(out, "%s%s", any ? between : "", names[name].text);
        any = true;
    }
}

/* ---- functions ---- */

const char *expression_function_name(int function)
{
    if (function >= EXPR_OPS) return more[function - EXPR_OPS].text;
    return expr_is_for_users((enum expr_op)function) ? expr_c_function((enum expr_op)function) : NULL;
}

int expression_function_arguments(int function)
{
    function = expression_function_meant(function);
    return function >= EXPR_OPS ? more[function - EXPR_OPS].arguments : expr_arity((enum expr_op)function);
}

int expression_function_meant(int function)
{
    const bool alias = function >= EXPR_OPS && function < EXPRESSION_FUNCTIONS &&
                       more[function - EXPR_OPS].operation >= 0;
    return alias ? more[function - EXPR_OPS].operation : function;
}

int expression_find_function(const char *text)
{
    int function = 0;
    for (; function < EXPRESSION_FUNCTIONS; function++) {
        const char *name = expression_function_name(function);
        if (name && strcmp(name, text) == 0) break;
    }
    return function;
}

void expression_list_functions(struct text *out, const char *between)
{
    bool any = false;
    for (int function = 0; function < EXPRESSION_FUNCTIONS; function++) {
        const char *name = expression_function_name(function);
        if (!name) continue;
        text_add(out, "%s%s", any ? between : "", name);
        any = true;
    }
}

bool array_is_real(const struct user_array *a)
{
    return a->type != ARRAY_INT && a->type != ARRAY_BOOL;
}

bool array_is_stored_real(const struct user_array *a)
{
    return array_is_real(a) && a->type < ARRAY_SCORE;
}

enum dtype array_stored(const struct user_array *a)
{
    return a->type == ARRAY_BF16 ? DTYPE_BF16 : a->type == ARRAY_F16 ? DTYPE_F16 : DTYPE_F32;
}
