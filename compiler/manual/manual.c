/* attnc(1), from the rows of the command line, and attnrt(3), from the text of attnrt.h. */
#include "manual.h"
#include "page.h"
#include "../command/command.h"
#include "../support/support.h"

#include <ctype.h>
#include <string.h>

void manual_text(struct text *out, const char *s)
{
    bool first = true;
    for (; *s; s++) {
        if (first && (*s == '.' || *s == '\'')) text_add(out, "\\&");
        first = *s == '\n';
        if (*s == '\\')
            text_add(out, "\\e");
        else if (*s == '-')
            text_add(out, "\\-");
        else if (*s == '`') /* code in the tables' texts */
            continue;
        else
            text_append(out, s, 1);
    }
}

void manual_head(struct text *out, const char *name, const char *section, const char *says)
{
    text_add(out, ".\\\" Made from the tables of the compiler.\n.TH %s %s \"\" \"attnc %s\"\n.SH NAME\n", name, section,
             ATTNC_VERSION);
    for (const char *c = name; *c; c++) text_add(out, *c == '-' ? "\\-" : "%c", tolower((unsigned char)*c));
    text_add(out, " \\- %s\n", says);
}

/* ---- attnc(1) ---- */

static void add_option(struct text *out, const struct switch_row *row, struct arena *arena)
{
    text_add(out, ".TP\n.B ");
    manual_text(out, row->name);
    if (*row->argument) {
        text_add(out, row->value == VALUE_ATTACHED ? "\\fR" : " \\fI");
        manual_text(out, row->argument);
        text_add(out, "\\fR");
    }
    text_add(out, "\n");
    manual_text(out, row->says);
    if (row->value == VALUE_TARGETS) {
        text_add(out, ".\nThey are");
        const char *const *words = value_words(arena, row->value);
        for (int k = 0; words[k]; k++) {
            text_add(out, "%s ", k ? "," : "");
            manual_text(out, words[k]);
        }
        text_add(out, "; native alone reads this machine");
    }
    text_add(out, ".\n");
    if (row->value == VALUE_OUTPUTS) {
        text_add(out, ".RS\n");
        for (int k = 0; k < OUTPUTS; k++) {
            text_add(out, ".TP\n.B %s\n", output_rows[k].name);
            manual_text(out, output_rows[k].says);
            text_add(out, "\n");
        }
        text_add(out, ".RE\n");
    }
    if (row->commands & 1U << COMMAND_list || row->commands == 1U << COMMAND_compile) return;
    text_add(out, "With");
    const char *before = "";
    for (int c = COMMAND_compile + 1; c < COMMANDS; c++)
        if (row->commands & 1U << c) {
            text_add(out, "%s %s", before, command_rows[c].name);
            before = ",";
        }
    text_add(out, "%s.\n", row->commands & 1U << COMMAND_compile ? ", and without a command" : "");
}

void manual_attnc(struct text *out)
{
    struct arena *arena = arena_new();
    manual_head(out, "ATTNC", "1", "compiles a YAML description of an attention variant to C");
    text_add(out, ".SH SYNOPSIS\n");
    for (int c = 0; c < COMMANDS; c++) {
        text_add(out, "%s.B attnc%s%s\n", c ? ".br\n" : "", c ? " " : "", c ? command_rows[c].name : "");
        if (c < COMMAND_list) text_add(out, ".RI [ options ]\n");
        if (!*command_rows[c].synopsis) continue;
        text_add(out, ".I ");
        manual_text(out, command_rows[c].synopsis);
        text_add(out, "\n");
    }
    text_add(out, ".SH DESCRIPTION\n"
                  "attnc reads a spec, a YAML file that describes one variant of attention, and writes C for it: a "
                  "header, and a source that needs no more than a\n"
                  "small runtime library. The C is tiled, vectorised and threaded, picks its instruction set when it "
                  "runs, and gives the same bits for any number\n"
                  "of threads. The language of specs is that of\n.BR attnc\\-spec (5).\n"
                  "What emitted C calls, and how it is called, is in\n.BR attnrt (3).\n.SH COMMANDS\n");
    for (int c = 0; c < COMMANDS; c++) {
        text_add(out, ".TP\n");
        if (c)
            text_add(out, ".B %s\n", command_rows[c].name);
        else
            text_add(out, ".RI \"(no command)\"\n");
        manual_text(out, command_rows[c].says);
        text_add(out, ".\n");
        if (!*command_rows[c].more) continue;
        manual_text(out, command_rows[c].more);
        text_add(out, "\n");
    }
    text_add(out, ".SH OPTIONS\n");
    for (int k = 0; k < switch_row_count; k++) add_option(out, &switch_rows[k], arena);
    text_add(
        out,
        ".SH EXIT STATUS\n"
        ".TP\n.B 0\ndone\n.TP\n.B 1\nthe spec or the data is wrong\n.TP\n.B 2\nwrong usage\n.TP\n.B 3\n"
        "the machine failed: no compiler, no memory, no room on the disk\n"
        ".PP\nOutput files are written whole or not at all. Results go to standard output, everything else to standard "
        "error.\n"
        ".SH ENVIRONMENT\n"
        ".TP\n.BR ATTNC_CC \", \" CC\nthe C compiler of run, check and bench: ATTNC_CC, else clang, else CC, else cc\n"
        ".TP\n.B ATTNC_LIBCLANG\nthe libclang that reads expressions of specs\n"
        ".TP\n.B XDG_CACHE_HOME\nwhere compiled kernels are kept, in a folder attnc (default: ~/.cache); one that is a "
        "link, another user's, or\n"
        "open for others to write to is not used\n"
        ".TP\n.B ATTNC_CACHE_SIZE\nhow much is kept there, as in 500M (default: 1G); what was used least recently goes "
        "first, and 0 keeps nothing\n"
        ".TP\n.B NO_COLOR\nno colours unless \\-\\-color asks for them\n"
        ".SH EXAMPLES\n.nf\n"
        "attnc show polysketch_r32_local > my.yaml\n"
        "attnc explain my.yaml\n"
        "attnc check my.yaml \\-\\-set similarity.polysketch.sketch=64\n"
        "attnc my.yaml \\-o src \\-MD\n"
        "cc \\-O2 \\-fopenmp program.c src/polysketch_r32_local.c \\-Isrc \\-lattnrt \\-lm\n"
        ".fi\n.SH SEE ALSO\n.BR attnc\\-spec (5),\n.BR attnrt (3)\n");
    arena_free(arena);
}

/* ---- attnrt(3) ---- */

/* A line of the header as it stands. */
static void add_code(struct text *out, const char *line, size_t length)
{
    if (length && (*line == '.' || *line == '\'')) text_add(out, "\\&");
    for (size_t k = 0; k < length; k++)
        if (line[k] == '\\')
            text_add(out, "\\e");
        else if (line[k] == '-')
            text_add(out, "\\-");
        else
            text_append(out, line + k, 1);
    text_add(out, "\n");
}

void manual_attnrt(struct text *out)
{
    manual_head(out, "ATTNRT", "3", "what kernels made by attnc call, and what programs that call them need");
    text_add(
        out,
        ".SH SYNOPSIS\n.nf\n.B #include <attnrt.h>\n.PP\ncc \\-O2 \\-fopenmp program.c NAME.c \\-lattnrt \\-lm\n.fi\n"
        ".SH DESCRIPTION\nA kernel NAME has a header NAME.h with these functions, of which the pointers to elements "
        "are of the spec's dtype:\n.PP\n.nf\n"
        "size_t NAME_params_size(void);\n"
        "int NAME_params_init(struct NAME_params *params, uint64_t seed, void *storage);\n"
        "size_t NAME_workspace(const struct attn_problem *problem);\n"
        "int NAME_forward(const struct attn_problem *problem, const struct NAME_params *params,\n"
        "    const float *q, const float *k, const float *v, float *out, void *workspace);\n"
        "extern const struct attn_kernel NAME_kernel;\n.fi\n.PP\n"
        "They allocate nothing, keep no state, and return 0 or a negative error.\n"
        "What they share is declared in attnrt.h, which follows.\n");
    bool code = false;
    for (const char *line = attnrt_header; *line;) {
        const size_t length = strcspn(line, "\n");
        if (strncmp(line, "/* ---- ", 8) == 0) {
            const char *title = line + 8, *end = strstr(title, " ----");
            if (code) text_add(out, ".fi\n");
            text_add(out, ".SS \"");
            for (const char *c = title; c < end; c++)
                if (*c == '-')
                    text_add(out, "\\-");
                else
                    text_append(out, c, 1);
            text_add(out, "\"\n.nf\n");
            code = true;
        } else if (code && *line == '#' && strncmp(line, "#define", 7) != 0) {
            /* the guards around it all */
        } else if (code && strncmp(line, "}\n", 2) != 0 && strncmp(line, "extern \"C\" {\n", 13) != 0) {
            add_code(out, line, length);
        }
        line += length + (line[length] == '\n');
    }
    text_add(out, ".fi\n.SH SEE ALSO\n.BR attnc (1),\n.BR attnc\\-spec (5)\n");
}
