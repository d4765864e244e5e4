/* specs/README.md: the reference of the spec language, written from the rows of spec/spec.def. */
#include "manual.h"
#include "../spec/spec.h"

#include <string.h>

static const char
    intro[] = "# The spec language\n"
              "\n"
              "A spec is one YAML file that describes one variant of attention. `attnc SPEC.yaml` turns it into C. "
              "This page is made from `compiler/spec/spec.def`,\n"
              "which is also what the reader checks a spec against.\n"
              "\n"
              "```yaml\n"
              "name: polynomial_p4               # C identifier, prefix of every emitted symbol\n"
              "description: polynomial attention of degree 4 on normalised queries and keys\n"
              "prepare: [layernorm]              # what happens to q and k first, in this order\n"
              "similarity:                       # the weight w(q_i, k_j) before mask and normalisation\n"
              "  polynomial: {degree: 4}\n"
              "mask: causal\n"
              "normalize: {sum_plus: 1}          # what the weighted sum is divided by\n"
              "shape: {head_dim: 64, value_dim: 64}\n"
              "```\n"
              "\n"
              "Shapes: q [B,H,Nq,D], k [B,G,Nk,D], v [B,G,Nk,E], out [B,H,Nq,E]. H is a multiple of G; query head h "
              "reads key/value head h / (H/G).\n"
              "i and j are positions of a query and a key, counted so that the last query meets the last key: i = row "
              "+ (Nk - Nq). s = <q, k>.\n"
              "\n"
              "A choice is a word (`causal`), or, with options, a map of one key (`{window: {left: 4}}`). `--set`\n"
              "names a key by its path: `--set mask.window.left=8`, `--set similarity.polynomial.degree=2`, `--set "
              "mask=causal`, `--set prepare.0.rope.base=500000`.\n";

/* clang-format off */
static const char outro[] =
    "\n"
    "## Expressions\n"
    "\n"
    "`mask: {expr: …}` in `i`, `j`, `h` (the query head), `similarity: {custom: {weight: …}}` and `softmax: {modify: …}` in `s`, `i`, `j`, `h` take a C expression:\n"
    "these names, numbers, parentheses, `+ - * / % < <= > >= == != && || ! ?:` and `exp log tanh sqrt fabs fmin fmax floor pow`. Anything else is an error.\n"
    "\n"
    "`i`, `j`, `h` and numbers without point and exponent are 64-bit integers, with C's division (towards 0) and remainder, which gives an integer its dividend's sign;\n"
    "`s`, other numbers and what a function gives are doubles, but `fabs`, `fmin` and `fmax` of integers are integers, so that `fabs(i - j) / 2` is one too;\n"
    "a comparison is 0 or 1. What has an integer and a double is computed in double. Where `x` is 0, `a / x` is 0 and\n"
    "`a % x` is `a`, of integers; a constant 0 there is an error, as are constants that are not finite. Numbers are decimal, without suffixes.\n"
    "Masks are decided in double in every kernel. A whole power up to 64, `pow(1 + s, 4)`, is a product, so that weights which are polynomials of `s` get a linear form;\n"
    "exponentials that are factors of a weight, as in `exp(s / 8) * (1 + s * s)`, are kept from overflowing. A factor that falls with the distance by a base\n"
    "up to 1, which may differ from head to head, as `pow(0.97, i - j)` and `exp(-0.03 * (i - j))` do, keeps the linear form under a mask like `causal`.\n"
    "\n"
    "In YAML an expression that begins with `!`, `*`, `&` or a quote, or holds `: ` or ` #`, stands in quotes: `expr: \"!(j > i)\"`.\n"
    "`attnc` reads expressions with libclang 17 or newer, which it loads only for a spec that has one (`ATTNC_LIBCLANG` names another library).\n"
    "An expression has at most 4096 bytes, 1000 tokens, 50 levels of parentheses, 50 `?`; a spec has at most 200 expressions.\n"
    "\n"
    "## YAML\n"
    "\n"
    "One document in UTF-8 with the core scalars of YAML 1.2: `1e-3` is a number, `on` and `no` are words. Anchors and aliases are allowed; merge keys\n"
    "(`<<`), custom tags, keys that are there twice, NaN and integers with a leading zero are errors,\n"
    "and so are files over 1 MiB and nesting more than 100 deep.\n"
    "\n"
    "## Errors\n"
    "\n"
    "`file:line:column: error: message`, the line, a caret, and notes: what was probably meant, or the other place of a conflict.\n"
    "All errors of a file are reported in one run (the first hundred are shown); nothing is written and the exit status is 1.\n";

/* clang-format on */

/* Writes text as part of a table: a bar would end its column, an angle bracket begin a tag. */
static void add_cell(struct text *out, const char *s)
{
    for (; *s; s++) {
        if (*s == '|' || *s == '<') text_append(out, "\\", 1);
        text_append(out, s, 1);
    }
}

static void add_otherwise(struct text *out, const struct key_row *row)
{
    const char *text = row->otherwise;
    if (!text)
        text_add(out, "required");
    else if (!*text)
        text_add(out, "optional");
    else if (*text == '(')
        text_add(out, "%.*s", (int)strlen(text) - 2, text + 1);
    else
        text_add(out, "`%s`", text);
}

/* "`degree` (an even integer from 2 to 64; required): p" */
static void add_options(struct text *out, const struct option_row *option)
{
    const char *before = "";
    if (option->payload == PAYLOAD_BARE) return;
    for (int i = 0; i < key_row_count; i++) {
        const struct key_row *row = &key_rows[i];
        if (row->group != option->group) continue;
        text_add(out, "%s", before);
        before = "<br>";
        if (option->payload == PAYLOAD_OPTIONS) text_add(out, "`%s` (", row->key);
        spec_row_domain(row, out);
        if (option->payload == PAYLOAD_OPTIONS) {
            text_add(out, row->otherwise && *row->otherwise ? "; default " : "; ");
            add_otherwise(out, row);
            text_add(out, "): ");
            add_cell(out, row->says);
        }
    }
}

static void add_keys(struct text *out, enum group group)
{
    text_add(out, "\n| key | value | default | meaning |\n| --- | --- | --- | --- |\n");
    for (int i = 0; i < key_row_count; i++) {
        const struct key_row *row = &key_rows[i];
        if (row->group != group) continue;
        text_add(out, "| `%s` | ", row->key);
        spec_row_domain(row, out);
        text_add(out, " | ");
        add_otherwise(out, row);
        text_add(out, " | ");
        add_cell(out, row->says);
        text_add(out, " |\n");
    }
}

static void add_choice(struct text *out, enum choice choice)
{
    text_add(out, "\n### `%s`\n", choice_rows[choice].heading);
    if (choice_rows[choice].says) text_add(out, "\n%s\n", choice_rows[choice].says);
    bool options = false;
    for (int i = 0; i < option_row_count; i++)
        options |= option_rows[i].choice == choice && option_rows[i].payload != PAYLOAD_BARE;
    text_add(out, options ? "\n| word | meaning | options |\n| --- | --- | --- |\n"
                          : "\n| word | meaning |\n| --- | --- |\n");
    for (int i = 0; i < option_row_count; i++) {
        const struct option_row *option = &option_rows[i];
        if (option->choice != choice) continue;
        text_add(out, "| `%s` | ", option->word);
        add_cell(out, option->says);
        if (options) {
            text_add(out, " | ");
            add_options(out, option);
        }
        text_add(out, " |\n");
    }
}

void spec_reference(struct text *out)
{
    text_append(out, intro, sizeof intro - 1);
    text_add(out, "\n## Keys\n");
    add_keys(out, GROUP_SPEC);
    text_add(out, "\n### `shape`\n");
    add_keys(out, GROUP_SHAPE);
    text_add(out, "\n## Choices\n");
    for (int c = 0; c < CHOICES; c++) add_choice(out, (enum choice)c);
    text_append(out, outro, sizeof outro - 1);
}
