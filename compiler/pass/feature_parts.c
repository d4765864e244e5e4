/* Computes long feature vectors in parts, which stay in the caches. A part is a range of the features, along a
   constant axis. The members are the statements that use the tile of features. They are put into a loop over the
   parts. A product over features adds one part per iteration. */
#include "pass.h"
#include "../schedule/schedule.h"

#include <string.h>

/* PART: the default length of a part. Products divide longer sums at this length anyway.
   STEP_OF_MATRIX_UNITS: copies for matrix units fill the rows of a part with zeros up to a multiple of it. */
enum { PART = 192, MIN_PARTS = 2, MAX_MEMBERS = 16, STEP_OF_MATRIX_UNITS = 32 };

/* Whether s runs over the axis and can be limited to a part. */
static bool runs_over(const struct loops *l, const struct stmt *s, int axis)
{
    if (s->op == LOOPS_FOR || s->op == LOOPS_IF || (s->op == LOOPS_COPY && !l->array[s->assign[0].to.of].matrix))
        return false;
    return stmt_axes(s) >> axis & 1;
}

static bool plain_along(const struct array *a, const struct ref *r, int axis)
{
    for (int k = 0; k < r->rank; k++)
        if (a->axes[k] == axis && ref_axis(r, k) != axis) return false;
    return true;
}

/* Collects the members for tile a from statement `first` on. Returns the number of members, or 0 if the members
   cannot share a loop. */
static int members_of(const struct loops *l, struct stmt *first, int a, int axis, struct stmt **member)
{
    int members = 0, total = stmts_touching(l->body, a);
    for (struct stmt *s = first; s && members < total; s = s->next) {
        if (stmt_touches(s, a)) {
            if (members == MAX_MEMBERS || !runs_over(l, s, axis)) return 0;
            for (int k = 0; k < s->operands; k++)
                if (s->operand[k].of == a && !plain_along(&l->array[a], &s->operand[k], axis)) return 0;
            /* a member must not touch the result of an earlier one, which is complete only after the loop */
            for (int m = 0; m < members; m++)
                for (int k = 0; k < member[m]->assigns; k++) {
                    int made = member[m]->assign[k].to.of;
                    if (made != a && stmt_touches(s, made)) return 0;
                }
            member[members++] = s;
            continue;
        }
        /* s is no member, and moves ahead of the loop, so it must not depend on earlier members */
        if (s->body) return 0;
        for (int m = 0; m < members; m++)
            if (!exchangeable_statements(member[m], s)) return 0;
    }
    return members > 1 && members == total ? members : 0;
}

/* Returns a map that sets the product's result to 0. The product then adds. */
static struct stmt *zero(struct loops *l, struct stmt *dot)
{
    struct stmt *s = stmt_new(l, LOOPS_MAP);
    s->rank = dot->rank;
    memcpy(s->axes, dot->axes, sizeof s->axes);
    s->assigns = 1;
    s->assign[0] = dot->assign[0];
    s->assign[0].expr = expr_real(l->module, 0);
    dot->assign[0].fold = FOLD_SUM;
    return s;
}

/* Splits the tile a into parts of `part` elements, or a few more. Returns their length. */
static int64_t split(struct loops *l, struct stmt **at, int a, int axis, int64_t part, int members,
                     struct stmt **member)
{
    for (int m = 0; m < members; m++)
        if (member[m]->op == LOOPS_COPY)
            part += (STEP_OF_MATRIX_UNITS - part % STEP_OF_MATRIX_UNITS) % STEP_OF_MATRIX_UNITS;
    struct stmt *loop = stmt_new(l, LOOPS_FOR), **front = at, **inner = &loop->body, *s = *at, *after = NULL;
    loop->axis = axis;
    loop->from = expr_int(l->module, 0);
    loop->to = expr_size(l->module, axis);
    loop->step = part;
    for (int m = 0; m < members; s = after) {
        after = s->next;
        if (s == member[m]) {
            if (s->op == LOOPS_DOT && s->axis == axis && s->assign[0].fold == FOLD_SET) {
                *front = zero(l, s);
                front = &(*front)->next;
            }
            *inner = s;
            inner = &s->next;
            m++;
        } else {
            *front = s;
            front = &s->next;
        }
    }
    *inner = NULL;
    *front = loop;
    loop->next = after;
    for (int k = 0; k < l->array[a].rank; k++)
        if (l->array[a].axes[k] == axis) l->array[a].extent[k] = part;
    return part;
}

/* Splits the feature tiles that list *body makes into parts. `parallel`: a parallel loop is around the list.
   `around`: the axes of the loops around the list, as bits. */
static void walk(struct compilation *c, struct stmt **body, int64_t part, bool parallel, uint32_t around)
{
    struct loops *l = c->loops;
    for (struct stmt **at = body; *at; at = &(*at)->next) {
        struct stmt *s = *at;
        const bool loop = s->op == LOOPS_FOR;
        walk(c, &s->body, part, parallel || (loop && s->parallel), loop ? around | AXIS(s->axis) : around);
        if (s->op != LOOPS_MAP || s->assigns != 1 || s->assign[0].fold != FOLD_SET || !parallel) continue;
        int a = s->assign[0].to.of;
        const struct array *array = &l->array[a];
        if (array->kind != ARRAY_TILE || array->shared || array_has_slots(l, array) || stmt_reads(s, a)) continue;
        for (int k = 0; k < array->rank; k++) {
            const struct axis *axis = &l->module->axis[array->axes[k]];
            struct stmt *member[MAX_MEMBERS];
            if (axis->source != SIZE_CONSTANT || axis->extent < MIN_PARTS * part || array->extent[k] != axis->extent ||
                around >> array->axes[k] & 1)
                continue;
            int members = members_of(l, s, a, array->axes[k], member);
            if (!members) continue;
            c->tiling.feature_part = split(l, at, a, array->axes[k], part, members, member);
            break;
        }
    }
}

void pass_feature_parts(struct compilation *c)
{
    walk(c, &c->loops->body, schedule_knob(c, "part", PART), false, 0);
}

const char *knob_part(const struct knob_case *x, struct tune_knob *knob)
{
    if (!x->linear || !x->linear->tiling.feature_part) return "it computes no features in parts";
    return knob_set_values(knob, PART, 3, (const int64_t[]){96, 192, 384});
}
