/* Makes two man pages. attnc(1) is made from command_line.def and attnc.md. attnrt(3) is made from runtime/README.md
   and attnrt.h. */
#include "manual.h"
#include "page.h"
#include "../command/command.h"
#include "../support/support.h"

#include <string.h>

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
                  "attnc reads a spec, a YAML file that describes one variant of attention, and writes a C source and "
                  "a header. The source needs only a small\n"
                  "runtime library. The C is tiled, vectorised and threaded, and chooses its instruction set at run "
                  "time. Its results have the same bits for any\n"
                  "number of threads.\n.BR attnc\\-spec (5)\ndescribes the language of specs,\n.BR attnrt (3)\n"
                  "how to call a kernel.\n.SH COMMANDS\n");
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
        ".PP\nAn output file is written completely or not at all. Results go to standard output, messages to standard "
        "error.\n"
        ".SH ENVIRONMENT\n"
        ".TP\n.BR ATTNC_CC \", \" CC\nthe C compiler that compiles kernels: ATTNC_CC, else clang, else CC, else cc\n"
        ".TP\n.B ATTNC_LIBCLANG\nthe libclang that reads expressions of specs\n"
        ".TP\n.B XDG_CACHE_HOME\ncompiled kernels are stored in its folder attnc (default: ~/.cache). The folder is "
        "not used if it is a link, belongs\n"
        "to another user than root, or if others may write to it. Then, and if it is read-only, kernels are stored in "
        "attnc\\-cache\\-UID in the folder TMPDIR (default: /tmp)\n"
        ".TP\n.B ATTNC_CACHE_SIZE\nthe size of that folder, for example 500M (default: 1G). The least recently used "
        "kernels are removed first; 0 keeps none\n"
        ".TP\n.B NO_COLOR\nno colours unless \\-\\-color asks for them\n");
    manual_markdown(out, manual_commands, true);
    text_add(out, ".SH SEE ALSO\n.BR attnc\\-spec (5),\n.BR attnrt (3)\n");
    arena_free(arena);
}

/* ---- attnrt(3) ---- */

void manual_attnrt(struct text *out)
{
    manual_head(out, "ATTNRT", "3",
                "functions that kernels made by attnc call, and functions for programs that call kernels");
    text_add(out, ".SH SYNOPSIS\n.nf\n.B #include <attnrt.h>\n.PP\n"
                  "cc \\-O2 \\-fopenmp program.c NAME.c \\-lattnrt \\-lm\n.fi\n.SH DESCRIPTION\n");
    manual_markdown(out, manual_runtime, false);
    text_add(out, ".SH THE HEADER\n");
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
            /* omits the lines of the include guard */
        } else if (code && strncmp(line, "}\n", 2) != 0 && strncmp(line, "extern \"C\" {\n", 13) != 0) {
            manual_code(out, line, length);
        }
        line += length + (line[length] == '\n');
    }
    text_add(out, ".fi\n.SH SEE ALSO\n.BR attnc (1),\n.BR attnc\\-spec (5)\n");
}
