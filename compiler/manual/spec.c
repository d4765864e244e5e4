/* attnc-spec(5): the spec language, from the rows of spec/spec.def. */
#include "manual.h"
#include "page.h"
#include "../spec/spec.h"

#include <string.h>

static void add_row(struct text *out, const struct key_row *row)
{
    struct text domain = {0};
    text_add(out, ".TP\n.BR \"%s\" \" (", row->key);
    spec_row_domain(row, &domain);
    manual_text(out, domain.length ? domain.data : "");
    const char *otherwise = row->otherwise;
    if (!otherwise) {
        text_add(out, "; required");
    } else if (*otherwise) {
        text_add(out, "; default ");
        struct text value = {0};
        text_append(&value, otherwise + (*otherwise == '('), strlen(otherwise) - 2 * (size_t)(*otherwise == '('));
        manual_text(out, value.data);
        text_free(&value);
    }
    text_add(out, ")\"\n");
    manual_text(out, row->says);
    text_add(out, ".\n");
    text_free(&domain);
}

static void add_group(struct text *out, enum group group)
{
    for (int k = 0; k < key_row_count; k++)
        if (key_rows[k].group == group) add_row(out, &key_rows[k]);
}

static void add_choice(struct text *out, enum choice choice)
{
    text_add(out, ".SS %s\n", choice_rows[choice].heading);
    if (choice_rows[choice].says) {
        manual_text(out, choice_rows[choice].says);
        text_add(out, "\n");
    }
    for (int k = 0; k < option_row_count; k++) {
        const struct option_row *option = &option_rows[k];
        if (option->choice != choice) continue;
        text_add(out, ".TP\n.B %s\n", option->word);
        manual_text(out, option->says);
        text_add(out, ".\n");
        if (option->payload == PAYLOAD_BARE) continue;
        text_add(out, ".RS\n");
        add_group(out, option->group);
        text_add(out, ".RE\n");
    }
}

void manual_spec(struct text *out)
{
    manual_head(out, "ATTNC-SPEC", "5", "the language that describes attention variants to attnc");
    text_add(out, ".SH DESCRIPTION\n"
                  "A spec is one YAML file that describes one variant of attention.\n"
                  "Shapes are q [B,H,Nq,D], k [B,G,Nk,D], v [B,G,Nk,E] and out [B,H,Nq,E]; H is a multiple of G, and "
                  "query head h reads key/value head h / (H/G).\n"
                  "i and j are positions of a query and a key, counted so that the last query meets the last key: i = "
                  "row + (Nk \\- Nq). s is <q, k>.\n"
                  ".PP\nA choice is a word (causal) or, with options, a map of one key ({window: {left: 4}}).\n"
                  ".SH EXAMPLE\n.nf\n"
                  "name: polynomial_p4\n"
                  "description: polynomial attention of degree 4 on normalised queries and keys\n"
                  "prepare: [layernorm]\n"
                  "similarity:\n"
                  "  polynomial: {degree: 4}\n"
                  "mask: causal\n"
                  "normalize: {sum_plus: 1}\n"
                  "shape: {head_dim: 64, value_dim: 64}\n"
                  ".fi\n.SH KEYS\n");
    add_group(out, GROUP_SPEC);
    text_add(out, ".SS shape\n");
    add_group(out, GROUP_SHAPE);
    text_add(out, ".SH CHOICES\n");
    for (int c = 0; c < CHOICES; c++) add_choice(out, (enum choice)c);
    text_add(out, ".SH EXPRESSIONS\n"
                  "An expression is C over s, i, j, h (the query head), numbers, parentheses, the operators\n"
                  "+ \\- * / %% < <= > >= == != && || ! ?:\n"
                  "and the functions exp, log, tanh, sqrt, fabs, fmin, fmax, floor, pow; a mask has no s.\n"
                  "i, j, h and numbers without point and exponent are 64\\-bit integers with C's division; all else is "
                  "a double; a comparison is 0 or 1.\n"
                  "In YAML an expression that begins with !, *, & or a quote stands in quotes.\n"
                  ".SH SEE ALSO\n.BR attnc (1),\n.BR attnrt (3)\n");
}
