/* main: reads the command line into struct options and runs a command. */
#include "command.h"
#include "command_line.h"
#include "../bench/bench.h"
#include "../expression/expression.h"
#include "../host/host.h"
#include "../pass/pass.h"
#include "../spec/spec.h"
#include "../support/support.h"
#include "../target/target.h"
#include "../tune/tune.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The text of `attnc --help`, which fits on one screen. */
static const char help[] = "usage: attnc [options] SPEC.yaml...    write NAME.c and NAME.h for each spec\n"
                           "       attnc explain SPEC.yaml         what was chosen, why, and its cost\n"
                           "       attnc build SPEC.yaml...        compiles for this machine, into the cache\n"
                           "       attnc run SPEC.yaml --in DIR --out DIR  run on DIR/{q,k,v,PARAMETER}.npy\n"
                           "       attnc check SPEC.yaml           compares passes, kernel and interpreter\n"
                           "       attnc bench SPEC.yaml...        time, GFLOP/s and share of the peak\n"
                           "       attnc tune SPEC.yaml            searches schedules on this machine\n"
                           "       attnc list [WORD] | attnc show NAME     specs that come with attnc\n"
                           "       attnc help [COMMAND] | attnc version\n"
                           "SPEC.yaml: a file (see specs/README.md), one of these names, or NAME.graph\n"
                           "\n"
                           "  -o DIR, --stdout     where the output goes (default: the current folder)\n"
                           "  --emit LIST          of c, h, graph, loops, dot, json, py (default: c,h)\n"
                           "  --target LIST        of native and the names that 'attnc list targets' prints;\n"
                           "                       several give one C file that picks at run time\n"
                           "  --set KEY=VALUE, --tuned, --standalone   overrides a key; as tuned; no library\n"
                           "  --outputs, -MD, -MF FILE, -MT TARGET   prints file names; writes a depfile\n"
                           "  --passes, --dump-after PASS lists passes; prints the IR after one (stderr)\n"
                           "  --threads N, --seed N for run, check, bench (a LIST); --picture FILE for show\n"
                           "  --lengths LIST, --document N, --backward   for explain;\n"
                           "  --lengths, --heads for check and bench; --verbose for check and version;\n"
                           "  --batch, --document, --backward, --decode, --time, --limit, --plot: bench;\n"
                           "  --json, --no-remainders, --quiet, --color, COMMAND --help, --version\n"
                           "Exit status: 0 done, 1 wrong spec or data, 2 wrong usage, 3 the machine failed.\n";

/* The functions of the commands, in the order of command_line.def. */
static int (*const run[COMMANDS])(const struct options *) = {
#define COMMAND(name, operands, synopsis, says, more) command_##name,
#include "command_line.def"
};

static enum status print_help(const struct options *o, enum command_number command)
{
    struct text page = {0};
    if (command == COMMAND_compile)
        text_add(&page, "%s", help);
    else
        help_page(command, &page);
    const enum status status = table_put(o, &page);
    text_free(&page);
    return status;
}

static enum command_number find_command(const char *word)
{
    for (int k = COMMAND_compile + 1; k < COMMANDS; k++)
        if (strcmp(word, command_rows[k].name) == 0) return (enum command_number)k;
    return COMMAND_compile;
}

/* option_names and command_names return lists that end with NULL. */
static const char *const *option_names(void)
{
    static const char *names[64];
    for (int k = 0; k < switch_row_count && k < 63; k++) names[k] = switch_rows[k].name;
    return names;
}

static const char *const *command_names(void)
{
    static const char *names[COMMANDS];
    for (int k = COMMAND_compile + 1; k < COMMANDS; k++) names[k - 1] = command_rows[k].name;
    return names;
}

static void suggest(const char *word, const char *const *words)
{
    const char *near = nearest_word(word, words);
    if (near) fprintf(stderr, "attnc: note: did you mean '%s'?\n", near);
}

/* Prints what a bug may depend on: the system, processor, targets, C compiler, libclang and threads. */
static void print_machine(const struct options *o, struct arena *arena)
{
    struct utsname system;
    if (uname(&system) == 0) printf("system: %s %s, %s\n", system.sysname, system.release, system.machine);
    printf("processor: %s\ntargets that run here:", machine_text(arena));
    const char *separator = " ";
    for (int k = 0; target_at(k); k++) {
        const struct target *version[MAX_VERSIONS];
        const int versions = target_versions(arena, target_at(k), DTYPE_BF16, version);
        for (int v = 0; v < versions; v++)
            if (target_runs(version[v])) {
                printf("%s%s%s", separator, version[v]->name, target_features_text(arena, version[v]));
                separator = ", ";
            }
    }
    const char *const compiler = compiler_version(arena, &o->console);
    printf("\nC compiler: %s\n", compiler ? compiler : "none");
    printf("libclang, for expressions: %s\n", expression_library_loads() ? "found" : "none");
    static const char *const variables[] = {"ATTNC_CC", "CC", "ATTNC_CFLAGS", "OMP_NUM_THREADS"};
    for (size_t k = 0; k < sizeof variables / sizeof *variables; k++)
        printf("%s: %s\n", variables[k], getenv(variables[k]) ? getenv(variables[k]) : "not set");
}

int command_version(const struct options *o)
{
    printf("attnc %s\n", ATTNC_VERSION);
    if (o->verbose) {
        struct arena *const arena = arena_new();
        print_machine(o, arena);
        arena_free(arena);
    }
    return (int)output_finish(o);
}

int command_help(const struct options *o)
{
    const enum command_number command = o->files ? find_command(o->file[0]) : COMMAND_compile;
    if (o->files <= 1 && (command != COMMAND_compile || !o->files)) return (int)print_help(o, command);
    complain(o, "help takes the name of a command, not '%s'", o->file[o->files - 1]);
    suggest(o->file[0], command_names());
    return STATUS_USAGE;
}

/* ---- values of options: functions return false after reporting an error ---- */

static bool whole_number(const struct options *o, const char *option, const char *text, uint64_t max, uint64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 10);
    if (*text >= '0' && *text <= '9' && !*end && errno == 0 && *value <= max) return true;
    return complain(o, "%s takes an integer from 0 to %llu, not '%s'", option, (unsigned long long)max, text);
}

/* Calls `item` for each word of a comma-separated list. Returns false if a word is empty or `item` fails. */
static bool each(struct options *o, const char *option, const char *list,
                 bool (*item)(struct options *, const char *, const char *))
{
    char word[64];
    for (const char *at = list;;) {
        size_t n = strcspn(at, ",");
        if (n == 0 || n >= sizeof word)
            return complain(o, "%s takes words separated by commas, not '%s'", option, list);
        memcpy(word, at, n);
        word[n] = 0;
        if (!item(o, option, word)) return false;
        if (!at[n]) return true;
        at += n + 1;
    }
}

static bool emit_item(struct options *o, const char *option, const char *word)
{
    const char *words[OUTPUTS + 1] = {NULL};
    struct text all = {0};
    for (int k = 0; k < OUTPUTS; k++) {
        words[k] = output_rows[k].name;
        text_add(&all, "%s%s", k ? ", " : "", words[k]);
        if (strcmp(word, words[k]) == 0) o->emit |= 1U << k;
    }
    bool known = false;
    for (int k = 0; k < OUTPUTS; k++) known |= strcmp(word, words[k]) == 0;
    if (!known) {
        complain(o, "%s: unknown output '%s'; expected %s", option, word, all.data);
        suggest(word, words);
    }
    text_free(&all);
    return known;
}

static bool target_item(struct options *o, const char *option, const char *word)
{
    const struct target *t = target_find(word);
    if (!t) {
        complain(o, "%s: unknown target '%s'", option, word);
        suggest(word, target_names());
        return false;
    }
    for (int k = 0; k < o->targets; k++)
        if (target_rank(o->target[k]) == target_rank(t)) return complain(o, "%s: '%s' is given twice", option, word);
    /* Sorts the targets, because the kernel uses the first one that the machine supports. */
    int at = o->targets++;
    for (; at > 0 && target_rank(o->target[at - 1]) > target_rank(t); at--) o->target[at] = o->target[at - 1];
    o->target[at] = t;
    return true;
}

static bool color_value(struct options *o, const char *text)
{
    const char *no = getenv("NO_COLOR");
    if (strcmp(text, "always") == 0)
        o->console.color = true;
    else if (strcmp(text, "never") == 0)
        o->console.color = false;
    else if (strcmp(text, "auto") == 0)
        o->console.color = isatty(STDERR_FILENO) && !(no && *no);
    else {
        return complain(o, "--color takes auto, always or never, not '%s'", text);
    }
    return true;
}

/* ---- parsing one option ---- */

/* Returns the value of the option at argument *k: the text after `=`, or the next argument. Advances *k. On failure,
   prints a message and returns NULL. */
static const char *value_of(const struct options *o, int count, char **argument, int *k, const char *name)
{
    const char *equals = strchr(argument[*k], '=');
    if (strncmp(argument[*k], "--", 2) == 0 && equals) return equals + 1;
    if (strcmp(name, "-o") == 0 && argument[*k][2]) return argument[*k] + 2;
    if (*k + 1 < count) return argument[++*k];
    complain(o, "%s needs a value", name);
    return NULL;
}

static bool is_option(const char *argument, const char *name)
{
    size_t n = strlen(name);
    if (strcmp(name, "-o") == 0) return strncmp(argument, name, n) == 0; /* both -oDIR and -o DIR are allowed */
    return strncmp(argument, name, n) == 0 && (argument[n] == 0 || (strncmp(name, "--", 2) == 0 && argument[n] == '='));
}

/* Tells how struct options stores each option. There is one entry for each row of command_line.def. */
static const struct destination {
    enum { TO_OTHER, TO_FLAG, TO_WORD, TO_OUTPUT } kind;
    size_t offset;
} destinations[] = {
#define OTHER {TO_OTHER, 0}
#define FLAG(member) {TO_FLAG, offsetof(struct options, member)}
#define WORD(member) {TO_WORD, offsetof(struct options, member)}
#define OUTPUT_TO(member) \
    {TO_OUTPUT, offsetof(struct options, member)} /* --NAME for standard output, or --NAME=FILE \
                                                   */
#define OPTION(name, argument, value, to, commands, elsewhere, says) to,
#include "command_line.def"
#undef OTHER
#undef FLAG
#undef WORD
#undef OUTPUT_TO
};

/* Returns the row of an option, or -1. --help and --version are handled before. */
static int find_row(const char *argument)
{
    for (int k = 0; k < switch_row_count; k++) {
        const struct switch_row *row = &switch_rows[k];
        if (strcmp(row->name, "--help") == 0 || strcmp(row->name, "--version") == 0) continue;
        if (destinations[k].kind == TO_FLAG ? strcmp(argument, row->name) == 0 : is_option(argument, row->name))
            return k;
    }
    return -1;
}

/* Returns true if the command has the option or ignores it. Otherwise prints an error. */
static bool fits(const struct options *o, const char *argument, enum command_number command)
{
    for (int k = 0; k < switch_row_count; k++) {
        const struct switch_row *row = &switch_rows[k];
        if (row->elsewhere || (row->commands & 1U << command) || !is_option(argument, row->name)) continue;
        struct text names = {0};
        int left = __builtin_popcount(row->commands);
        /* The last command comes first, because the user more likely means bench. */
        for (int c = COMMANDS - 1; c >= 0; c--)
            if (row->commands & 1U << c)
                text_add(&names, "%sattnc %s",
                         !names.length ? ""
                         : left == 1   ? " and "
                                       : ", ",
                         command_rows[c].name),
                    left--;
        complain(o, "%s is an option of %s", row->name, names.data);
        text_free(&names);
        return false;
    }
    return true;
}

static int parse(struct options *o, enum command_number command, int count, char **argument, const char **set,
                 const char **shape, const char **file)
{
    const bool bench = command == COMMAND_bench;
    bool only_files = false;
    for (int k = 0; k < count; k++) {
        const char *a = argument[k], *value;
        if (only_files || a[0] != '-' || !a[1]) {
            file[o->files++] = a;
            continue;
        }
        if (strcmp(a, "--") == 0) {
            only_files = true;
            continue;
        }
        if (!fits(o, a, command)) return STATUS_USAGE;
        const int row = find_row(a);
        if (row < 0) {
            complain(o, "unknown option '%s'", a);
            suggest(a, option_names());
            return STATUS_USAGE;
        }
        const char *name = switch_rows[row].name;
        void *member = (char *)o + destinations[row].offset;
        if (destinations[row].kind == TO_FLAG) {
            *(bool *)member = true;
            continue;
        }
        if (destinations[row].kind == TO_OUTPUT) {
            const char *equals = strchr(a, '=');
            value = equals ? equals + 1 : "-";
        } else if (!(value = value_of(o, count, argument, &k, name)))
            return STATUS_USAGE;
        uint64_t number;
        if (destinations[row].kind != TO_OTHER)
            memcpy(member, &value, sizeof value);
        else if (strcmp(name, "--emit") == 0) {
            o->emit = 0;
            if (!each(o, name, value, emit_item)) return STATUS_USAGE;
            o->python = o->emit & 1U << OUTPUT_py;
        } else if (strcmp(name, "--target") == 0) {
            o->targets = 0;
            o->named_targets = true;
            if (!each(o, name, value, target_item)) return STATUS_USAGE;
        } else if (strcmp(name, "--set") == 0)
            set[o->sets++] = value;
        else if (strcmp(name, "--shape") == 0)
            shape[o->shapes++] = value;
        else if (strcmp(name, "--threads") == 0 && bench)
            o->thread_list = value;
        else if (strcmp(name, "--threads") == 0) {
            if (!whole_number(o, name, value, 4096, &number)) return STATUS_USAGE;
            o->threads = (int)number;
        } else if (strcmp(name, "--seed") == 0) {
            if (!whole_number(o, name, value, UINT64_MAX, &o->seed)) return STATUS_USAGE;
            o->has_seed = true;
        } else if (!color_value(o, value))
            return STATUS_USAGE;
    }
    o->set = set;
    o->shape = shape;
    o->file = file;
    return STATUS_DONE;
}

/* Returns true if the first operand is a misspelt command. If so, prints an error. Files and specs of the library
   are no misspelt commands. */
static bool misspelt(const struct options *o)
{
    const char *word = o->file[0];
    if (!library_name(word) || access(word, F_OK) == 0 || library_find(word) || !nearest_word(word, command_names()))
        return false;
    complain(o, "'%s' is neither a command nor a file", word);
    suggest(word, command_names());
    return true;
}

/* Returns true if the stack is large enough, or could be enlarged. Readers of nested specs are recursive. */
static bool stack_suffices(const struct options *o)
{
    enum { WANTED = 8 << 20, NEEDED = 1 << 20 };
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= WANTED)
        return true;
    limit.rlim_cur = limit.rlim_max == RLIM_INFINITY || limit.rlim_max > WANTED ? WANTED : limit.rlim_max;
    if (limit.rlim_cur >= NEEDED && setrlimit(RLIMIT_STACK, &limit) == 0) return true;
    return complain(o, "the stack of %lld KiB is too small: attnc needs up to %d KiB (ulimit -s %d)",
                    (long long)limit.rlim_cur / 1024, NEEDED / 1024, NEEDED / 1024);
}

int main(int count, char **argument)
{
    struct options o = {.emit = 1U << OUTPUT_c | 1U << OUTPUT_h};
    color_value(&o, "auto");
    if (!stack_suffices(&o)) return STATUS_MACHINE;
    for (int k = 0; target_at(k); k++)
        if (target_is_default(target_at(k), NULL)) o.target[o.targets++] = target_at(k);
    if (count > 1 && strcmp(argument[1], "--complete") == 0) {
        struct text words = {0};
        complete(count - 2, (const char *const *)argument + 2, count > 3 ? find_command(argument[2]) : COMMAND_compile,
                 &words);
        const enum status said = table_put(&o, &words);
        text_free(&words);
        return (int)said;
    }
    const enum command_number command = count > 1 ? find_command(argument[1]) : COMMAND_compile;
    for (int k = 1; k < count && strcmp(argument[k], "--") != 0; k++) {
        if (strcmp(argument[k], "--help") == 0 || strcmp(argument[k], "-h") == 0) return (int)print_help(&o, command);
        if (strcmp(argument[k], "--version") == 0) {
            for (int l = 1; l < count; l++) o.verbose |= strcmp(argument[l], "--verbose") == 0;
            return command_version(&o);
        }
    }
    struct arena *arena = arena_new();
    const size_t max = ((size_t)count + 1) * sizeof(char *);
    const char **set = arena_alloc(arena, max), **shape = arena_alloc(arena, max), **file = arena_alloc(arena, max);
    int skip = command == COMMAND_compile ? 1 : 2,
        status = parse(&o, command, count - skip, argument + skip, set, shape, file);
    if (status == STATUS_DONE && o.json && strcmp(o.json, "-") != 0 && command != COMMAND_bench &&
        command != COMMAND_tune)
        status = (int)complain_as(&o, STATUS_USAGE, "%s writes JSON to standard output: --json takes no file",
                                  command_rows[command].name);
    if (status == STATUS_DONE && o.show_passes) {
        struct text list = {0};
        passes_print(&list);
        status = (int)table_put(&o, &list);
        text_free(&list);
    } else if (status == STATUS_DONE && o.dump_after) {
        bool known = false;
        const char *names[64] = {NULL};
        for (int k = 0; k < pass_count && k < 63; k++) {
            known |= strcmp(passes[k].name, o.dump_after) == 0;
            names[k] = passes[k].name;
        }
        if (!known) {
            complain(&o, "--dump-after: unknown pass '%s'; --passes lists the passes", o.dump_after);
            suggest(o.dump_after, names);
            status = STATUS_USAGE;
        }
    }
    if (status == STATUS_DONE && !o.show_passes) {
        if (command != COMMAND_compile)
            status = run[command](&o);
        else if (o.files > 0 && misspelt(&o))
            status = STATUS_USAGE;
        else if (o.files == 0) {
            status = (int)complain_as(&o, STATUS_USAGE, "no spec given; see attnc --help");
        } else if ((o.depfile_path || o.depfile_target) && !o.depfile) {
            status = (int)complain_as(&o, STATUS_USAGE, "%s needs -MD", o.depfile_path ? "-MF" : "-MT");
        } else {
            status = run[command](&o);
            if (status == STATUS_DONE && o.list_outputs) status = (int)output_finish(&o);
        }
    }
    arena_free(arena);
    return status;
}
