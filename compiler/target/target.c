/* The table of targets and of their features, and what `native` means on the machine attnc runs on. */
#include "target.h"
#include "../../runtime/attnrt.h"

#include <string.h>
#include <unistd.h>

/* ---- the table ---- */

enum architecture { ANY, X86_64, AARCH64 };
static const char *const guards[] = {[ANY] = "", [X86_64] = "defined(__x86_64__)", [AARCH64] = "defined(__aarch64__)"};
#if defined(__x86_64__)
static const enum architecture architecture_here = X86_64;
#elif defined(__aarch64__)
static const enum architecture architecture_here = AARCH64;
#else
static const enum architecture architecture_here = ANY;
#endif

static const struct {
    const char *suffix, *says;
    enum dtype dtype;
} features[] = {
#define FEATURE(name, suffix, dtype, says) {suffix, says, dtype},
#include "target.def"
};

struct row {
    struct target target; /* without any feature */
    enum architecture architecture;
    struct {
        const char *attribute, *unit; /* NULL: no machine of the target has it */
        int multiply_adds;
        const char *supported, *faster;
    } feature[TARGET_FEATURES];
};
static const struct row rows[] = {
#define TEXT(...) #__VA_ARGS__
#define ALWAYS
#define HAS(attribute, unit, multiply_adds, supported) {attribute, unit, multiply_adds, TEXT(supported), ""}
#define HAS_WHERE(attribute, unit, multiply_adds, supported, faster) \
    {attribute, unit, multiply_adds, TEXT(supported), TEXT(faster)}
#define LACKS {NULL, NULL, 0, NULL, NULL}
#define TARGET(name, suffix, architecture, attribute, vectors, supported, vector_bytes, registers, l1, l2, early, \
               early_narrow, several, several_from, near, ...) \
    {{name, suffix, attribute, NULL, TEXT(supported), "", vectors, vector_bytes, registers, l1, l2, early, \
      early_narrow, several, several_from, near, 0}, \
     architecture, \
     {__VA_ARGS__}},
#include "target.def"
#undef ALWAYS
#undef HAS
#undef HAS_WHERE
#undef LACKS
#undef TEXT
};
enum { ROWS = sizeof rows / sizeof *rows };

static int row_of(const struct target *t)
{
    int row = 0;
    while (strcmp(rows[row].target.name, t->name) != 0) row++;
    return row;
}

/* ---- this machine ---- */

/* By the conditions of the table: the row's own, then those of its features. */
struct condition {
    bool supported, faster;
};
static const struct condition *conditions(int row)
{
#if !defined(__x86_64__)
#define __builtin_cpu_supports(name) false
#define __builtin_cpu_is(name) false
#endif
#define ALWAYS true
#define HAS(attribute, unit, multiply_adds, supported) {supported, true}
#define HAS_WHERE(attribute, unit, multiply_adds, supported, faster) {supported, faster}
#define LACKS {false, false}
#define TARGET(name, suffix, architecture, attribute, vectors, supported, vector_bytes, registers, l1, l2, early, \
               early_narrow, several, several_from, near, ...) \
    {{supported, true}, __VA_ARGS__},
    static struct condition here[ROWS][1 + TARGET_FEATURES];
    const struct condition found[ROWS][1 + TARGET_FEATURES] = {
#include "target.def"
    };
#undef ALWAYS
#undef HAS
#undef HAS_WHERE
#undef LACKS
    memcpy(here, found, sizeof here);
    return here[row];
}

bool target_runs(const struct target *t)
{
    const int row = row_of(t);
    const struct condition *here = conditions(row), *last = here;
    bool runs = (rows[row].architecture == ANY || rows[row].architecture == architecture_here) && here->supported;
    for (int f = 0; f < TARGET_FEATURES; f++) {
        if (!target_has(t, (enum target_feature)f)) continue;
        last = &here[1 + f];
        runs &= last->supported;
    }
    return runs && last->faster;
}

static const struct target *native(void)
{
    static struct target machine;
    int row = 0;
    while (!target_runs(&rows[row].target)) row++;
    machine = *target_find(rows[row].target.name);
#ifdef _SC_LEVEL1_DCACHE_SIZE
    long l1 = sysconf(_SC_LEVEL1_DCACHE_SIZE), l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
    if (l1 > 0) machine.l1_bytes = l1;
    if (l2 > 0) machine.l2_bytes = l2;
#endif
    return &machine;
}

/* ---- what others ask ---- */

const struct target *target_find(const char *name)
{
    static struct target plain[ROWS];
    if (strcmp(name, "native") == 0) return native();
    for (int k = 0; k < ROWS; k++) {
        if (strcmp(rows[k].target.name, name) != 0) continue;
        plain[k] = rows[k].target;
        plain[k].guard = guards[rows[k].architecture];
        return &plain[k];
    }
    return NULL;
}

bool target_has(const struct target *t, enum target_feature feature)
{
    return t->features >> feature & 1;
}

int target_versions(struct arena *arena, const struct target *t, enum dtype dtype, const struct target **version)
{
    const struct row *row = &rows[row_of(t)];
    const struct target *with[TARGET_FEATURES + 1] = {t};
    int count = 1;
    for (int f = 0; f < TARGET_FEATURES; f++) { /* each with those before it */
        if (features[f].dtype != dtype || !row->feature[f].attribute) continue;
        const struct target *before = with[count - 1];
        struct target *made = arena_alloc(arena, sizeof *made);
        *made = *before;
        made->features |= 1U << f;
        made->suffix = arena_printf(arena, "%s%s", before->suffix, features[f].suffix);
        made->attribute = arena_printf(arena, "%s%s%s", row->feature[f].attribute, *before->attribute ? "," : "",
                                       before->attribute);
        made->supported = arena_printf(arena, "%s%s%s", row->feature[f].supported, *before->supported ? " && " : "",
                                       before->supported);
        made->faster = row->feature[f].faster;
        with[count++] = made;
    }
    for (int k = 0; k < count; k++) version[k] = with[count - 1 - k];
    return count;
}

const char *target_unit(const struct target *t, enum target_feature feature)
{
    return rows[row_of(t)].feature[feature].unit;
}

int target_multiply_adds(const struct target *t, enum target_feature feature)
{
    return rows[row_of(t)].feature[feature].multiply_adds;
}

const char *target_features_text(struct arena *arena, const struct target *t)
{
    const char *text = "";
    for (int f = 0; f < TARGET_FEATURES; f++)
        if (target_has(t, (enum target_feature)f))
            text = arena_printf(arena, "%s%s%s", text, *text ? ", " : " with ", features[f].says);
    return text;
}

int target_rank(const struct target *t)
{
    return row_of(t);
}

const char *const *target_names(void)
{
    static const char *names[ROWS + 2];
    names[0] = "native";
    for (int k = 0; k < ROWS; k++) names[k + 1] = rows[k].target.name;
    return names;
}
