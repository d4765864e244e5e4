/* The table of targets and features, and the target `native` of this machine. */
#include "target.h"
#include "../../runtime/attnrt.h"

#include <string.h>
#include <unistd.h>

/* ---- the table ---- */

static const struct {
    const char *name, *guard;
    const char *others[3]; /* other names that build systems use */
} architectures[ARCHITECTURES] = {[ANY_ARCHITECTURE] = {"any", "", {NULL}},
                                  [X86_64] = {"x86_64", "defined(__x86_64__)", {"amd64", "AMD64", NULL}},
                                  [AARCH64] = {"aarch64", "defined(__aarch64__)", {"arm64", "ARM64", NULL}}};
#if defined(__x86_64__)
static const enum architecture architecture_here = X86_64;
#elif defined(__aarch64__)
static const enum architecture architecture_here = AARCH64;
#else
static const enum architecture architecture_here = ANY_ARCHITECTURE;
#endif

static const struct {
    const char *suffix, *says;
    enum dtype dtype;
} features[] = {
#define FEATURE(name, suffix, dtype, says) {suffix, says, dtype},
#include "target.def"
};

/* The targets without features, in the order of target.def. */
static const struct target rows[] = {
#define ALWAYS ""
#define CONDITION(...) #__VA_ARGS__
#define TARGET(...) {__VA_ARGS__},
#include "target.def"
#undef ALWAYS
#undef CONDITION
};
enum { ROWS = sizeof rows / sizeof *rows };

static int row_of(const struct target *t)
{
    int row = 0;
    while (strcmp(rows[row].name, t->name) != 0) row++;
    return row;
}

/* ---- this machine ---- */

/* Whether this machine has the instructions of the target and its features. The last feature must also make the code
   faster. */
bool target_runs(const struct target *t)
{
    /* The table of targets, with each condition evaluated: "" if true, NULL if false. */
#define ALWAYS ""
#define CONDITION(...) (__VA_ARGS__) ? "" : NULL
#define TARGET(...) {__VA_ARGS__},
    const struct target table[] = {
#include "target.def"
    };
#undef ALWAYS
#undef CONDITION
    const struct target *here = &table[row_of(t)];
    bool runs = (here->architecture == ANY_ARCHITECTURE || here->architecture == architecture_here) && here->supported,
         faster = true;
    for (int f = 0; f < TARGET_FEATURES; f++) {
        if (!target_has(t, (enum target_feature)f)) continue;
        runs &= here->with[f].supported != NULL;
        faster = here->with[f].faster != NULL;
    }
    return runs && faster;
}

static const struct target *native(void)
{
    static struct target machine;
    int row = 0;
    while (!target_runs(&rows[row])) row++;
    machine = *target_find(rows[row].name);
#ifdef _SC_LEVEL1_DCACHE_SIZE
    long l1 = sysconf(_SC_LEVEL1_DCACHE_SIZE), l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
    if (l1 > 0) machine.l1_bytes = l1;
    if (l2 > 0) machine.l2_bytes = l2;
#endif
    return &machine;
}

/* ---- queries ---- */

const struct target *target_find(const char *name)
{
    static struct target plain[ROWS];
    if (strcmp(name, "native") == 0) return native();
    for (int k = 0; k < ROWS; k++) {
        if (strcmp(rows[k].name, name) != 0) continue;
        plain[k] = rows[k];
        plain[k].guard = architectures[rows[k].architecture].guard;
        plain[k].faster = "";
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
    const struct target *row = &rows[row_of(t)];
    const struct target *with[TARGET_FEATURES + 1] = {t};
    int count = 1;
    for (int f = 0; f < TARGET_FEATURES; f++) { /* the version for feature f also has all earlier features */
        if (features[f].dtype != dtype || !row->with[f].attribute) continue;
        const struct target *before = with[count - 1];
        struct target *made = arena_alloc(arena, sizeof *made);
        *made = *before;
        made->features |= 1U << f;
        made->suffix = arena_printf(arena, "%s%s", before->suffix, features[f].suffix);
        made->attribute = arena_printf(arena, "%s%s%s", row->with[f].attribute, *before->attribute ? "," : "",
                                       before->attribute);
        made->supported = arena_printf(arena, "%s%s%s", row->with[f].supported, *before->supported ? " && " : "",
                                       before->supported);
        made->faster = row->with[f].faster;
        with[count++] = made;
    }
    for (int k = 0; k < count; k++) version[k] = with[count - 1 - k];
    return count;
}

const char *target_unit(const struct target *t, enum target_feature feature)
{
    return rows[row_of(t)].with[feature].unit;
}

int target_multiply_adds(const struct target *t, enum target_feature feature)
{
    const struct target *row = &rows[row_of(t)];
    const struct matrix_unit *unit = &row->matrix;
    if (feature != TARGET_MATRIX_UNITS) return row->with[feature].multiply_adds;
    return unit->rows ? unit->rows * unit->rows * unit->depth / unit->product_cycles : 0;
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

const struct target *target_at(int rank)
{
    return rank < ROWS ? target_find(rows[rank].name) : NULL;
}

const char *target_architecture(const struct target *t)
{
    return architectures[t->architecture].name;
}

bool target_is_default(const struct target *t, const char *machine)
{
    enum architecture wanted = machine ? ANY_ARCHITECTURE : architecture_here;
    for (int a = 0; a < ARCHITECTURES && machine; a++) {
        bool same = strcmp(machine, architectures[a].name) == 0;
        for (int k = 0; architectures[a].others[k]; k++) same |= strcmp(machine, architectures[a].others[k]) == 0;
        if (same) wanted = (enum architecture)a;
    }
    return t->by_default && (t->architecture == ANY_ARCHITECTURE || t->architecture == wanted);
}

const char *const *target_names(void)
{
    static const char *names[ROWS + 2];
    names[0] = "native";
    for (int k = 0; k < ROWS; k++) names[k + 1] = rows[k].name;
    return names;
}
