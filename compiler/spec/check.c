/* Checks conditions on several keys of a spec: defaults that depend on other keys, and conflicts. The report of a
   conflict shows both positions. */
#include "reader.h"
#include "spec.h"

#include <string.h>

enum { MAX_NAME = 100 };

static const char keywords[] =
    "auto break case char const continue default do double else enum extern float for goto if inline int long "
    "register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while ";

/* Names that a spec must not have. With such a name, NAME.h would hide a header of C, POSIX, GNU, OpenMP or attnc. */
static const char headers
    [] = "assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg "
         "stdatomic stdbit stdbool stdckdint stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar "
         "wchar wctype aio cpio dirent dlfcn fcntl fmtmsg fnmatch ftw glob grp iconv langinfo libgen monetary mqueue "
         "ndbm netdb nl_types poll pthread pwd regex sched search semaphore spawn strings stropts syslog tar termios "
         "trace ulimit unistd utime utmpx wordexp alloca endian features memory malloc omp attnrt ";

/* Returns the word of a choice, which is the node itself or `word` in {word: options}. Returns NULL if the node has
   no word. */
static struct yaml *choice_word(struct yaml *node)
{
    if (node && node->kind == YAML_MAP && node->count == 1) node = node->key[0];
    return node && node->kind == YAML_WORD ? node : NULL;
}

static bool is_choice(struct yaml *node, const char *word)
{
    const struct yaml *found = choice_word(node);
    return found && strcmp(found->text, word) == 0;
}

static struct yaml *choice_options(const struct yaml *node)
{
    return node && node->kind == YAML_MAP && node->count == 1 ? node->item[0] : NULL;
}

/* ---- the name ---- */

static const char *base_name(struct spec_reader *r, const char *file)
{
    const char *slash = strrchr(file, '/');
    char *name = arena_copy(r->arena, slash ? slash + 1 : file), *dot = strrchr(name, '.');
    if (dot && dot != name) *dot = 0;
    dot = strrchr(name, '.');
    if (dot && dot != name && strcmp(dot, ".tuned") == 0) *dot = 0; /* SPEC.tuned.yaml has the name SPEC. */
    return name;
}

static void check_name(struct spec_reader *r, const char *file)
{
    struct yaml *node = yaml_get(r->root, "name");
    struct spec *spec = r->spec;
    if (node && !spec->name) return;
    struct yaml nowhere = {0};
    if (!node) {
        node = &nowhere;
        spec->name = base_name(r, file);
        if (!spec_is_identifier(spec->name)) {
            spec_error(r, node, "the file's name is not a C identifier: '%.100s'", spec->name);
            spec_note(r, node, "set 'name:' in the spec");
            return;
        }
    }
    if (!node->origin) spec->name_at = node->at;
    if (word_is_among(spec->name, keywords)) spec_error(r, node, "'name': '%s' is a keyword of C", spec->name);
    if (word_is_among(spec->name, headers)) {
        spec_error(r, node, "'name': '%s.h' would hide the system's header of that name", spec->name);
        spec_note(r, node, "for example, set 'name: %s_attention'", spec->name);
    }
    if (strlen(spec->name) > MAX_NAME) spec_error(r, node, "'name' is longer than %d characters", MAX_NAME);
    const char *s = spec->name;
    if (s[0] == '_' && (s[1] == '_' || (s[1] >= 'A' && s[1] <= 'Z')))
        spec_error(r, node, "'name': C reserves names that begin like '%.60s'", s);
}

/* ---- conflicts ---- */

/* Reports a conflict of a node with a key of the spec. */
static void clash(struct spec_reader *r, struct yaml *node, const char *message, const char *key)
{
    spec_error(r, node, "%s", message);
    spec_place(r, yaml_get(r->root, key), arena_printf(r->arena, "'%s'", key));
}

/* Reports what a step with `rows` cannot have. */
static void check_rows(struct spec_reader *r)
{
    struct yaml *const steps = yaml_get(r->root, "prepare");
    for (int i = 0; steps && steps->kind == YAML_LIST && i < steps->count; i++) {
        struct yaml *const options = choice_options(steps->item[i]), *const affine = yaml_get(options, "affine"),
                           *const rows = yaml_get(options, "rows");
        if (!rows || !affine || !affine->flag) continue;
        spec_error(r, affine, "'affine' learns a weight of q and of k, so it cannot be combined with 'rows'");
        spec_place(r, rows, "'rows'");
    }
}

static void check_rope(struct spec_reader *r)
{
    struct yaml *steps = yaml_get(r->root, "prepare"), *dim = yaml_get(yaml_get(r->root, "shape"), "head_dim");
    if (!steps || steps->kind != YAML_LIST || !dim || dim->kind != YAML_INT) return;
    for (int i = 0; i < steps->count; i++) {
        if (!is_choice(steps->item[i], "rope") || yaml_get(choice_options(steps->item[i]), "rows")) continue;
        struct yaml *options = choice_options(steps->item[i]), *first = yaml_get(options, "first"),
                    *dims = yaml_get(options, "dims"), *word = choice_word(steps->item[i]);
        struct yaml *angle = yaml_get(options, "angle"), *base = yaml_get(options, "base");
        if (angle && base) {
            spec_error(r, base, "'angle' replaces the angles that 'base' gives, so 'rope' takes one of them");
            spec_place(r, angle, "'angle'");
        }
        const int64_t from = first && first->kind == YAML_INT ? first->integer : 0,
                      count = dims && dims->kind == YAML_INT ? dims->integer : dim->integer;
        if (!dims && dim->integer % 2 != 0) {
            spec_error(r, dim, "'rope' without 'dims' needs an even 'head_dim', found %lld", (long long)dim->integer);
            spec_place(r, word, "'rope'");
        } else if (from < 0 || count < 0 || from > dim->integer || count > dim->integer - from) {
            spec_error(r,
                       first  ? first
                       : dims ? dims
                              : word,
                       "'rope' rotates the elements %lld to %lld, but a row has only 'head_dim' = %lld elements",
                       (long long)from, (long long)(from + count - 1), (long long)dim->integer);
            if (first && !dims) spec_note(r, first, "without 'dims', 'rope' rotates head_dim elements");
        }
    }
}

static void check_values(struct spec_reader *r)
{
    struct yaml *const shape = yaml_get(r->root, "shape"), *const values = yaml_get(shape, "values"),
                       *const key = yaml_get(shape, "head_dim"), *const value = yaml_get(shape, "value_dim");
    if (!is_choice(values, "keys") || !key || !value) return;
    if (key->kind != YAML_INT || value->kind != YAML_INT || value->integer <= key->integer) return;
    spec_error(r, value,
               "'values: keys' takes a value from the elements of a key, so 'value_dim' may not be larger "
               "than 'head_dim', %lld; found %lld",
               (long long)key->integer, (long long)value->integer);
    spec_place(r, values, "'values: keys'");
}

/* Reports that rows of `elements` elements have no whole blocks of the type. */
static void check_blocks(struct spec_reader *r, struct yaml *node, const char *size, int64_t elements, enum dtype dtype)
{
    const int block = dtype_block(dtype);
    if (!node || node->wrong || block < 2 || elements % block == 0) return;
    spec_error(r, node, "'%s' stores blocks of %d elements, so '%s' must be a multiple of %d, found %lld",
               dtype_name(dtype), block, size, block, (long long)elements);
}

/* Returns the entry of `storage` for a member of struct spec, or NULL. */
static struct yaml *storage_of(const struct spec_reader *r, size_t member)
{
    int row = 0;
    while (key_rows[row].group != GROUP_STORAGE || key_rows[row].field != member) row++;
    return yaml_get(yaml_get(r->root, "storage"), key_rows[row].key);
}

static void check_storage(struct spec_reader *r)
{
    const struct spec *const spec = r->spec;
    struct yaml *const storage = yaml_get(r->root, "storage"),
                       *const keys = storage_of(r, offsetof(struct spec, k_storage)),
                       *const values = storage_of(r, offsetof(struct spec, v_storage)),
                       *const shape = yaml_get(r->root, "shape");
    if (!storage || storage->kind != YAML_MAP) return;
    check_blocks(r, keys, "head_dim", spec->head_dim, spec->k_storage);
    check_blocks(r, values, "value_dim", spec->value_dim ? spec->value_dim : spec->head_dim, spec->v_storage);
    if (spec->values_are_keys && spec->value_dim && spec->emit & EMIT_DECODE && spec_prepares_keys(spec))
        /* A state stores prepared keys, and separate rows of values. */
        check_blocks(r, keys, "value_dim", spec->value_dim, spec->k_storage);
    if (spec->dtype != DTYPE_F32)
        clash(r, storage, "'storage' needs 'dtype: f32', the type of queries and of the output", "dtype");
    if (values && spec->values_are_keys) {
        spec_error(r, values, "values are parts of keys, so they have the type of 'k'");
        spec_place(r, yaml_get(shape, "values"), "'values: keys'");
    }
    if (spec->emit & EMIT_BACKWARD)
        clash(r, storage, "'storage' rounds keys and values, which have no gradients then", "emit");
}

/* Reports arrays of 16 bits in a kernel that computes in f64. */
static void check_arrays(struct spec_reader *r)
{
    struct yaml *const arrays = yaml_get(r->root, "arrays");
    for (int k = 0; r->spec->dtype == DTYPE_F64 && arrays && k < arrays->count; k++) {
        struct yaml *const type = yaml_get(arrays->item[k], "type");
        if (is_choice(type, "f16") || is_choice(type, "bf16"))
            clash(r, type, "an array of 16 bits needs a kernel that computes in f32", "dtype");
    }
}

static void check_similarity(struct spec_reader *r, struct yaml *similarity)
{
    struct yaml *options = choice_options(similarity);
    if (is_choice(similarity, "polysketch")) {
        struct yaml *local = yaml_get(options, "local"), *block = yaml_get(r->root, "block"),
                    *seed = yaml_get(options, "seed"), *map = yaml_get(options, "map");
        if (is_choice(local, "exact") && (!block || block->kind == YAML_WORD || block->kind == YAML_NULL)) {
            spec_error(r, local, "'local: exact' needs a number for 'block', because the block changes the result");
            if (block)
                spec_place(r, block, "'block'");
            else
                spec_note(r, local, "for example, set 'block: 256'");
        }
        if (seed && is_choice(map, "learned")) {
            spec_error(r, seed, "a learned map has no random parameters, so it takes no 'seed'");
            spec_place(r, map, "'map'");
        }
    }
    if (is_choice(similarity, "polynomial_square")) {
        struct yaml *degree = yaml_get(options, "degree"), *coefficients = yaml_get(options, "coefficients");
        if (degree && degree->kind == YAML_INT && coefficients && coefficients->kind == YAML_LIST &&
            coefficients->count > 0 && !degree->wrong && coefficients->count != degree->integer + 1) {
            spec_error(r, coefficients, "degree %lld needs %lld coefficients, found %d", (long long)degree->integer,
                       (long long)degree->integer + 1, coefficients->count);
            spec_place(r, degree, "'degree'");
        }
        if (degree && degree->kind == YAML_INT && is_choice(coefficients, "param") &&
            degree->integer + 2 > MAX_OPERANDS)
            spec_error(
                r, similarity,
                "polynomial_square with degree above %d and with coefficients as a parameter is not compiled yet",
                MAX_OPERANDS - 2);
    }
}

static void refuse_with_project(struct spec_reader *r, struct yaml *node, const char *what, const struct yaml *project)
{
    spec_error(r, node, "'project' removes positions, so it cannot be combined with %s", what);
    spec_place(r, project, "'project'");
}

static bool has_keys(const struct user_array *a)
{
    for (int k = 0; k < a->rank; k++)
        if (a->axis[k].extent == EXTENT_NK) return true;
    return false;
}

static void check_project(struct spec_reader *r)
{
    struct yaml *project = yaml_get(r->root, "project");
    if (!project || !choice_word(project)) return;
    struct yaml *mask = yaml_get(r->root, "mask"), *steps = yaml_get(r->root, "prepare"),
                *similarity = yaml_get(r->root, "similarity");
    if (mask && mask->kind != YAML_NULL && !is_choice(mask, "none"))
        refuse_with_project(r, mask, "a mask", choice_word(project));
    for (int i = 0; steps && steps->kind == YAML_LIST && i < steps->count; i++)
        if (is_choice(steps->item[i], "rope"))
            refuse_with_project(r, choice_word(steps->item[i]), "a rope", choice_word(project));
    struct yaml *bias = yaml_get(choice_options(similarity), "bias"),
                *local = yaml_get(choice_options(similarity), "local");
    struct yaml *decay = yaml_get(r->root, "decay");
    if (decay) refuse_with_project(r, decay, "a decay", choice_word(project));
    if (is_choice(bias, "alibi") || is_choice(bias, "dense"))
        refuse_with_project(r, bias, "a bias", choice_word(project));
    if (is_choice(local, "exact")) refuse_with_project(r, local, "'local: exact'", choice_word(project));
    if (r->spec->emit & EMIT_WEIGHTS)
        refuse_with_project(r, yaml_get(r->root, "emit"), "an output of weights", choice_word(project));
    struct yaml *arrays = yaml_get(r->root, "arrays");
    for (int k = 0; k < r->spec->arrays.count; k++) {
        const struct user_array *a = &r->spec->arrays.array[k];
        struct yaml *node = has_keys(a) ? yaml_get(arrays, a->name) : NULL;
        if (node) refuse_with_project(r, node, "an array with an axis Nk", choice_word(project));
    }
}

/* Reports running sums in a spec with keys that exclude them. */
static void check_running(struct spec_reader *r, const struct spec *spec)
{
    struct yaml *const node = yaml_get(r->root, "running"), *const project = yaml_get(r->root, "project"),
                       *const delta = yaml_get(r->root, "delta");
    if (!spec->runnings) return;
    if (project) clash(r, node, "'project' removes positions, so it cannot be combined with 'running'", "project");
    if (delta && !delta->wrong && delta->kind != YAML_NULL)
        clash(r, node, "'running' with 'delta' is not compiled yet", "delta");
    if (spec->algorithm == ALGORITHM_LINEAR)
        clash(r, node, "there is no linear form: a running sum depends on each pair of a query and a key", "algorithm");
}

static void check_dropout(struct spec_reader *r)
{
    struct yaml *dropout = yaml_get(r->root, "dropout"), *seed = yaml_get(r->root, "seed"),
                *algorithm = yaml_get(r->root, "algorithm");
    if (seed && !dropout && !seed->wrong) {
        spec_error(r, seed, "'seed' is the seed of 'dropout', which this spec does not have");
        spec_note(r, seed, "a random feature map, sketch or mask has its own option 'seed'");
    }
    if (r->spec->dropout > 0 && r->spec->algorithm == ALGORITHM_LINEAR && algorithm)
        clash(r, algorithm,
              "there is no linear form with 'dropout': it draws for each pair of a query and a key, and a linear form "
              "computes no pairs",
              "dropout");
}

/* Reports an array of `delta` without a row of head_dim elements for each key. */
static void check_rows_of_delta(struct spec_reader *r, const char *key, const struct user_array *a)
{
    struct yaml *const node = yaml_get(yaml_get(r->root, "delta"), key);
    if (!a) return;
    const struct user_axis *const axis = a->axis;
    if (a->rank == 4 && axis[0].extent == EXTENT_B && (axis[1].extent == EXTENT_H || axis[1].extent == EXTENT_G) &&
        axis[2].extent == EXTENT_NK &&
        (axis[3].extent == EXTENT_D || (axis[3].extent == EXTENT_NUMBER && axis[3].number == r->spec->head_dim)))
        return;
    spec_error(r, node, "'%s': '%s' has no row of head_dim elements for each key of each head", key, a->name);
    spec_note(r, node, "its shape is [B, H, Nk, D]");
}

static void check_delta(struct spec_reader *r)
{
    struct yaml *const delta = yaml_get(r->root, "delta"), *const project = yaml_get(r->root, "project");
    if (!delta || delta->wrong || delta->kind == YAML_NULL) return;
    if (project) clash(r, delta, "'project' removes positions, so it cannot be combined with 'delta'", "project");
    check_rows_of_delta(r, "erase", r->spec->erase);
    check_rows_of_delta(r, "write", r->spec->write);
    if (r->spec->write && r->spec->similarity.kind == SIMILARITY_SOFTMAX)
        clash(
            r, yaml_get(delta, "write"),
            "'write' with softmax is not compiled yet, because its two sums of a row are relative to two maxima: write "
            "'custom: {weight: \"exp(s)\"}', or leave out 'write'",
            "similarity");
    if (r->spec->similarity.bias == BIAS_DENSE)
        clash(r, delta, "'delta' with 'bias: dense' is not compiled yet", "similarity");
    struct yaml *const normalize = yaml_get(r->root, "normalize");
    if (normalize && r->spec->normalize == NORMALIZE_SINK && r->spec->similarity.kind == SIMILARITY_SOFTMAX)
        clash(r, normalize, "'sink' with softmax and 'delta' is not compiled yet", "delta");
}

/* A kernel of tangents has no other function. Another kernel has them. */
static void check_jvp(struct spec_reader *r)
{
    struct yaml *const emit = yaml_get(r->root, "emit"), *const storage = yaml_get(r->root, "storage");
    if (!(r->spec->emit & EMIT_JVP)) return;
    if (r->spec->emit != EMIT_JVP) {
        spec_error(r, emit, "'jvp' stands alone in 'emit'");
        spec_note(r, emit, "compile a second kernel with 'emit: [jvp]' and another name");
    }
    if (storage && storage->kind == YAML_MAP)
        clash(r, storage, "'storage' rounds keys and values, which have no tangents then", "emit");
}

/* Names of kernels begin with the spec's name. Those of a spec with the name 'attn' may be names of attnrt.h. */
static void check_names_of_kernel(struct spec_reader *r)
{
    struct yaml nowhere = {0}, *const node = yaml_get(r->root, "name");
    const struct spec *const spec = r->spec;
    if (!spec->name || strcmp(spec->name, "attn") != 0) return;
    const char *const taken = spec->arrays.count             ? "struct attn_strides"
                              : spec->emit & EMIT_STATISTICS ? "attn_merge"
                                                             : NULL;
    if (!taken) return;
    spec_error(r, node ? node : &nowhere, "'name': the kernel would declare '%s', which attnrt.h declares", taken);
    spec_note(r, node ? node : &nowhere, "for example, set 'name: attention'");
}

void spec_check(struct spec_reader *r, const char *file)
{
    struct spec *spec = r->spec;
    check_name(r, file);
    check_names_of_kernel(r);
    check_rows(r);
    check_rope(r);
    check_values(r);
    check_storage(r);
    check_arrays(r);
    check_similarity(r, yaml_get(r->root, "similarity"));
    struct yaml *const sums = yaml_get(r->root, "sums");
    for (int k = 0; sums && sums->kind == YAML_MAP && k < sums->count; k++)
        check_similarity(r, yaml_get(sums->item[k], "similarity"));
    check_project(r);
    check_dropout(r);
    spec_find_decay(r);
    check_running(r, spec);
    check_delta(r);
    check_jvp(r);
    if (!spec->description) spec->description = "";
    if (!spec->value_dim) spec->value_dim = spec->head_dim;
    if (!spec->emit) spec->emit = EMIT_FORWARD;
    if (!yaml_get(r->root, "normalize")) spec_default_denominator(spec);
}
