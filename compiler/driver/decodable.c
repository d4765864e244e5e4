/* Checks whether a kernel can decode, which means to continue a sequence token by token. */
#include "unit.h"
#include "../expression/expression.h"
#include "../spec/spec.h"

#include <string.h>

struct checker {
    const struct unit *p;
    struct diagnostics *d;
    struct position asked_at; /* the place where 'emit' asks for 'decode', if it does */
};

/* Returns whether subscript k is just the name, without arithmetic. */
static bool is_subscript(const struct element *e, int k, enum expression_name name)
{
    return e->sub[k]->op == EXPR_INDEX && e->sub[k]->integer == name;
}

/* ---- names that have no value when a sequence is decoded ---- */

static bool has_name(const struct expr *e, enum expression_name name)
{
    return expr_axes(e) >> name & 1;
}

/* Returns an element with a subscript that uses the row of q in an axis other than Nq. Returns NULL if there is
   none. */
static const struct element *element_of_row(const struct expression *e)
{
    for (int k = 0; k < e->elements; k++)
        for (int n = 0; n < e->element[k].array->rank; n++) {
            const bool own = e->element[k].array->axis[n].extent == EXTENT_NQ &&
                             is_subscript(&e->element[k], n, NAME_row);
            if (!own && has_name(e->element[k].sub[n], NAME_row)) return &e->element[k];
        }
    return NULL;
}

/* Returns whether the expression uses a name that has no value in decoding. Sets *at to the place of the name. */
static bool uses_unknown(const struct expression *e, enum expression_name name, struct position *at)
{
    *at = e->first_use[name].at;
    if (name != NAME_row || has_name(e->value, name)) return e->uses[name];
    const struct element *const element = element_of_row(e);
    if (element) *at = element->at;
    return element != NULL;
}

/* Reports an angle that depends on the number of query heads. Keys are prepared without query heads. */
static void check_angle(const struct checker *x, const struct expression *e)
{
    struct position at = e->first_use[NAME_H].at;
    bool uses = e->uses[NAME_H];
    for (int k = 0; k < e->elements && !uses; k++)
        for (int n = 0; n < e->element[k].array->rank; n++)
            if (e->element[k].array->axis[n].extent == EXTENT_H) {
                uses = true;
                at = e->element[k].at;
            }
    if (uses) diagnostics_error(x->d, at, "decoding with an angle that depends on H is not compiled yet");
}

static void check_names(void *user, const struct expression *e)
{
    const struct checker *const x = user;
    if (e->place == EXPRESSION_ANGLE) check_angle(x, e);
    for (int n = 0; n < EXPRESSION_NAMES; n++) {
        const enum expression_name name = (enum expression_name)n;
        struct position at;
        if (expression_name_decodes(name) || !uses_unknown(e, name, &at)) continue;
        if (name == NAME_INFINITY)
            diagnostics_error(x->d, at, "decoding with a mask that reads an array of real numbers is not compiled yet");
        else
            diagnostics_error(x->d, at, "'%s' depends on how a sequence is divided into calls, so it cannot be decoded",
                              expression_name(name));
        if (x->asked_at.line) diagnostics_note(x->d, x->asked_at, "'emit' asks for 'decode'");
    }
}

/* ---- elements of arrays ---- */

/* Reports a subscript that a call with new tokens cannot read.
   - An array with an axis Nk has a row for each new token. The row is kept as long as keys are. Other rows may be
     missing.
   - An array with an axis Nq has only the rows of one call. */
static void check_elements(void *user, const struct expression *e)
{
    const struct checker *const x = user;
    const bool at_positions = e->place == EXPRESSION_DECAY || e->place == EXPRESSION_POSITION;
    for (int k = 0; k < e->elements; k++) {
        const struct element *const element = &e->element[k];
        bool tokens = false;
        for (int n = 0; n < element->array->rank; n++)
            tokens |= element->array->axis[n].extent == EXTENT_NQ || element->array->axis[n].extent == EXTENT_NK;
        for (int n = 0; n < element->array->rank; n++) {
            const enum array_extent extent = element->array->axis[n].extent;
            if (tokens && extent == EXTENT_B && !is_subscript(element, n, NAME_b)) {
                diagnostics_error(x->d, element->at,
                                  "decoding reads an axis B of '%s' at 'b', not at another subscript",
                                  element->array->name);
                if (x->asked_at.line) diagnostics_note(x->d, x->asked_at, "'emit' asks for 'decode'");
            }
            const bool keys = extent == EXTENT_NK;
            if (keys && (at_positions ? is_subscript(element, n, NAME_t)
                                      : is_subscript(element, n, NAME_j) || is_subscript(element, n, NAME_i)))
                continue;
            if (!keys && (extent != EXTENT_NQ || is_subscript(element, n, NAME_row))) continue;
            diagnostics_error(x->d, element->at,
                              keys && at_positions
                                  ? "decoding reads an axis Nk of '%s' at 't', not at another subscript"
                              : keys ? "decoding reads an axis Nk of '%s' at 'j' or 'i', not at another subscript"
                                     : "decoding reads an axis Nq of '%s' at 'row', not at another subscript",
                              element->array->name);
            if (x->asked_at.line) diagnostics_note(x->d, x->asked_at, "'emit' asks for 'decode'");
        }
    }
}

/* ---- arrays ---- */

/* Returns whether the array is a parameter with elements for keys, queries or blocks of queries. */
static bool is_of_tokens(const struct kernel_array *a)
{
    bool tokens = false;
    for (int k = 0; k < a->rank; k++)
        tokens |= !a->axis[k].constant && (a->axis[k].size == ARRAY_SIZE_N_Q || a->axis[k].size == ARRAY_SIZE_N_K);
    return tokens && a->place == PLACE_PARAMS;
}

/* Reports arrays for which a call cannot find the rows of new tokens. */
static void check_arrays(const struct checker *x)
{
    const struct spec *const spec = x->p->spec;
    const struct kernel_arrays *const arrays = x->p->kernel.arrays;
    for (int k = 0; k < arrays->count; k++) {
        const struct kernel_array *const a = &arrays->array[k];
        if (!is_of_tokens(a) || array_grows(a)) continue;
        const int declared = spec_array(spec, a->name);
        const struct position at = declared < 0 ? spec->emit_at : spec->arrays.array[declared].at;
        if (a->role == ROLE_PER_KEY || a->role == ROLE_PER_QUERY) {
            const char *const tokens = a->role == ROLE_PER_KEY ? "Nk" : "Nq";
            diagnostics_error(x->d, at, "an array of this shape has no rows of new tokens, so '%s' cannot be decoded",
                              a->name);
            diagnostics_note(x->d, NO_POSITION,
                             "the axes are B, then H or G, then %s, then a number; all but %s may be absent", tokens,
                             tokens);
        } else
            diagnostics_error(x->d, at,
                              "the parameter '%s' has elements for every query of a call, so this spec cannot be "
                              "decoded",
                              a->name);
    }
}

/* Returns whether an array that cannot be decoded has elements for queries. */
static bool has_arrays_of_queries(const struct kernel_arrays *all)
{
    bool has = false;
    for (int k = 0; k < all->count; k++)
        has |= is_of_tokens(&all->array[k]) && !array_grows(&all->array[k]) && all->array[k].role != ROLE_PER_KEY;
    return has;
}

/* ---- the whole spec ---- */

static void check_positions(const struct checker *x, bool asked)
{
    const struct spec *const spec = x->p->spec;
    const bool masked = !mask_is_none(spec->mask);
    const struct position at = masked ? spec->mask->at : spec->emit_at;
    if (looks_ahead(x->p->graph)) {
        diagnostics_error(
            x->d, at,
            masked ? "under this mask a query may see keys after its own position, so this spec cannot be decoded"
                   : "without a mask a query sees keys after its own position, so this spec cannot be decoded");
        diagnostics_note(x->d, masked && !asked ? spec->emit_at : NO_POSITION,
                         "%s'mask: causal', or 'all: [causal, …]' around a mask, hides the keys after a query",
                         asked ? "" : "'emit' asks for 'decode'; ");
    } else if (depends_on_length(x->p->graph) && !has_arrays_of_queries(x->p->kernel.arrays)) {
        diagnostics_error(
            x->d, at,
            "the keys that a query sees depend on the length of the whole sequence, so this spec cannot be decoded");
        diagnostics_note(x->d, NO_POSITION,
                         "'random' draws from all blocks of the sequence; with 'causal: true' it draws from the "
                         "query's block and the blocks before it. 'top' chooses among all keys; in "
                         "'all: [causal, {top: …}]' it chooses among those up to the query");
    }
}

bool unit_can_decode(const struct unit *p, bool asked, struct diagnostics *d)
{
    const struct spec *const spec = p->spec;
    const int errors = diagnostics_errors(d);
    struct checker checker = {p, d, asked ? NO_POSITION : spec->emit_at};
    spec_expressions(spec, check_names, &checker);
    spec_expressions(spec, check_elements, &checker);
    if (spec->graph && graph_has(p->graph, EXPR_RANDOM)) /* extend drops nothing */
        diagnostics_error(d, NO_POSITION, "decoding a graph with 'random' is not compiled yet");
    if (diagnostics_errors(d) > errors) return false;
    if (spec->linformer)
        return diagnostics_error(d, spec->project_at,
                                 "'project' mixes all keys of a sequence, so this spec cannot be decoded");
    check_positions(&checker, asked);
    check_arrays(&checker);
    return diagnostics_errors(d) == errors;
}
