/* Describes text once, for printing and for parsing. */
#include "reader.h"

#include <string.h>

/* Begins a part of the text with a blank, unless a mark before it needs none. */
static struct text *part(struct format *f)
{
    if (!f->tight) text_add(f->out, " ");
    f->tight = false;
    return f->out;
}

void format_mark(struct format *f, const char *mark)
{
    if (f->out)
        text_add(f->out, "%s", mark);
    else
        reader_expect(f->reader, mark + strspn(mark, " "));
    f->tight = strchr(mark, '[') != NULL;
}

void format_line(struct format *f)
{
    if (f->out) text_add(f->out, "\n");
    f->tight = true;
}

void format_word(struct format *f, const char *word)
{
    if (f->out)
        text_add(part(f), "%s", word);
    else
        reader_expect(f->reader, word);
}

bool format_has(struct format *f, const char *word, bool has)
{
    if (!f->out) return reader_take(f->reader, word);
    if (has) format_word(f, word);
    return has;
}

bool format_flag(struct format *f, const char *word, bool *flag)
{
    const bool has = format_has(f, word, *flag);
    if (!f->out) *flag = has;
    return has;
}

void format_int(struct format *f, int64_t *number, int64_t min)
{
    if (f->out)
        text_add(part(f), "%lld", (long long)*number);
    else
        *number = reader_int(f->reader, min);
}

bool format_optional_int(struct format *f, const char *word, int64_t *number, int64_t min)
{
    const bool has = format_has(f, word, *number != 0);
    if (has) format_int(f, number, min);
    return has;
}

void format_real(struct format *f, double *number, bool visibly_real)
{
    if (f->out)
        real_print(*number, visibly_real, part(f));
    else
        *number = reader_real(f->reader);
}

void format_name(struct format *f, const char **name, const char *what)
{
    if (f->out)
        text_add(part(f), "%s", *name);
    else
        *name = reader_name(f->reader, what);
}

int format_choice(struct format *f, int chosen, const char *const *words, int count)
{
    int k = 0;
    if (f->out) {
        if (*words[chosen]) format_word(f, words[chosen]);
        return chosen;
    }
    while (k < count && (!*words[k] || !reader_take(f->reader, words[k]))) k++;
    return k;
}

void format_axis(struct format *f, int *axis)
{
    if (f->out)
        text_add(part(f), "%s", f->module->axis[*axis].name);
    else
        *axis = reader_axis(f->reader);
}

void format_axes(struct format *f, int *rank, int *axes)
{
    if (f->out)
        axes_print(f->module, *rank, axes, part(f));
    else
        reader_axes(f->reader, rank, axes);
}

void format_ref(struct format *f, struct ref *r)
{
    if (f->out)
        ref_print(f->module, r, f->by, f->program, part(f));
    else
        *r = reader_ref(f->reader);
}

void format_expr(struct format *f, const struct expr **e)
{
    if (f->out)
        expr_print(f->module, *e, f->operand, f->by, f->program, part(f));
    else
        *e = reader_expr(f->reader);
}

bool format_clause(struct format *f, const char *word, const struct expr **e)
{
    const bool has = format_has(f, word, *e != NULL);
    if (has) format_expr(f, e);
    return has;
}

void format_within(struct format *f, struct within *w)
{
    if (!format_has(f, "within", w->of != NULL)) return;
    format_name(f, &w->of, "the name of the other input");
    format_axis(f, &w->row);
}

void format_table(struct format *f, int rank, const int *axes, const double **data)
{
    if (f->out)
        table_print(f->module, rank, axes, *data, part(f));
    else
        *data = reader_table(f->reader, rank, axes);
}

const struct expr *expr_merged(struct module *m, const struct expr *e, int operands, const struct ref *operand)
{
    const struct expr *with[MAX_OPERANDS];
    for (int k = 0; k < operands; k++) {
        int first = 0;
        while (!ref_equal(&operand[first], &operand[k])) first++;
        with[k] = expr_operand(m, first);
    }
    return expr_bind(m, e, with);
}
