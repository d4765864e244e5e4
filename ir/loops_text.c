/* Prints and parses loops as text: the arrays, then nested statements. Most functions do both (struct format). */
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
enum { FOLDS = sizeof fold_name / sizeof *fold_name };

static struct referred referred(const void *program, int of)
{
    const struct loops *l = program;
    const struct array *a = &l->array[of];
    return (struct referred){a->name, a->rank, a->axes};
}

/* ---- the text of statements, which is printed or parsed ---- */

static void target_text(struct format *f, struct assign *a)
{
    struct ref compensation = {.of = a->compensation - 1};
    format_ref(f, &a->to);
    if (!format_has(f, "compensation", a->compensation != 0)) return;
    if (f->out) compensation = loops_ref(f->program, compensation.of);
    format_ref(f, &compensation);
    a->compensation = compensation.of + 1;
}

static void fold_text(struct format *f, struct assign *a)
{
    const int fold = format_choice(f, (int)a->fold, fold_name, FOLDS);
    if (fold == FOLDS) reader_error(f->reader, "expected set, sum or max");
    a->fold = fold < FOLDS ? (enum fold)fold : FOLD_SET;
}

/* The text of operand k, which follows the others. */
static void operand_text(struct format *f, struct stmt *s, int k)
{
    format_ref(f, &s->operand[k]);
    s->operands = f->out ? s->operands : k + 1;
}

/* The text of a statement with one assignment, without its operands. */
static void result_text(struct format *f, struct stmt *s)
{
    s->assigns = 1;
    if (s->op == LOOPS_DOT) fold_text(f, &s->assign[0]);
    target_text(f, &s->assign[0]);
    format_word(f, "=");
}

/* The names of the bits of stmt.resumes. */
static const char *const resume_name[] = {"new_rows", "new_lanes", "shares"};
enum { RESUMES = sizeof resume_name / sizeof *resume_name };

static void resumes_text(struct format *f, struct stmt *s)
{
    for (unsigned k = 0; k < RESUMES; k++)
        if (format_has(f, resume_name[k], s->resumes >> k & 1)) s->resumes |= 1U << k;
}

static void for_text(struct format *f, struct stmt *s)
{
    format_axis(f, &s->axis);
    format_word(f, "from");
    format_expr(f, &s->from);
    format_word(f, "to");
    format_expr(f, &s->to);
    if (!f->out) s->step = 1;
    if (!format_flag(f, "window", &s->window)) {
        format_word(f, "step");
        format_int(f, &s->step, 1);
        format_flag(f, "backward", &s->backward);
        format_flag(f, "parallel", &s->parallel);
        format_flag(f, "ordered", &s->ordered);
        format_flag(f, "block", &s->block);
    }
    if (format_optional_int(f, "period", &s->period, 1)) {
        format_word(f, "run");
        format_int(f, &s->run, 1);
        format_word(f, "phase");
        format_expr(f, &s->phase);
        format_flag(f, "apart", &s->apart);
    }
    if (format_has(f, "in", s->ranges > 0)) ranges_text(f, s);
    format_flag(f, "gather", &s->gathers);
    format_clause(f, "where", &s->where);
    format_clause(f, "when", &s->when);
    resumes_text(f, s);
}

static bool at_ref(const struct reader *r)
{
    return !r->failed && *r->token == '%';
}

static void read_ahead(struct reader *r, struct stmt *s)
{
    do {
        const struct ref row = reader_ref(r);
        int k = 0;
        while (k < s->operands && !ref_equal(&s->operand[k], &row)) k++;
        if (k == s->operands && !ref_equal(&s->assign[0].to, &row))
            reader_error(r, "the statement neither reads these rows nor sets them");
        s->ahead |= k < s->operands ? AXIS(k) : AHEAD_OF_RESULT;
    } while (at_ref(r));
}

static void ahead_text(struct format *f, struct stmt *s)
{
    if (!format_has(f, "ahead", s->ahead != 0)) return;
    if (!f->out) read_ahead(f->reader, s);
    for (int k = 0; f->out && k <= s->operands; k++)
        if (k < s->operands ? s->ahead >> k & 1 : s->ahead & AHEAD_OF_RESULT)
            format_ref(f, k < s->operands ? &s->operand[k] : &s->assign[0].to);
}

static void decays_text(struct format *f, struct stmt *s)
{
    struct decaying d = s->decays ? *s->decays : (struct decaying){.logs = 0};
    int logs = 0;
    if (!format_has(f, "decays", s->decays != NULL)) return;
    format_word(f, "last");
    format_expr(f, &d.last);
    format_word(f, "times");
    format_real(f, &d.times, true);
    format_word(f, "scale");
    format_real(f, &d.scale, true);
    format_ref(f, &d.x);
    format_ref(f, &d.y);
    do {
        format_ref(f, &d.a[logs]);
        format_ref(f, &d.b[logs++]);
    } while (f->out ? logs < d.logs : logs < MAX_LOGS && at_ref(f->reader));
    if (f->out) return;
    d.logs = logs;
    s->decays = arena_copy_bytes(f->reader->module->arena, &d, sizeof d);
}

static void assign_text(struct format *f, struct stmt *s, struct assign *a)
{
    const struct expr *e = f->out ? expr_merged(((const struct loops *)f->program)->module, a->expr, s->operands,
                                                s->operand)
                                  : NULL;
    fold_text(f, a);
    target_text(f, a);
    format_word(f, "=");
    format_expr(f, &e);
    a->expr = f->out ? a->expr : e;
}

/* Prints the assignments of a MAP, on one line if it is short or if `indent` is negative. */
static void print_assigns(struct format *f, struct stmt *s, int indent)
{
    struct text line = {NULL, 0, 0}, *const out = f->out;
    f->out = &line;
    for (int k = 0; k < s->assigns; k++) {
        if (k) format_mark(f, ";");
        assign_text(f, s, &s->assign[k]);
    }
    f->out = out;
    if (indent < 0 || (size_t)indent + line.length <= LINE || s->assigns < 2)
        text_add(out, " {%s }", line.data ? line.data : " ");
    else {
        text_add(out, " {\n");
        for (int k = 0; k < s->assigns; k++) {
            text_add(out, "%*s", indent + 1, "");
            assign_text(f, s, &s->assign[k]);
            text_add(out, "%s\n", k + 1 < s->assigns ? ";" : "");
        }
        text_add(out, "%*s}", indent, "");
    }
    text_free(&line);
}

static void read_assigns(struct format *f, struct stmt *s)
{
    struct reader *const r = f->reader;
    reader_expect(r, "{");
    r->operands = 0;
    do {
        if (s->assigns == MAX_ASSIGNS) {
            reader_error(r, "there can be no more than %d assignments in one statement", MAX_ASSIGNS);
            return;
        }
        assign_text(f, s, &s->assign[s->assigns++]);
    } while (reader_take(r, ";"));
    reader_expect(r, "}");
    s->operands = r->operands;
    memcpy(s->operand, r->operand, sizeof s->operand);
}

static void map_text(struct format *f, struct stmt *s, int indent)
{
    format_flag(f, "coarse", &s->coarse);
    format_axes(f, &s->rank, s->axes);
    format_clause(f, "within", &s->where);
    if (f->out)
        print_assigns(f, s, indent);
    else
        read_assigns(f, s);
    ahead_text(f, s);
    decays_text(f, s);
}

static void fades_text(struct format *f, struct stmt *s)
{
    struct fading d = s->fades ? *s->fades : (struct fading){.running = false};
    if (!format_has(f, "fades", s->fades != NULL)) return;
    format_flag(f, "running", &d.running);
    format_real(f, &d.unit, true);
    format_ref(f, &d.of_query);
    format_ref(f, &d.of_key);
    format_ref(f, &d.shift);
    if (!f->out) s->fades = arena_copy_bytes(f->reader->module->arena, &d, sizeof d);
}

static void dot_text(struct format *f, struct stmt *s)
{
    format_axes(f, &s->rank, s->axes);
    format_word(f, "over");
    format_axis(f, &s->axis);
    result_text(f, s);
    operand_text(f, s, 0);
    format_word(f, "*");
    operand_text(f, s, 1);
    if (format_has(f, "factor", s->operands > 2)) {
        operand_text(f, s, 2);
        if (format_has(f, "less", s->operands > 3)) operand_text(f, s, 3);
    }
    if (format_has(f, "times", s->times != 0)) format_real(f, &s->times, true);
    fades_text(f, s);
    if (!format_clause(f, "where", &s->where)) return;
    format_clause(f, "when", &s->when);
    if (format_has(f, "outside", s->ranges > 0)) ranges_text(f, s);
}

static void copy_text(struct format *f, struct stmt *s)
{
    format_axes(f, &s->rank, s->axes);
    result_text(f, s);
    operand_text(f, s, 0);
    ahead_text(f, s);
}

static void solve_text(struct format *f, struct stmt *s)
{
    format_axes(f, &s->rank, s->axes);
    format_word(f, "over");
    format_axis(f, &s->axis);
    format_flag(f, "backward", &s->backward);
    format_flag(f, "hides", &s->hides);
    result_text(f, s);
    for (int k = 0; k < 3; k++) operand_text(f, s, k);
}

static void select_text(struct format *f, struct stmt *s)
{
    const bool lists = s->op == LOOPS_LIST;
    format_axes(f, &s->rank, s->axes);
    format_int(f, &s->count, 1);
    format_word(f, "block");
    format_int(f, &s->keys_of_block, 1);
    target_text(f, &s->assign[0]);
    if (!lists) target_text(f, &s->assign[1]);
    s->assigns = lists ? 1 : 2;
    for (int k = 0; k < s->assigns; k++) s->assign[k].fold = lists ? FOLD_SET : FOLD_SUM;
    format_word(f, "=");
    for (int k = 0; k < (lists ? 2 : 1); k++) operand_text(f, s, k);
}

static void scan_text(struct format *f, struct stmt *s)
{
    format_axes(f, &s->rank, s->axes);
    format_flag(f, "backward", &s->backward);
    if (!f->out) s->assigns = 2;
    for (int k = 0; k < 2; k++) operand_text(f, s, k);
    for (int k = 0; k < 2 && !f->out; k++) s->assign[k] = (struct assign){s->operand[k], FOLD_SET, NULL, 0};
}

static void if_text(struct format *f, struct stmt *s)
{
    if (format_has(f, "outside", !s->where)) {
        format_axis(f, &s->axis);
        ranges_text(f, s);
    } else
        format_expr(f, &s->where);
}

/* The text of a statement without its body. With a negative indent, it is printed on one line. */
static void head_text(struct format *f, struct stmt *s, int indent)
{
    f->operand = s->operand;
    switch ((enum loops_op)s->op) {
    case LOOPS_FOR: for_text(f, s); break;
    case LOOPS_IF: if_text(f, s); break;
    case LOOPS_MAP: map_text(f, s, indent); break;
    case LOOPS_DOT: dot_text(f, s); break;
    case LOOPS_COPY: copy_text(f, s); break;
    case LOOPS_SCAN: scan_text(f, s); break;
    case LOOPS_SOLVE: solve_text(f, s); break;
    case LOOPS_SELECT:
    case LOOPS_LIST: select_text(f, s); break;
    }
    if (s->op != LOOPS_FOR) resumes_text(f, s);
}

static struct format printing(const struct loops *l, struct text *out)
{
    return (struct format){.module = l->module, .out = out, .by = referred, .program = l};
}

static void print_head(const struct loops *l, const struct stmt *s, int indent, struct text *out)
{
    struct format f = printing(l, out);
    struct stmt copy = *s;
    text_add(out, "%s", op_name[s->op]);
    head_text(&f, &copy, indent);
    if (s->op == LOOPS_FOR || s->op == LOOPS_IF) text_add(out, " {");
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

/* Parses statements up to the token `end`, or to the end of the text. */
static struct stmt *read_body(struct format *f, struct loops *l, const char *end)
{
    struct reader *const r = f->reader;
    struct stmt *first = NULL, **last = &first;
    if (++r->depth > MAX_NEST) reader_error(r, "statements are nested too deeply");
    while (!r->failed && !reader_at(r, end)) {
        const int op = format_choice(f, 0, op_name, OPS);
        if (op == OPS) {
            reader_error(r, "expected a statement: for, if, map, dot, copy or solve");
            break;
        }
        struct stmt *const s = *last = stmt_new(l, op);
        head_text(f, s, 0);
        if (op == LOOPS_FOR || op == LOOPS_IF) {
            reader_expect(r, "{");
            s->body = read_body(f, l, "}");
            reader_expect(r, "}");
        }
        last = &s->next;
    }
    r->depth--;
    return first;
}

/* ---- the text of arrays ---- */

static void tile_text(struct format *f, struct array *a)
{
    const int line = f->out ? 0 : f->reader->line;
    int64_t terms = a->terms;
    format_mark(f, " [");
    for (int k = 0; f->out ? k < a->rank : !f->reader->failed && !reader_at(f->reader, "]"); k++) {
        if (k == MAX_RANK) {
            reader_error(f->reader, "there can be no more than %d axes here", MAX_RANK);
            return;
        }
        format_axis(f, &a->axes[k]);
        format_mark(f, ":");
        f->tight = true;
        format_int(f, &a->extent[k], 1);
        a->rank = f->out ? a->rank : k + 1;
    }
    format_mark(f, "]");
    format_optional_int(f, "gap", &a->gap, 1);
    format_flag(f, "paired", &a->paired);
    format_flag(f, "matrix", &a->matrix);
    if (format_optional_int(f, "terms", &terms, 2)) a->terms = (int)terms;
    format_optional_int(f, "held", &a->held, 1);
    if (format_optional_int(f, "remembers", &a->remembered, 1)) {
        format_word(f, a->rank == 2 ? "tiles" : "of");
        if (a->rank != 2) {
            format_axis(f, &a->lane);
            format_word(f, "-");
            format_axis(f, &a->other);
        }
    }
    /* the next line may begin with the size `kept` or `shared` */
    const bool here = f->out || f->reader->line == line;
    a->folded = format_has(f, "folded", a->folded);
    a->kept = a->folded || (here && format_has(f, "kept", a->kept));
    a->shared = a->kept || (here && format_has(f, "shared", a->shared));
    format_flag(f, "solved", &a->solved);
    format_flag(f, "carried", &a->carried);
    if (format_has(f, "@", a->offset >= 0)) {
        f->tight = true;
        format_int(f, &a->offset, 0);
    }
}

static void array_text(struct format *f, struct array *a)
{
    const bool prints = f->out != NULL;
    const int kind = format_choice(f, (int)a->kind, kind_name, KINDS);
    if (kind == KINDS) {
        reader_error(f->reader, "expected the kind of array: input, param, output, table or tile");
        return;
    }
    a->kind = (enum array_kind)kind;
    if (prints)
        format_word(f, dtype_name(a->dtype));
    else
        a->dtype = reader_dtype(f->reader);
    if (a->kind == ARRAY_TILE)
        tile_text(f, a);
    else
        format_axes(f, &a->rank, a->axes);
    if (prints || a->kind == ARRAY_PARAM) {
        format_flag(f, "by_name", &a->by_name);
        format_flag(f, "hides", &a->hides);
    }
    if (prints || a->kind == ARRAY_INPUT || a->kind == ARRAY_OUTPUT) format_flag(f, "sums", &a->sums);
    if (prints || (a->kind == ARRAY_INPUT && !a->sums)) format_within(f, &a->within);
    if (a->kind == ARRAY_TABLE) format_table(f, a->rank, a->axes, &a->data);
    format_line(f);
}

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

static void read_array(struct format *f, struct loops *l)
{
    struct reader *const r = f->reader;
    struct array a = {.offset = -1};
    struct ref known;
    reader_expect(r, "array");
    if (r->length && find(l, arena_printf(l->module->arena, "%.*s", (int)r->length, r->token), &known))
        reader_error(r, "there is an array of that name already");
    a.name = reader_name(r, "the array's name");
    array_text(f, &a);
    if (!r->failed) loops_array(l, a);
}

/* ---- the text of the loops ---- */

static void sizes_text(struct format *f, struct loops *l)
{
    int64_t *const size[] = {&l->workspace, &l->shared, &l->slot, &l->kept};
    static const char *const name[] = {"workspace", "shared", "slot", "kept"};
    for (int k = 0; k < 4; k++)
        if (format_optional_int(f, name[k], size[k], 0)) format_line(f);
}

void loops_print(const struct loops *l, struct text *out)
{
    struct format f = printing(l, out);
    struct loops copy = *l;
    text_add(out, "loops %s %s\n", l->module->name, dtype_name(l->module->dtype));
    axis_lines_print(l->module, out);
    for (int a = 0; a < l->arrays; a++) {
        struct array array = l->array[a];
        text_add(out, "array %s", array.name);
        f.tight = false;
        array_text(&f, &array);
    }
    f.tight = true;
    sizes_text(&f, &copy);
    print_body(l, l->body, 0, out);
}

struct loops *loops_parse(struct arena *arena, const char *text, struct diagnostics *d)
{
    struct module *m = module_new(arena, "", DTYPE_F32);
    struct loops *l = loops_new(m);
    struct reader r;
    struct format f = {.module = m, .reader = &r};
    reader_start(&r, m, text, d);
    r.program = l;
    r.find = find;
    reader_expect(&r, "loops");
    m->name = reader_name(&r, "the name of the loops");
    m->dtype = reader_dtype(&r);
    reader_axis_lines(&r);
    while (reader_at(&r, "array")) read_array(&f, l);
    sizes_text(&f, l);
    l->body = read_body(&f, l, "");
    return r.failed ? NULL : l;
}
