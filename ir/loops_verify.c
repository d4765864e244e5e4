/* Checks the rules that all loops satisfy. Functions return NULL, or an error message. */
#include "loops.h"

#include <string.h>

static const char *const op_name[] = {
#define LOOPS(name, text) text,
#include "loops.def"
#undef LOOPS
};
enum { OPS = sizeof op_name / sizeof *op_name, LONGEST = 160 };

/* The FORs around a statement, by axis. */
struct scope {
    const struct loops *loops;
    struct module *module;
    int64_t step[MAX_AXES];                     /* member `step` of the FOR over the axis; 0 if there is no FOR */
    bool window[MAX_AXES];                      /* true if inner FORs divide the range of the FOR over the axis */
    bool parallel[MAX_AXES], ordered[MAX_AXES]; /* members `parallel` and `ordered` of the FOR over the axis */
    int resumed;                                /* 1 + the axis of a FOR around it with `resumes`, or 0 */
    int equal[MAX_AXES];                        /* 1 + the axis of an outer FOR whose range the axis has, or 0 */
};

static const char *complaint(const struct scope *c, const char *format, ...) IR_PRINTF(2, 3);
static const char *complaint(const struct scope *c, const char *format, ...)
{
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return arena_copy(c->module->arena, message);
}

static uint32_t bit(int axis)
{
    return AXIS(axis);
}

/* Returns the maximum number of indices in a current range, or -1 if it depends on the problem. */
static int64_t width(const struct scope *c, int axis)
{
    const struct axis *a = &c->module->axis[axis];
    int64_t extent = axis_is_counted(a) || axis_is_whole(a) ? a->extent : -1,
            step = c->window[axis] ? 0 : c->step[axis];
    return step && (extent < 0 || step < extent) ? step : extent;
}

/* Returns the axes with only one index in their current range, as bits. A statement may use the INDEX of such an
   axis. */
static uint32_t single_axes(const struct scope *c)
{
    uint32_t axes = 0;
    for (int a = 0; a < c->module->axes; a++)
        if (width(c, a) == 1) axes |= bit(a);
    return axes;
}

/* ---- checks of arrays ---- */

static const char *array_check(const struct scope *c, int number)
{
    const struct array *a = &c->loops->array[number];
    struct module *m = c->module;
    if (!name_is_plain(a->name)) return "it has no name";
    for (int k = 0; k < number; k++)
        if (strcmp(c->loops->array[k].name, a->name) == 0) return "an earlier array has the same name";
    const char *wrong = axes_check(m, a->rank, a->axes);
    if (wrong) return wrong;
    if (dtype_is_integer(a->dtype) && a->kind != ARRAY_PARAM && a->kind != ARRAY_OUTPUT)
        return "integers must be a parameter or an output";
    if ((a->by_name || a->hides) && (a->kind != ARRAY_PARAM || dtype_is_integer(a->dtype)))
        return "only a real parameter can have 'by_name' or 'hides'";
    if (a->kind == ARRAY_TABLE && !a->data) return "it has no data";
    if (a->sums &&
        (a->dtype != dtype_of_sums(m->dtype) || a->rank < 1 || m->axis[a->axes[a->rank - 1]].source != SIZE_CONSTANT))
        return "an array with 'sums' must have the type of sums and a constant last axis";
    if (a->within.of && (a->kind != ARRAY_INPUT || a->sums)) return "only an array of the caller can be within another";
    wrong = within_check(m, &a->within, a->rank, a->axes);
    if (wrong) return wrong;
    for (int k = 0; k < a->rank && a->kind == ARRAY_TABLE; k++)
        if (m->axis[a->axes[k]].source != SIZE_CONSTANT)
            return complaint(c, "the extent of axis '%s' is not constant", m->axis[a->axes[k]].name);
    if (a->paired && (a->kind != ARRAY_TILE || a->dtype != DTYPE_BF16 || a->rank != 2))
        return "only a bf16 tile of rank 2 can be 'paired'";
    if (a->matrix && (a->kind != ARRAY_TILE || a->dtype != DTYPE_BF16 || a->rank != 2))
        return "only a bf16 tile of rank 2 can have 'matrix'";
    if (a->terms && (!a->matrix || a->held || a->terms < 2 || a->terms > 3))
        return "'terms' must be 2 or 3, and needs 'matrix' without 'held'";
    if (a->held && (a->kind != ARRAY_TILE || a->shared || a->held < 0 || a->rank < 1 ||
                    !axis_is_sequence(&m->axis[a->axes[a->rank - 1]])))
        return "only a private tile whose last axis is a sequence can have 'held'";
    if (a->remembered && a->rank == 2) {
        const struct axis *const one = &m->axis[a->axes[0]], *const two = &m->axis[a->axes[1]];
        if (a->kind != ARRAY_TILE || a->shared || a->held || !axis_is_sequence(one) || !axis_is_sequence(two) ||
            one->source == two->source)
            return "only a private tile over queries and keys can have 'remembers' with 'tiles'";
    } else if (a->remembered &&
               (a->kind != ARRAY_TILE || a->shared || a->rank != 1 || m->axis[a->axes[0]].source != SIZE_CONSTANT ||
                a->lane < 0 || a->lane >= m->axes || a->other < 0 || a->other >= m->axes || a->lane == a->other ||
                !axis_is_sequence(&m->axis[a->lane]) || !axis_is_sequence(&m->axis[a->other])))
        return "only a private tile of rank 1 can have 'remembers', for the difference of two sequences";
    if (a->solved && (a->kind != ARRAY_TILE || a->shared || a->rank != 2 || a->held))
        return "only a private tile of rank 2 can be 'solved'";
    if (a->carried && (a->kind != ARRAY_TILE || a->held || a->remembered))
        return "only a tile with a single copy can be 'carried'";
    if (a->kind != ARRAY_TILE) return NULL;
    int64_t bytes = 0;
    for (int k = 0; k < a->rank; k++) {
        if (a->extent[k] < 1) return complaint(c, "its extent along '%s' is not positive", m->axis[a->axes[k]].name);
        if (axis_is_chunks(&m->axis[a->axes[k]]) && a->extent[k] != 1)
            return "the extent along an axis of chunks must be 1";
    }
    if (__builtin_mul_overflow(dtype_bytes(a->dtype), array_elements(a), &bytes)) return "it is too large";
    if (a->offset < -1 || (a->offset >= 0 && a->offset % 64)) return "its offset is not a multiple of 64";
    int64_t room = array_has_slots(c->loops, a) ? c->loops->slot
                   : a->kept || a->solved       ? c->loops->kept
                   : a->shared                  ? c->loops->shared
                                                : c->loops->workspace;
    if (a->offset >= 0 && (bytes > room || a->offset > room - bytes)) return "it does not fit in the workspace";
    return NULL;
}

/* ---- checks of references ---- */

/* Checks a reference. `free_axes` has the axes whose INDEX may occur in subscripts, as bits. */
static const char *check_ref(const struct scope *c, const struct ref *r, uint32_t free_axes)
{
    const struct array *a = &c->loops->array[r->of];
    const struct allowed allowed = {.index = free_axes, .ranges = true};
    if (dtype_is_integer(a->dtype))
        return complaint(c, "it reads %%%s, but only id, min_id and max_id can read ids", a->name);
    const char *wrong = ref_check(c->module, r, a->rank, a->axes, &allowed);
    if (wrong) return complaint(c, "in its reference to %%%s: %s", a->name, wrong);
    if (a->kind != ARRAY_TILE) return NULL;
    for (int k = 0; k < r->rank; k++) {
        int along = ref_axis(r, k);
        if (along < 0) continue;
        const struct axis *axis = &c->module->axis[along];
        bool fixed = axis_is_whole(&c->module->axis[a->axes[k]]);
        if (!fixed && along != a->axes[k] && c->equal[along] != a->axes[k] + 1 && c->equal[a->axes[k]] != along + 1)
            return complaint(c, "%%%s stores the range of '%s' but is indexed along '%s'", a->name,
                             c->module->axis[a->axes[k]].name, axis->name);
        /* Element 0 along a constant axis has index 0. If the tile stores only a part of the axis, element 0 has
           index LO. */
        bool part = fixed && a->extent[k] < c->module->axis[a->axes[k]].extent;
        int64_t needed = fixed && !part ? axis->extent : width(c, along);
        if (needed < 0)
            return complaint(c, "no loop limits the range of '%s', but %%%s has only %lld elements along it",
                             axis->name, a->name, (long long)a->extent[k]);
        if (needed > a->extent[k])
            return complaint(c, "%%%s has %lld elements along '%s', but its range can have %lld", a->name,
                             (long long)a->extent[k], axis->name, (long long)needed);
    }
    return NULL;
}

static const char *check_target(const struct scope *c, const struct ref *r, uint32_t free_axes)
{
    const char *wrong = check_ref(c, r, free_axes);
    if (wrong) return wrong;
    const struct array *a = &c->loops->array[r->of];
    /* Different chunks or units have different rows. Their threads therefore assign different elements. */
    for (int x = 0; x < c->module->axes && a->kind == ARRAY_OUTPUT; x++)
        if (c->parallel[x] && !axis_is_chunks(&c->module->axis[x]) && c->module->axis[x].source != SIZE_UNITS &&
            !ref_uses_axis(r, x) && !(c->ordered[x] && a->sums))
            return complaint(c, "threads with different indices of '%s' assign the same elements of %%%s",
                             c->module->axis[x].name, a->name);
    return a->kind == ARRAY_TILE || a->kind == ARRAY_OUTPUT
               ? NULL
               : complaint(c, "it assigns to %%%s, which is neither a tile nor an output", a->name);
}

/* Checks that a SET does not assign an element at several points. */
static const char *check_set_once(const struct scope *c, const struct stmt *s, const struct assign *a)
{
    uint32_t used = ref_axes(&a->to) | single_axes(c);
    for (int k = 0; k < s->rank && a->fold == FOLD_SET; k++)
        if (!(used & bit(s->axes[k])))
            return complaint(c, "%%%s is set more than once: at every index of '%s'", c->loops->array[a->to.of].name,
                             c->module->axis[s->axes[k]].name);
    return NULL;
}

/* ---- checks of statements ---- */

/* Checks the members period, run, phase and apart of a FOR. */
static const char *check_period(const struct scope *c, const struct stmt *s)
{
    const struct allowed bounds = {.ranges = true};
    if (s->period == 0) return s->apart ? "'apart' needs a period" : NULL;
    if (s->period < 1 || s->run < 1 || s->run > s->period || !s->phase)
        return "its run must be from 1 to its period, and it needs a phase";
    enum size_source source = c->module->axis[s->axis].source;
    if (source != SIZE_N_Q && source != SIZE_N_K) return "only a for over queries or keys can have a period";
    if (s->parallel && (!s->apart || s->run < s->period))
        return "a parallel for with a period must be 'apart' and visit the whole period";
    const char *wrong = expr_check(c->module, s->phase, &bounds);
    if (wrong) return complaint(c, "in its phase: %s", wrong);
    bool own = expr_uses(s->phase, expr_lo(c->module, s->axis)) || expr_uses(s->phase, expr_hi(c->module, s->axis));
    return own || s->phase->type != TYPE_INT ? "its phase must be an integer that does not depend on its own range"
                                             : NULL;
}

static const char *check_for(const struct scope *c, const struct stmt *s)
{
    const char *name = c->module->axis[s->axis].name;
    bool inner = c->window[s->axis];
    if (c->step[s->axis] && !inner) return complaint(c, "a for around it runs over '%s' too", name);
    if (s->block && (inner || !axis_is_sequence(&c->module->axis[s->axis]) || s->period || s->ordered))
        return "a block needs neighbouring indices of a sequence, and cannot be nested";
    if (s->window && (inner || !axis_is_chunks(&c->module->axis[s->axis])))
        return "a window needs an axis of chunks, and cannot be nested";
    if (s->step < 1) return "its step is not positive";
    if (s->backward && (s->parallel || s->window || s->block || s->period))
        return "a parallel for, a window, a block or a for with a period cannot run backward";
    if (s->ordered && (!s->parallel || s->period || !axis_is_sequence(&c->module->axis[s->axis])))
        return "only a parallel for over a sequence without a period is ordered";
    const struct allowed bounds = {.ranges = true}, region = {.ranges = true, .index = UINT32_MAX};
    const struct expr *bound[2] = {s->from, s->to};
    for (int k = 0; k < 2; k++) {
        const char *wrong = expr_check(c->module, bound[k], &bounds);
        if (wrong) return complaint(c, "in its bounds: %s", wrong);
        if (bound[k]->type != TYPE_INT) return "a bound is not an integer";
        if (!inner &&
            (expr_uses(bound[k], expr_lo(c->module, s->axis)) || expr_uses(bound[k], expr_hi(c->module, s->axis))))
            return complaint(c, "its bounds use the range of '%s', which they define", name);
    }
    if (s->gathers && (s->ranges != 1 || !s->range[0].drawn || !s->range[0].drawn->draw->name || s->period ||
                       s->block || s->where || s->when || s->parallel))
        return "only the indices of a list, without a region, are gathered";
    const char *wrong = check_period(c, s);
    if (wrong) return wrong;
    wrong = ranges_check(c->module, s);
    if (wrong) return complaint(c, "in its ranges: %s", wrong);
    wrong = s->where ? where_check(c->module, s->where, &region) : NULL;
    if (wrong) return complaint(c, "in its region: %s", wrong);
    wrong = s->when ? where_check(c->module, s->when, &bounds) : NULL;
    return wrong ? complaint(c, "in its condition: %s", wrong) : NULL;
}

/* Checks that no point reads an element that another point assigns. Points have no order, because a vector processes
   several at once. */
static const char *check_order(const struct scope *c, const struct stmt *s)
{
    for (int k = 0; k < s->operands; k++)
        for (int n = 0; n < s->assigns; n++)
            if (s->operand[k].of == s->assign[n].to.of &&
                ((s->op != LOOPS_MAP && s->op != LOOPS_SCAN) || !ref_equal(&s->operand[k], &s->assign[n].to)))
                return complaint(c, "it reads elements of %%%s that it assigns at other points",
                                 c->loops->array[s->operand[k].of].name);
    return NULL;
}

static const char *check_compensation(const struct scope *c, const struct assign *a)
{
    if (!a->compensation) return NULL;
    if (a->fold != FOLD_SUM) return "only a sum has a compensation";
    if (a->compensation < 0 || a->compensation > c->loops->arrays) return "the compensation is not an array";
    const struct array *compensation = &c->loops->array[a->compensation - 1], *to = &c->loops->array[a->to.of];
    bool same = compensation->kind == ARRAY_TILE && compensation->rank == to->rank && compensation != to;
    for (int k = 0; same && k < to->rank; k++)
        same = compensation->axes[k] == to->axes[k] && compensation->extent[k] == to->extent[k];
    same = same && compensation->gap == to->gap;
    return same ? NULL : complaint(c, "the compensation %%%s is not a tile of the sum's shape", compensation->name);
}

/* Checks that a MAP does not use a paired array. */
static const char *check_unpaired(const struct scope *c, const struct ref *r)
{
    const struct array *a = &c->loops->array[r->of];
    return a->paired ? complaint(c, "it accesses single elements of %%%s, which is stored in pairs", a->name) : NULL;
}

/* Checks that `ahead` has only rows of the caller: elements of a constant axis at a token. */
static const char *check_ahead(const struct scope *c, const struct stmt *s)
{
    for (int k = 0; k <= MAX_OPERANDS; k++) {
        if (!(s->ahead >> k & 1)) continue;
        const struct ref *const r = k < s->operands ? &s->operand[k] : &s->assign[0].to;
        if ((k >= s->operands && k < MAX_OPERANDS) || !stmt_reads_row(c->loops, s, r))
            return "only rows of an array of the caller, at a token, can be read 'ahead'";
    }
    return NULL;
}

/* Checks the parts of a sum of products that decay. */
static const char *check_decays(const struct scope *c, const struct stmt *s, uint32_t nest)
{
    const struct decaying *const d = s->decays;
    const struct allowed index = {.index = nest, .ranges = true};
    if (!stmt_may_decay(s)) return "only a sum over the middle or last axis, into a tile of pairs, can have 'decays'";
    const char *wrong = expr_check(c->module, d->last, &index);
    for (int k = -1; k < d->logs && !wrong; k++) {
        wrong = check_ref(c, k < 0 ? &d->x : &d->a[k], nest);
        if (!wrong) wrong = check_ref(c, k < 0 ? &d->y : &d->b[k], nest);
    }
    return wrong;
}

static const char *check_map(const struct scope *c, const struct stmt *s, uint32_t nest)
{
    const struct allowed allowed = {.operands = s->operands, .index = nest, .ranges = true};
    for (int k = 0; k < s->operands; k++) {
        const char *wrong = check_unpaired(c, &s->operand[k]);
        if (!wrong) wrong = check_ref(c, &s->operand[k], nest);
        if (wrong) return wrong;
    }
    const struct allowed points = {.ranges = true, .index = nest};
    const char *outside = s->where ? where_check(c->module, s->where, &points) : NULL;
    if (outside) return complaint(c, "in its region: %s", outside);
    for (int k = 0; k < s->assigns; k++) {
        const struct assign *a = &s->assign[k];
        const char *wrong = check_unpaired(c, &a->to);
        if (!wrong) wrong = check_target(c, &a->to, nest);
        if (!wrong) wrong = expr_check(c->module, a->expr, &allowed);
        if (!wrong) wrong = check_set_once(c, s, a);
        if (!wrong) wrong = check_compensation(c, a);
        if (wrong) return wrong;
    }
    return s->decays ? check_decays(c, s, nest) : NULL;
}

/* Checks that either both operands of a DOT are bf16 pairs, or none is. */
static const char *check_pairs(const struct scope *c, const struct stmt *s)
{
    const struct ref *by_row = &s->operand[0], *by_lane = &s->operand[1];
    const struct array *row = &c->loops->array[by_row->of], *lane = &c->loops->array[by_lane->of];
    if (c->loops->array[s->assign[0].to.of].paired || (s->operands > 2 && c->loops->array[s->operand[2].of].paired))
        return "only the two operands that it multiplies may be paired";
    if (s->times != 0 && (!lane->paired || s->assign[0].fold != FOLD_SET))
        return "'times' needs 'set' and a paired second operand";
    if (!row->paired && !lane->paired) return NULL;
    if (!lane->paired || ref_axis(by_lane, 0) != s->axis)
        return "its second operand must be paired along the summed axis";
    bool stored = row->dtype == DTYPE_BF16 && ref_axis(by_row, row->rank - 1) == s->axis &&
                  (lane->matrix              ? row->matrix || width(c, s->axis) % 32 == 0
                   : row->kind == ARRAY_TILE ? row->extent[row->rank - 1] % 2 == 0
                                             : width(c, s->axis) % 2 == 0);
    return stored || (row->paired && ref_axis(by_row, 0) == s->axis)
               ? NULL
               : "its first operand must be paired along the summed axis";
}

/* Checks the region of a DOT, and the condition under which the DOT tests its region. */
static const char *check_region(const struct scope *c, const struct stmt *s, uint32_t index)
{
    const struct allowed pairs = {.ranges = true, .index = index}, tile = {.ranges = true};
    const char *wrong = s->where ? where_check(c->module, s->where, &pairs) : NULL;
    if (wrong) return complaint(c, "in its region: %s", wrong);
    if (!s->where && (s->when || s->ranges)) return "'when' or 'outside' needs a region";
    if (s->when && s->ranges) return "it has both 'when' and 'outside'; only one is allowed";
    wrong = s->when ? where_check(c->module, s->when, &tile) : ranges_check(c->module, s);
    return wrong ? complaint(c, "in its condition: %s", wrong) : NULL;
}

static const char *check_dot(const struct scope *c, const struct stmt *s, uint32_t nest)
{
    if (s->rank != 2 || s->assigns != 1 || s->operands < 2 || s->operands > 4)
        return "it needs two axes, two operands and at most two factors";
    int row = s->axes[0], lane = s->axes[1], over = s->axis;
    const struct ref *to = &s->assign[0].to, *by_row = &s->operand[0], *by_lane = &s->operand[1];
    if (over == row || over == lane) return "it sums over an axis of the result";
    const char *wrong = check_target(c, to, nest);
    for (int k = 0; k < s->operands && !wrong; k++)
        wrong = check_ref(c, &s->operand[k], k < 2 ? nest | bit(over) : nest);
    if (wrong) return wrong;
    if (s->assign[0].fold == FOLD_MAX) return "it must be 'set' or 'sum'";
    if ((wrong = check_compensation(c, &s->assign[0]))) return wrong;
    if (to->rank < 1 || ref_axis(to, to->rank - 1) != lane || !ref_uses_axis(to, row))
        return "its result must have the row axis, and the lane axis last";
    if (ref_uses_axis(by_row, lane)) return "its first operand must not have the lane axis";
    if (!ref_uses_axis(by_row, row) || !ref_uses_axis(by_row, over))
        return "its first operand must have the row axis and the summed axis";
    /* The last axis of a tile must be the lane axis. In an input any axis may be the lane axis, because the pass
       pack copies the input into a tile. */
    bool tile = c->loops->array[by_lane->of].kind == ARRAY_TILE, lanes = false;
    for (int k = tile ? by_lane->rank - 1 : 0; k >= 0 && k < by_lane->rank; k++) lanes |= ref_axis(by_lane, k) == lane;
    if (!lanes)
        return tile ? "its second operand must have the lane axis last" : "its second operand must have the lane axis";
    if (ref_uses_axis(by_lane, row)) return "its second operand must not have the row axis";
    if (!ref_uses_axis(by_lane, over)) return "its second operand must have the summed axis";
    if ((wrong = check_pairs(c, s)) || (wrong = check_region(c, s, nest | bit(over)))) return wrong;
    if (s->fades) {
        const struct ref *const r[] = {&s->fades->of_query, &s->fades->of_key, &s->fades->shift};
        if (!stmt_may_fade(c->loops, s)) return "only a product of queries and keys as numbers can have 'fades'";
        for (int k = 0; k < 3; k++)
            if ((wrong = check_ref(c, r[k], nest))) return wrong;
    }
    if (s->operands < 3) return NULL;
    if (s->assign[0].fold != FOLD_SUM) return "'factor' needs 'sum'";
    if (s->operands == 4) {
        if (s->assign[0].compensation || c->loops->array[by_lane->of].paired)
            return "'less' needs a sum of reals without compensation";
        for (int k = 2; k < 4; k++)
            if (ref_uses_axis(&s->operand[k], lane) || !ref_uses_axis(&s->operand[k], row))
                return "its factors must have the row axis and not the lane axis";
        return NULL;
    }
    return ref_uses_axis(&s->operand[2], row) || !ref_uses_axis(&s->operand[2], lane)
               ? "its factor must have the lane axis and not the row axis"
               : NULL;
}

static const char *check_copy(const struct scope *c, const struct stmt *s, uint32_t nest)
{
    if (s->assigns != 1 || s->operands != 1 || s->assign[0].fold != FOLD_SET)
        return "it must be one 'set' with one operand";
    const char *wrong = check_target(c, &s->assign[0].to, nest);
    if (!wrong) wrong = check_ref(c, &s->operand[0], nest);
    return wrong ? wrong : check_set_once(c, s, &s->assign[0]);
}

static const char *check_solve(const struct scope *c, const struct stmt *s, uint32_t nest)
{
    if (s->rank != 2 || s->assigns != 1 || s->operands != 3 || s->assign[0].fold != FOLD_SET)
        return "it needs two axes and three operands";
    const int row = s->axes[0], lane = s->axes[1], over = s->axis;
    const struct ref *to = &s->assign[0].to, *weights = &s->operand[0], *rest = &s->operand[1], *rate = &s->operand[2];
    const uint32_t all = nest | bit(over);
    if (over == row || over == lane || c->module->axis[over].source != c->module->axis[row].source ||
        !axis_is_sequence(&c->module->axis[over]))
        return "its equations and the axis that it sums over must be the same sequence, under two names";
    const char *wrong = check_target(c, to, all);
    for (int k = 0; k < 3 && !wrong; k++) wrong = check_ref(c, &s->operand[k], all);
    if (wrong) return wrong;
    for (int k = 0; k < 3; k++)
        if (c->loops->array[s->operand[k].of].kind != ARRAY_TILE) return "its operands must be tiles";
    if (to->rank < 2 || ref_axis(to, to->rank - 1) != lane || !ref_uses_axis(to, over) || ref_uses_axis(to, row))
        return "its result must have the summed axis, and the lanes last";
    if (!ref_uses_axis(weights, row) || !ref_uses_axis(weights, over) || ref_uses_axis(weights, lane))
        return "its weights must have both axes of the sequence, and not the lanes";
    if (ref_axis(rest, rest->rank - 1) != lane || !ref_uses_axis(rest, row) || ref_uses_axis(rest, over))
        return "its second operand must have the equations, and the lanes last";
    return ref_uses_axis(rate, lane) || ref_uses_axis(rate, row) || !ref_uses_axis(rate, over)
               ? "its rate must have the summed axis, and not the lanes"
               : NULL;
}

/* Checks a SELECT or LIST. Both have the candidates and what is known of them in two tiles. */
static const char *check_select(const struct scope *c, const struct stmt *s, uint32_t nest)
{
    const bool lists = s->op == LOOPS_LIST;
    if (s->rank != 2 || s->assigns != (lists ? 1 : 2) || s->operands != (lists ? 2 : 1) || s->count < 1 ||
        s->keys_of_block < 1)
        return "it needs two axes, its operands, a count and a block";
    const struct ref *const candidates = lists ? &s->operand[0] : &s->assign[0].to,
                            *const known = lists ? &s->operand[1] : &s->assign[1].to,
                            *const other = lists ? &s->assign[0].to : &s->operand[0];
    const struct array *const a = &c->loops->array[candidates->of], *const b = &c->loops->array[known->of];
    const int lane = s->axes[!lists];
    const uint32_t all = nest | ref_axes(candidates) | ref_axes(known);
    if (a->kind != ARRAY_TILE || b->kind != ARRAY_TILE || a->rank != 2 || b->rank != 2 ||
        ref_axis(candidates, 0) != lane || ref_axis(known, 1) != lane || a->extent[1] / 4 < s->count ||
        b->extent[0] < ROWS_OF_CANDIDATES)
        return "its candidates must be tiles [lane, room] and [rows, lane]";
    const char *wrong = check_ref(c, candidates, all);
    if (!wrong) wrong = check_ref(c, known, all);
    if (wrong) return wrong;
    if (!lists)
        return ref_uses_axis(other, lane) && ref_uses_axis(other, s->axes[0]) ? check_ref(c, other, nest)
                                                                              : "its values must have both axes";
    const struct array *const list = &c->loops->array[other->of];
    return list->kind == ARRAY_OUTPUT && list->dtype == DTYPE_I32 && ref_axis(other, other->rank - 1) == s->axes[1]
               ? NULL
               : "its result must be an output of integers";
}

static const char *check_scan(const struct scope *c, const struct stmt *s, uint32_t nest)
{
    if (s->rank != 2 || s->assigns != 2 || s->operands != 2) return "it needs two axes and two tiles";
    const int along = s->axes[0], lane = s->axes[1];
    for (int k = 0; k < 2; k++) {
        const struct ref *const r = &s->operand[k];
        const char *const wrong = check_target(c, r, nest);
        if (wrong) return wrong;
        if (!ref_equal(r, &s->assign[k].to) || c->loops->array[r->of].kind != ARRAY_TILE)
            return "it must read and write two tiles";
        if (r->rank < 1 || ref_axis(r, r->rank - 1) != lane || ref_uses_axis(r, along) != (k == 0))
            return "its tiles need the lanes last, and the first tile its first axis";
    }
    return NULL;
}

static const char *check_nest(const struct scope *c, const struct stmt *s)
{
    if (s->rank < 1) return "it runs over no axis";
    uint32_t nest = single_axes(c);
    for (int k = 0; k < s->rank; k++) nest |= bit(s->axes[k]);
    const char *wrong = s->op == LOOPS_MAP                             ? check_map(c, s, nest)
                        : s->op == LOOPS_DOT                           ? check_dot(c, s, nest)
                        : s->op == LOOPS_SOLVE                         ? check_solve(c, s, nest)
                        : s->op == LOOPS_SCAN                          ? check_scan(c, s, nest)
                        : s->op == LOOPS_SELECT || s->op == LOOPS_LIST ? check_select(c, s, nest)
                                                                       : check_copy(c, s, nest);
    if (!wrong && s->ahead) wrong = check_ahead(c, s);
    for (int k = 0; k < 2 && !wrong; k++) /* RESUME_ROWS and RESUME_LANES */
        if (s->resumes >> k & 1 && s->op != LOOPS_SOLVE && (s->rank != 2 || c->resumed != s->axes[k] + 1))
            wrong = "no for around it has rows with a solution along this axis";
    return wrong ? wrong : check_order(c, s);
}

static bool has_ids(const void *program, const char *name)
{
    const struct loops *l = program;
    for (int a = 0; a < l->arrays; a++)
        if (array_is_named(&l->array[a]) && strcmp(l->array[a].name, name) == 0) return true;
    return false;
}

/* Returns the name of a missing integer parameter that the statement reads, or NULL. */
static const char *unknown_ids(const struct scope *c, const struct stmt *s)
{
    const struct expr *part[4] = {s->from, s->to, s->where, s->when};
    const char *unknown = NULL;
    for (int k = 0; k < 4 && !unknown; k++) unknown = expr_unknown_ids(part[k], has_ids, c->loops);
    for (int k = 0; k < s->ranges && !unknown; k++) {
        unknown = expr_unknown_ids(s->range[k].from, has_ids, c->loops);
        if (!unknown) unknown = expr_unknown_ids(s->range[k].to, has_ids, c->loops);
    }
    for (int k = 0; k < s->assigns && !unknown; k++) unknown = expr_unknown_ids(s->assign[k].expr, has_ids, c->loops);
    return unknown;
}

/* Checks that axes, arrays and expressions exist. This runs first, because printing the statement needs them. */
static const char *check_numbers(const struct scope *c, const struct stmt *s)
{
    struct module *m = c->module;
    const struct allowed anything = {.operands = s->operands, .index = UINT32_MAX, .ranges = true};
    bool loop = s->op == LOOPS_FOR;
    const struct expr *expr[] = {loop ? s->from : NULL, loop ? s->to : NULL, loop && s->period ? s->phase : NULL,
                                 s->where, s->when};
    const char *wrong = axes_check(m, s->rank, s->axes);
    if (wrong) return wrong;
    if ((s->op == LOOPS_FOR || s->op == LOOPS_DOT || s->op == LOOPS_IF || s->op == LOOPS_SOLVE) &&
        (s->axis < 0 || s->axis >= m->axes))
        return complaint(c, "axis number %d does not exist", s->axis);
    if (s->operands < 0 || s->operands > MAX_OPERANDS || s->assigns < 0 || s->assigns > MAX_ASSIGNS)
        return "it has too many operands or assignments";
    if (((s->op == LOOPS_DOT || s->op == LOOPS_SCAN) && s->operands < 2) || (s->op == LOOPS_SOLVE && s->operands < 3) ||
        (s->op == LOOPS_COPY && s->operands < 1))
        return "it lacks operands";
    if (s->op != LOOPS_FOR && s->op != LOOPS_IF && s->assigns < 1) return "it assigns nothing";
    if ((s->op == LOOPS_FOR && (!s->from || !s->to)) || (s->op == LOOPS_IF && !s->where && !s->ranges))
        return "it lacks a bound or a condition";
    for (size_t k = 0; k < sizeof expr / sizeof *expr; k++)
        if (expr[k] && (wrong = expr_check(m, expr[k], &anything))) return wrong;
    for (int k = 0; k < s->operands + s->assigns; k++) {
        const struct ref *r = k < s->operands ? &s->operand[k] : &s->assign[k - s->operands].to;
        if (r->of < 0 || r->of >= c->loops->arrays) return complaint(c, "array number %d does not exist", r->of);
        if (r->rank != c->loops->array[r->of].rank)
            return complaint(c, "%%%s has %d subscripts", c->loops->array[r->of].name, r->rank);
        for (int j = 0; j < r->rank; j++)
            if ((wrong = expr_check(m, r->sub[j], &anything))) return wrong;
    }
    for (int k = 0; k < s->assigns && s->op == LOOPS_MAP; k++)
        if ((wrong = expr_check(m, s->assign[k].expr, &anything))) return wrong;
    return NULL;
}

static const char *check_stmt(const struct scope *c, const struct stmt *s)
{
    switch ((enum loops_op)s->op) {
    case LOOPS_FOR: return check_for(c, s);
    case LOOPS_IF: {
        const struct allowed allowed = {.ranges = true};
        const char *wrong = s->where ? where_check(c->module, s->where, &allowed) : ranges_check(c->module, s);
        if (!s->where && !c->step[s->axis]) wrong = "no for around it runs over its axis";
        return wrong ? complaint(c, "in its condition: %s", wrong) : NULL;
    }
    case LOOPS_MAP:
    case LOOPS_DOT:
    case LOOPS_COPY:
    case LOOPS_SCAN:
    case LOOPS_SOLVE:
    case LOOPS_SELECT:
    case LOOPS_LIST: return check_nest(c, s);
    }
    return NULL;
}

/* If the FOR has one iteration with the range of an outer FOR, returns 1 + the axis of this FOR. Otherwise returns 0.
 */
static int equal_axis(const struct scope *c, const struct stmt *s)
{
    if (s->from->op != EXPR_LO || s->to->op != EXPR_HI || s->from->integer != s->to->integer) return 0;
    const int axis = (int)s->from->integer;
    return c->step[axis] > 0 && s->step >= c->step[axis] && !c->window[axis] ? axis + 1 : 0;
}

static const char *check_body(const struct scope *c, const struct stmt *s)
{
    for (; s; s = s->next) {
        if (s->op < 0 || s->op >= OPS) return complaint(c, "a statement has operation number %d", s->op);
        const char *wrong = check_numbers(c, s);
        if (wrong) return complaint(c, "%s: %s", op_name[s->op], wrong);
        wrong = check_stmt(c, s);
        const char *unknown = wrong ? NULL : unknown_ids(c, s);
        if (unknown) wrong = complaint(c, "there is no id parameter '%s'", unknown);
        if (wrong) {
            struct text line = {NULL, 0, 0};
            stmt_print(c->loops, s, &line);
            const char *message = complaint(c, "'%.*s%s': %s", LONGEST, line.data, line.length > LONGEST ? "…" : "",
                                            wrong);
            text_free(&line);
            return message;
        }
        struct scope inner = *c;
        if (s->op == LOOPS_FOR) {
            inner.step[s->axis] = s->step;
            inner.window[s->axis] = s->window || s->block;
            inner.parallel[s->axis] = s->parallel;
            inner.ordered[s->axis] = s->ordered;
            inner.equal[s->axis] = equal_axis(c, s);
            if (s->resumes) inner.resumed = s->axis + 1;
        }
        wrong = check_body(&inner, s->body);
        if (wrong) return wrong;
    }
    return NULL;
}

const char *loops_verify(const struct loops *l)
{
    struct scope c = {.loops = l, .module = l->module};
    const char *wrong = module_check(l->module);
    if (wrong) return wrong;
    int outputs = 0;
    for (int a = 0; a < l->arrays; a++) {
        wrong = array_check(&c, a);
        if (wrong) return complaint(&c, "array '%s': %s", l->array[a].name ? l->array[a].name : "", wrong);
        /* Tiles in the caller's state count as outputs. */
        outputs += l->array[a].kind == ARRAY_OUTPUT || l->array[a].kept;
    }
    if (outputs == 0) return "there is no output array";
    if (l->workspace < 0 || l->shared < 0 || l->slot < 0 || l->kept < 0) return "the size of the workspace is negative";
    return check_body(&c, l->body);
}
