/* Prints and parses loops as text: the arrays, then nested statements. */
#include "loops.h"

#include <string.h>

static const char *const kind_name[] = {[ARRAY_INPUT] = "input",
                                        [ARRAY_PARAM] = "param",
                                        [ARRAY_OUTPUT] = "output",
                                        [ARRAY_TABLE] = "table",
                                        [ARRAY_TILE] = "tile"};
enum { KINDS = sizeof kind_name / sizeof *kind_name };

static const char *const op_name[] = {
#define LOOPS(name, text) text,
#include "loops.def"
#undef LOOPS
};
enum { OPS = sizeof op_name / sizeof *op_name, LINE = 140 };

static const char *const fold_name[] = {[FOLD_SET] = "set", [FOLD_SUM] = "sum", [FOLD_MAX] = "max"};

/* ---- printing ---- */

static struct referred referred(const void *program, int of)
{
    const struct loops *l = program;
    const struct array *a = &l->array[of];
    return (struct referred){a->name, a->rank, a->axes};
}

static void print_expr(const struct loops *l, const struct stmt *s, const struct expr *e, struct text *out)
{
    expr_print(l->module, e, s->operand, referred, l, out);
}

static void print_ref(const struct loops *l, const struct ref *r, struct text *out)
{
    ref_print(l->module, r, referred, l, out);
}

/* Returns the expression with equal operands merged, as the parser does. So printed text does not change when it is
   parsed and printed again. */
static const struct expr *merged(const struct loops *l, const struct stmt *s, const struct expr *e)
{
    const struct expr *with[MAX_OPERANDS];
    for (int k = 0; k < s->operands; k++) {
        int first = 0;
        while (!ref_equal(&s->operand[first], &s->operand[k])) first++;
        with[k] = expr_operand(l->module, first);
    }
    return expr_bind(l->module, e, with);
}

static void print_target(const struct loops *l, const struct assign *a, struct text *out)
{
    print_ref(l, &a->to, out);
    if (a->compensation) text_add(out, " compensation %%%s", l->array[a->compensation - 1].name);
}

static void print_assign(const struct loops *l, const struct stmt *s, int k, struct text *out)
{
    text_add(out, "%s ", fold_name[s->assign[k].fold]);
    print_target(l, &s->assign[k], out);
    text_add(out, " = ");
    print_expr(l, s, merged(l, s, s->assign[k].expr), out);
}

/* The names of the bits of stmt.resumes. */
static const char *const resume_name[] = {"new_rows", "new_lanes", "shares"};
enum { RESUMES = sizeof resume_name / sizeof *resume_name };

static void print_resumes(const struct stmt *s, struct text *out)
{
    for (int k = 0; k < RESUMES; k++)
        if (s->resumes >> k & 1) text_add(out, " %s", resume_name[k]);
}

static void print_for(const struct loops *l, const struct stmt *s, struct text *out)
{
    text_add(out, " %s from ", l->module->axis[s->axis].name);
    print_expr(l, s, s->from, out);
    text_add(out, " to ");
    print_expr(l, s, s->to, out);
    if (s->window)
        text_add(out, " window");
    else
        text_add(out, " step %lld%s%s%s", (long long)s->step, s->parallel ? " parallel" : "",
                 s->ordered ? " ordered" : "", s->block ? " block" : "");
    if (s->period) {
        text_add(out, " period %lld run %lld phase ", (long long)s->period, (long long)s->run);
        print_expr(l, s, s->phase, out);
        text_add(out, "%s", s->apart ? " apart" : "");
    }
    if (s->ranges) text_add(out, " in");
    ranges_print(l, s, out);
    if (s->where) {
        text_add(out, " where ");
        print_expr(l, s, s->where, out);
    }
    if (s->when) {
        text_add(out, " when ");
        print_expr(l, s, s->when, out);
    }
    print_resumes(s, out);
    text_add(out, " {");
}

static void print_ahead(const struct loops *l, const struct stmt *s, struct text *out)
{
    if (s->ahead) text_add(out, " ahead");
    for (int k = 0; k <= s->operands; k++) {
        if (!(k < s->operands ? s->ahead >> k & 1 : s->ahead & AHEAD_OF_RESULT)) continue;
        text_add(out, " ");
        print_ref(l, k < s->operands ? &s->operand[k] : &s->assign[0].to, out);
    }
}

static void print_decays(const struct loops *l, const struct decaying *d, struct text *out)
{
    text_add(out, " decays last ");
    expr_print(l->module, d->last, NULL, referred, l, out);
    text_add(out, " times ");
    real_print(d->times, true, out);
    text_add(out, " scale ");
    real_print(d->scale, true, out);
    for (int k = -1; k < d->logs; k++) {
        text_add(out, " ");
        print_ref(l, k < 0 ? &d->x : &d->a[k], out);
        text_add(out, " ");
        print_ref(l, k < 0 ? &d->y : &d->b[k], out);
    }
}

static void print_map(const struct loops *l, const struct stmt *s, int indent, struct text *out)
{
    struct text line = {NULL, 0, 0};
    for (int k = 0; k < s->assigns; k++) {
        if (k) text_add(&line, "; ");
        print_assign(l, s, k, &line);
    }
    text_add(out, s->coarse ? " coarse " : " ");
    axes_print(l->module, s->rank, s->axes, out);
    if (s->where) {
        text_add(out, " within ");
        print_expr(l, s, s->where, out);
    }
    if (indent < 0 || (size_t)indent + line.length < LINE || s->assigns < 2)
        text_add(out, " { %s }", line.data ? line.data : "");
    else {
        text_add(out, " {\n");
        for (int k = 0; k < s->assigns; k++) {
            text_add(out, "%*s", indent + 2, "");
            print_assign(l, s, k, out);
            text_add(out, "%s\n", k + 1 < s->assigns ? ";" : "");
        }
        text_add(out, "%*s}", indent, "");
    }
    print_ahead(l, s, out);
    if (s->decays) print_decays(l, s->decays, out);
    text_free(&line);
}

static void print_dot(const struct loops *l, const struct stmt *s, struct text *out)
{
    text_add(out, " ");
    axes_print(l->module, s->rank, s->axes, out);
    text_add(out, " over %s %s ", l->module->axis[s->axis].name, fold_name[s->assign[0].fold]);
    print_target(l, &s->assign[0], out);
    text_add(out, " = ");
    print_ref(l, &s->operand[0], out);
    text_add(out, " * ");
    print_ref(l, &s->operand[1], out);
    if (s->operands > 2) {
        text_add(out, " factor ");
        print_ref(l, &s->operand[2], out);
    }
    if (s->operands > 3) {
        text_add(out, " less ");
        print_ref(l, &s->operand[3], out);
    }
    if (s->times != 0) {
        text_add(out, " times ");
        real_print(s->times, true, out);
    }
    if (s->fades) {
        text_add(out, s->fades->running ? " fades running " : " fades ");
        real_print(s->fades->unit, true, out);
        for (int k = 0; k < 3; k++) {
            text_add(out, " ");
            print_ref(l, k == 0 ? &s->fades->of_query : k == 1 ? &s->fades->of_key : &s->fades->shift, out);
        }
    }
    if (!s->where) return;
    text_add(out, " where ");
    print_expr(l, s, s->where, out);
    if (s->when) {
        text_add(out, " when ");
        print_expr(l, s, s->when, out);
    }
    if (s->ranges) text_add(out, " outside");
    ranges_print(l, s, out);
}

static void print_copy(const struct loops *l, const struct stmt *s, struct text *out)
{
    text_add(out, " ");
    axes_print(l->module, s->rank, s->axes, out);
    text_add(out, " ");
    print_ref(l, &s->assign[0].to, out);
    text_add(out, " = ");
    print_ref(l, &s->operand[0], out);
    print_ahead(l, s, out);
}

static void print_solve(const struct loops *l, const struct stmt *s, struct text *out)
{
    text_add(out, " ");
    axes_print(l->module, s->rank, s->axes, out);
    text_add(out, " over %s %s", l->module->axis[s->axis].name, s->backward ? "backward " : "");
    print_ref(l, &s->assign[0].to, out);
    text_add(out, " =");
    for (int k = 0; k < s->operands; k++) {
        text_add(out, " ");
        print_ref(l, &s->operand[k], out);
    }
}

/* Prints a statement without its body. A negative indent keeps the text on one line. */
static void print_head(const struct loops *l, const struct stmt *s, int indent, struct text *out)
{
    text_add(out, "%s", op_name[s->op]);
    switch ((enum loops_op)s->op) {
    case LOOPS_FOR: print_for(l, s, out); break;
    case LOOPS_IF:
        text_add(out, s->where ? " " : " outside %s", l->module->axis[s->axis].name);
        if (s->where) print_expr(l, s, s->where, out);
        ranges_print(l, s, out);
        text_add(out, " {");
        break;
    case LOOPS_MAP: print_map(l, s, indent, out); break;
    case LOOPS_DOT: print_dot(l, s, out); break;
    case LOOPS_COPY: print_copy(l, s, out); break;
    case LOOPS_SOLVE: print_solve(l, s, out); break;
    }
    if (s->op != LOOPS_FOR) print_resumes(s, out);
}

void stmt_print(const struct loops *l, const struct stmt *s, struct text *out)
{
    print_head(l, s, -1, out);
}

static void print_body(const struct loops *l, const struct stmt *s, int indent, struct text *out)
{
    for (; s; s = s->next) {
        text_add(out, "%*s", indent, "");
        print_head(l, s, indent, out);
        text_add(out, "\n");
        if (s->op != LOOPS_FOR && s->op != LOOPS_IF) continue;
        print_body(l, s->body, indent + 2, out);
        text_add(out, "%*s}\n", indent, "");
    }
}

static void print_array(const struct loops *l, const struct array *a, struct text *out)
{
    text_add(out, "array %s %s %s ", a->name, kind_name[a->kind], dtype_name(a->dtype));
    if (a->kind == ARRAY_TILE) {
        text_add(out, "[");
        for (int k = 0; k < a->rank; k++)
            text_add(out, "%s%s:%lld", k ? " " : "", l->module->axis[a->axes[k]].name, (long long)a->extent[k]);
        text_add(out, "]");
        if (a->gap) text_add(out, " gap %lld", (long long)a->gap);
        if (a->paired) text_add(out, " paired");
        if (a->matrix) text_add(out, " matrix");
        if (a->terms) text_add(out, " terms %d", a->terms);
        if (a->held) text_add(out, " held %lld", (long long)a->held);
        if (a->remembered && a->rank == 2) text_add(out, " remembers %lld tiles", (long long)a->remembered);
        if (a->remembered && a->rank != 2)
            text_add(out, " remembers %lld of %s - %s", (long long)a->remembered, l->module->axis[a->lane].name,
                     l->module->axis[a->other].name);
        if (a->shared) text_add(out, a->folded ? " folded" : a->kept ? " kept" : " shared");
        if (a->solved) text_add(out, " solved");
        if (a->carried) text_add(out, " carried");
        if (a->offset >= 0) text_add(out, " @%lld", (long long)a->offset);
    } else
        axes_print(l->module, a->rank, a->axes, out);
    if (a->by_name) text_add(out, " by_name");
    if (a->hides) text_add(out, " hides");
    if (a->sums) text_add(out, " sums");
    within_print(l->module, &a->within, out);
    if (a->kind == ARRAY_TABLE) {
        text_add(out, " ");
        table_print(l->module, a->rank, a->axes, a->data, out);
    }
    text_add(out, "\n");
}

void loops_print(const struct loops *l, struct text *out)
{
    text_add(out, "loops %s %s\n", l->module->name, dtype_name(l->module->dtype));
    axis_lines_print(l->module, out);
    for (int a = 0; a < l->arrays; a++) print_array(l, &l->array[a], out);
    if (l->workspace) text_add(out, "workspace %lld\n", (long long)l->workspace);
    if (l->shared) text_add(out, "shared %lld\n", (long long)l->shared);
    if (l->slot) text_add(out, "slot %lld\n", (long long)l->slot);
    if (l->kept) text_add(out, "kept %lld\n", (long long)l->kept);
    print_body(l, l->body, 0, out);
}

/* ---- parsing ---- */

static bool find(const void *program, const char *name, struct ref *plain)
{
    const struct loops *l = program;
    for (int a = 0; a < l->arrays; a++)
        if (strcmp(l->array[a].name, name) == 0) {
            *plain = loops_ref(l, a);
            return true;
        }
    return false;
}

static void read_tile_axes(struct reader *r, struct array *a)
{
    const int line = r->line;
    reader_expect(r, "[");
    while (!r->failed && !reader_at(r, "]")) {
        if (a->rank == MAX_RANK) {
            reader_error(r, "there can be no more than %d axes here", MAX_RANK);
            return;
        }
        a->axes[a->rank] = reader_axis(r);
        reader_expect(r, ":");
        a->extent[a->rank] = reader_int(r, 1);
        a->rank++;
    }
    reader_expect(r, "]");
    if (reader_take(r, "gap")) a->gap = reader_int(r, 1);
    a->paired = reader_take(r, "paired");
    a->matrix = reader_take(r, "matrix");
    if (reader_take(r, "terms")) a->terms = (int)reader_int(r, 2);
    if (reader_take(r, "held")) a->held = reader_int(r, 1);
    if (reader_take(r, "remembers")) {
        a->remembered = reader_int(r, 1);
        reader_expect(r, a->rank == 2 ? "tiles" : "of");
        if (a->rank != 2) {
            a->lane = reader_axis(r);
            reader_expect(r, "-");
            a->other = reader_axis(r);
        }
    }
    a->folded = reader_take(r, "folded");
    /* the next line may begin with the size `kept` or `shared` */
    a->kept = a->folded || (r->line == line && reader_take(r, "kept"));
    a->shared = a->kept || (r->line == line && reader_take(r, "shared"));
    a->solved = reader_take(r, "solved");
    a->carried = reader_take(r, "carried");
    if (reader_take(r, "@")) a->offset = reader_int(r, 0);
}

static void read_array(struct reader *r, struct loops *l)
{
    struct array a = {.offset = -1};
    struct ref known;
    reader_expect(r, "array");
    if (r->length && find(l, arena_printf(l->module->arena, "%.*s", (int)r->length, r->token), &known))
        reader_error(r, "there is an array of that name already");
    a.name = reader_name(r, "the array's name");
    int kind = 0;
    while (kind < KINDS && !reader_take(r, kind_name[kind])) kind++;
    if (kind == KINDS) {
        reader_error(r, "expected the kind of array: input, param, output, table or tile");
        return;
    }
    a.kind = (enum array_kind)kind;
    a.dtype = reader_dtype(r);
    if (a.kind == ARRAY_TILE)
        read_tile_axes(r, &a);
    else
        reader_axes(r, &a.rank, a.axes);
    a.by_name = a.kind == ARRAY_PARAM && reader_take(r, "by_name");
    a.hides = a.kind == ARRAY_PARAM && reader_take(r, "hides");
    a.sums = (a.kind == ARRAY_INPUT || a.kind == ARRAY_OUTPUT) && reader_take(r, "sums");
    if (a.kind == ARRAY_INPUT && !a.sums) a.within = within_read(r);
    if (a.kind == ARRAY_TABLE) a.data = reader_table(r, a.rank, a.axes);
    if (!r->failed) loops_array(l, a);
}

static struct stmt *read_body(struct reader *r, struct loops *l, const char *end);

static void read_resumes(struct reader *r, struct stmt *s)
{
    for (int k = 0; k < RESUMES; k++)
        if (reader_take(r, resume_name[k])) s->resumes |= 1U << k;
}

static void read_for(struct reader *r, struct loops *l, struct stmt *s)
{
    s->axis = reader_axis(r);
    reader_expect(r, "from");
    s->from = reader_expr(r);
    reader_expect(r, "to");
    s->to = reader_expr(r);
    s->step = 1;
    s->window = reader_take(r, "window");
    if (!s->window) {
        reader_expect(r, "step");
        s->step = reader_int(r, 1);
        s->parallel = reader_take(r, "parallel");
        s->ordered = reader_take(r, "ordered");
        s->block = reader_take(r, "block");
    }
    if (reader_take(r, "period")) {
        s->period = reader_int(r, 1);
        reader_expect(r, "run");
        s->run = reader_int(r, 1);
        reader_expect(r, "phase");
        s->phase = reader_expr(r);
        s->apart = reader_take(r, "apart");
    }
    if (reader_take(r, "in")) ranges_read(r, s);
    if (reader_take(r, "where")) s->where = reader_expr(r);
    if (reader_take(r, "when")) s->when = reader_expr(r);
    read_resumes(r, s);
    reader_expect(r, "{");
    s->body = read_body(r, l, "}");
    reader_expect(r, "}");
}

static enum fold read_fold(struct reader *r)
{
    for (int fold = FOLD_SET; fold <= FOLD_MAX; fold++)
        if (reader_take(r, fold_name[fold])) return (enum fold)fold;
    reader_error(r, "expected set, sum or max");
    return FOLD_SET;
}

static void read_target(struct reader *r, struct assign *a)
{
    a->to = reader_ref(r);
    if (reader_take(r, "compensation")) a->compensation = reader_ref(r).of + 1;
}

static bool at_ref(const struct reader *r)
{
    return !r->failed && *r->token == '%';
}

static void read_ahead(struct reader *r, struct stmt *s)
{
    if (!reader_take(r, "ahead")) return;
    do {
        const struct ref row = reader_ref(r);
        int k = 0;
        while (k < s->operands && !ref_equal(&s->operand[k], &row)) k++;
        if (k == s->operands && !ref_equal(&s->assign[0].to, &row))
            reader_error(r, "the statement neither reads these rows nor sets them");
        s->ahead |= k < s->operands ? AXIS(k) : AHEAD_OF_RESULT;
    } while (at_ref(r));
}

static void read_decays(struct reader *r, struct stmt *s)
{
    if (!reader_take(r, "decays")) return;
    struct decaying *const d = arena_alloc(r->module->arena, sizeof *d);
    reader_expect(r, "last");
    d->last = reader_expr(r);
    reader_expect(r, "times");
    d->times = reader_real(r);
    reader_expect(r, "scale");
    d->scale = reader_real(r);
    d->x = reader_ref(r);
    d->y = reader_ref(r);
    do {
        d->a[d->logs] = reader_ref(r);
        d->b[d->logs++] = reader_ref(r);
    } while (d->logs < MAX_LOGS && at_ref(r));
    s->decays = d;
}

static void read_map(struct reader *r, struct stmt *s)
{
    s->coarse = reader_take(r, "coarse");
    reader_axes(r, &s->rank, s->axes);
    if (reader_take(r, "within")) s->where = reader_expr(r);
    reader_expect(r, "{");
    r->operands = 0;
    do {
        if (s->assigns == MAX_ASSIGNS) {
            reader_error(r, "there can be no more than %d assignments in one statement", MAX_ASSIGNS);
            return;
        }
        struct assign *a = &s->assign[s->assigns++];
        a->fold = read_fold(r);
        read_target(r, a);
        reader_expect(r, "=");
        a->expr = reader_expr(r);
    } while (reader_take(r, ";"));
    reader_expect(r, "}");
    s->operands = r->operands;
    memcpy(s->operand, r->operand, sizeof s->operand);
    read_ahead(r, s);
    read_decays(r, s);
}

static void read_dot(struct reader *r, struct stmt *s)
{
    reader_axes(r, &s->rank, s->axes);
    reader_expect(r, "over");
    s->axis = reader_axis(r);
    s->assigns = 1;
    s->assign[0].fold = read_fold(r);
    read_target(r, &s->assign[0]);
    reader_expect(r, "=");
    s->operand[s->operands++] = reader_ref(r);
    reader_expect(r, "*");
    s->operand[s->operands++] = reader_ref(r);
    if (reader_take(r, "factor")) s->operand[s->operands++] = reader_ref(r);
    if (s->operands == 3 && reader_take(r, "less")) s->operand[s->operands++] = reader_ref(r);
    if (reader_take(r, "times")) s->times = reader_real(r);
    if (reader_take(r, "fades")) {
        struct fading *const fades = arena_alloc(r->module->arena, sizeof *fades);
        fades->running = reader_take(r, "running");
        fades->unit = reader_real(r);
        fades->of_query = reader_ref(r);
        fades->of_key = reader_ref(r);
        fades->shift = reader_ref(r);
        s->fades = fades;
    }
    if (!reader_take(r, "where")) return;
    s->where = reader_expr(r);
    if (reader_take(r, "when")) s->when = reader_expr(r);
    if (reader_take(r, "outside")) ranges_read(r, s);
}

static void read_copy(struct reader *r, struct stmt *s)
{
    reader_axes(r, &s->rank, s->axes);
    s->assigns = 1;
    s->assign[0].fold = FOLD_SET;
    s->assign[0].to = reader_ref(r);
    reader_expect(r, "=");
    s->operand[s->operands++] = reader_ref(r);
    read_ahead(r, s);
}

static void read_solve(struct reader *r, struct stmt *s)
{
    reader_axes(r, &s->rank, s->axes);
    reader_expect(r, "over");
    s->axis = reader_axis(r);
    s->backward = reader_take(r, "backward");
    s->assigns = 1;
    s->assign[0].fold = FOLD_SET;
    s->assign[0].to = reader_ref(r);
    reader_expect(r, "=");
    for (int k = 0; k < 3; k++) s->operand[s->operands++] = reader_ref(r);
}

static void read_stmt(struct reader *r, struct loops *l, struct stmt *s)
{
    switch ((enum loops_op)s->op) {
    case LOOPS_FOR: read_for(r, l, s); break;
    case LOOPS_IF:
        if (reader_take(r, "outside")) {
            s->axis = reader_axis(r);
            ranges_read(r, s);
        } else
            s->where = reader_expr(r);
        reader_expect(r, "{");
        s->body = read_body(r, l, "}");
        reader_expect(r, "}");
        break;
    case LOOPS_MAP: read_map(r, s); break;
    case LOOPS_DOT: read_dot(r, s); break;
    case LOOPS_COPY: read_copy(r, s); break;
    case LOOPS_SOLVE: read_solve(r, s); break;
    }
    if (s->op != LOOPS_FOR && s->op != LOOPS_IF) read_resumes(r, s);
}

/* Parses statements up to the token `end`, or to the end of the text. */
static struct stmt *read_body(struct reader *r, struct loops *l, const char *end)
{
    struct stmt *first = NULL, **last = &first;
    if (++r->depth > MAX_NEST) reader_error(r, "statements are nested too deeply");
    while (!r->failed && !reader_at(r, end)) {
        int op = 0;
        while (op < OPS && !reader_take(r, op_name[op])) op++;
        if (op == OPS) {
            reader_error(r, "expected a statement: for, if, map, dot, copy or solve");
            break;
        }
        *last = stmt_new(l, op);
        read_stmt(r, l, *last);
        last = &(*last)->next;
    }
    r->depth--;
    return first;
}

struct loops *loops_parse(struct arena *arena, const char *text, struct diagnostics *d)
{
    struct module *m = module_new(arena, "", DTYPE_F32);
    struct loops *l = loops_new(m);
    struct reader r;
    reader_start(&r, m, text, d);
    r.program = l;
    r.find = find;
    reader_expect(&r, "loops");
    m->name = reader_name(&r, "the name of the loops");
    m->dtype = reader_dtype(&r);
    reader_axis_lines(&r);
    while (reader_at(&r, "array")) read_array(&r, l);
    if (reader_take(&r, "workspace")) l->workspace = reader_int(&r, 0);
    if (reader_take(&r, "shared")) l->shared = reader_int(&r, 0);
    if (reader_take(&r, "slot")) l->slot = reader_int(&r, 0);
    if (reader_take(&r, "kept")) l->kept = reader_int(&r, 0);
    l->body = read_body(&r, l, "");
    return r.failed ? NULL : l;
}
