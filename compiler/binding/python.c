/* Writes NAME.py, a Python module that calls the kernel. It begins with copies of files of the package. Functions and
   constants of the spec follow. */
#include "binding.h"
#include "../driver/driver.h"
#include "../spec/spec.h"
#include "../support/support.h"
#include "../view/view.h"

#include <string.h>

/* Appends s, with escapes, to a Python string in triple quotes. */
static void add_docstring(struct text *out, const char *s)
{
    for (size_t n = view_length(s); n > 0; s++, n--) {
        if (*s == '"' || *s == '\\') text_append(out, "\\", 1);
        text_append(out, s, 1);
    }
}

/* Appends the shape of an array as a Python tuple such as ("B", "n_q", 64). "n_q/64" is the number of blocks of 64
   queries, rounded up. */
static void add_shape(struct text *out, const struct unit *p, const struct kernel_array *a)
{
    text_add(out, "(");
    for (int k = 0; k < a->rank; k++) {
        const struct array_axis *const axis = &a->axis[k];
        if (axis->constant)
            text_add(out, "%s%s", k ? ", " : "", array_axis_word(p->arena, axis));
        else
            text_add(out, axis->block ? "%s\"%s/%lld\"" : "%s\"%s\"", k ? ", " : "", array_sizes[axis->size].letter,
                     (long long)axis->block);
    }
    text_add(out, a->rank == 1 ? ",)" : ")");
}

static const char *element(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_F32: return "float32";
    case DTYPE_BF16: return "bfloat16 (in NumPy: its bits as uint16, or ml_dtypes.bfloat16)";
    case DTYPE_F16: return "float16";
    case DTYPE_F64: return "float64";
    case DTYPE_I32: return "int32";
    default: return "uint8";
    }
    return "";
}

/* Returns the next parameter among the arrays from number *from on, and advances *from. Returns NULL if there is
   none. */
static const struct kernel_array *next_param(const struct unit *p, int *from)
{
    while (*from < p->kernel.arrays->count)
        if (p->kernel.arrays->array[(*from)++].place == PLACE_PARAMS) return &p->kernel.arrays->array[*from - 1];
    return NULL;
}

/* Like next_param, for the inputs of an entry point. */
static const struct kernel_array *next_input(const struct unit *p, enum entry entry, int *from)
{
    while (*from < p->kernel.arrays->count) {
        const struct kernel_array *const a = &p->kernel.arrays->array[(*from)++];
        if (a->place == PLACE_ARGUMENT && a->access[entry] == ACCESS_READ) return a;
    }
    return NULL;
}

/* Returns the names of an entry point's inputs, such as "q, k, v". */
static const char *input_names(const struct unit *p, enum entry entry)
{
    const char *names = "";
    const struct kernel_array *a;
    for (int k = 0; (a = next_input(p, entry, &k));)
        names = arena_printf(p->arena, "%s%s%s", names, *names ? ", " : "", a->member);
    return names;
}

/* Returns the arguments of a call of the binding. The argument v is None if values are keys. */
static const char *given_names(const struct unit *p, enum entry entry)
{
    const char *names = "";
    for (int k = 0; k < p->kernel.arrays->count; k++) {
        const struct kernel_array *const a = &p->kernel.arrays->array[k];
        if ((a->place != PLACE_ARGUMENT && a->place != PLACE_WITHIN) || a->access[entry] != ACCESS_READ) continue;
        names = arena_printf(p->arena, "%s%s%s", names, *names ? ", " : "",
                             a->place == PLACE_WITHIN ? "None" : a->member);
    }
    return names;
}

static void add_table(const struct unit *p, struct text *out)
{
    const struct kernel_array *a;
    text_add(out, "PARAMETERS = (  # name, keyword, dtype, shape, True if it can be generated from a seed\n");
    for (int k = 0; (a = next_param(p, &k));) {
        text_add(out, "    (\"%s\", \"%s\", \"%s\", ", a->name, view_python_argument(p, a), dtype_name(a->dtype));
        add_shape(out, p, a);
        text_add(out, ", %s),\n", a->origin == ORIGIN_LEARNED ? "False" : "True");
    }
    text_add(out, ")\n");
}

static bool any_random(const struct unit *p)
{
    const struct kernel_array *a;
    for (int k = 0; (a = next_param(p, &k));)
        if (a->origin != ORIGIN_LEARNED) return true;
    return false;
}

static bool takes_seed(const struct unit *p)
{
    return any_random(p) || p->spec->dropout > 0;
}

static bool takes_positions(const struct unit *p)
{
    return graph_has(p->graph, EXPR_START);
}

/* add_keywords appends the parameters as keyword arguments of a function. add_given appends them as arguments of a
   call. */
static void add_keywords(const struct unit *p, struct text *out)
{
    const struct kernel_array *a;
    for (int k = 0; (a = next_param(p, &k));) text_add(out, ", %s=None", view_python_argument(p, a));
    if (takes_positions(p)) text_add(out, ", query_start=None");
    const bool own = p->spec->similarity.has_seed && p->spec->dropout == 0;
    if (takes_seed(p)) text_add(out, ", seed=%s", own ? "SEED" : "None");
}

static void add_given(const struct unit *p, struct text *out)
{
    const struct kernel_array *a;
    const char *before = "";
    text_add(out, "{");
    for (int k = 0; (a = next_param(p, &k)); before = ", ")
        text_add(out, "%s\"%s\": %s", before, a->name, view_python_argument(p, a));
    if (takes_positions(p)) text_add(out, "%s\"query_start\": query_start", before);
    text_add(out, "}, %s", takes_seed(p) ? "seed" : "None");
}

static void describe_parameters(const struct unit *p, struct text *out)
{
    const struct kernel_array *a;
    for (int k = 0; (a = next_param(p, &k));)
        text_add(out, "    %s: [%s], %s%s\n", view_python_argument(p, a), array_shape_text(p->arena, a, ", "),
                 element(a->dtype), a->origin == ORIGIN_LEARNED ? "" : ", else generated from the seed");
    if (takes_positions(p))
        text_add(out,
                 "    query_start: the position of the first query, an integer or one for each sequence; by default, "
                 "the last query is at the\n        last key\n");
    if (any_random(p))
        text_add(out, "    seed: generates the parameters that are not given, the same on every machine\n");
    if (p->spec->dropout > 0)
        text_add(out, "    seed: %sthe seed of dropout, %llu by default\n", any_random(p) ? "also " : "",
                 (unsigned long long)p->spec->seed);
}

/* Returns words about an input that is stored in another type, else "". */
static const char *stored_text(const struct unit *p, const struct kernel_array *a)
{
    if (a->dtype == p->spec->dtype) return "";
    if (!dtype_is_packed(a->dtype)) return arena_printf(p->arena, " of %s", dtype_name(a->dtype));
    return arena_printf(p->arena, " as rows of %s, each %lld bytes of uint8", dtype_name(a->dtype),
                        (long long)dtype_row_bytes(a->dtype, a->axis[a->rank - 1].extent));
}

/* Appends a line about each input of forward. The first line about a key/value array also says which head a query
   head reads. */
static void describe_inputs(const struct unit *p, struct text *out)
{
    const struct kernel_array *a;
    bool said = false;
    for (int k = 0; (a = next_input(p, ENTRY_FORWARD, &k));) {
        const bool says = array_has_size(a, ARRAY_SIZE_KV_HEADS) && !said;
        text_add(out, "    %s: [%s]%s%s\n", a->name, array_shape_text(p->arena, a, ", "), stored_text(p, a),
                 says ? ", H a multiple of G; query head h reads key/value head h // (H // G)" : "");
        said |= says;
    }
}

/* Returns the shape of an argument, such as "B, H, n_q, 64". */
static const char *shape_of(const struct unit *p, int array)
{
    return array_shape_text(p->arena, &p->kernel.arrays->array[array], ", ");
}

static bool has_statistics(const struct unit *p)
{
    return p->spec->emit & EMIT_STATISTICS;
}

static void add_merge(const struct unit *p, struct text *out)
{
    (void)p;
    text_add(out, "\n\ndef merge(left, right, *, threads=0):\n    \"\"\"Merges the results of forward(…, "
                  "statistics=True) for the "
                  "same queries and two sets of keys that have no key in common.\n\n"
                  "    left, right: pairs (out, statistics); left is overwritten\n"
                  "    threads: 0 for OpenMP's default\n\n"
                  "    Returns left.\n    \"\"\"\n    return _loaded().merge(left, right, threads)\n");
}

static bool takes_tables(const struct unit *p)
{
    const struct kernel_array *a;
    for (int k = 0; (a = next_param(p, &k));)
        if (a->table) return true;
    return false;
}

static void add_tiles_of_mask(struct text *out)
{
    text_add(out,
             "\n\ndef tiles_of_mask(mask):\n    \"\"\"Returns the mask with the table of its tiles. Calls take it "
             "in place of the mask, and then need not\n    read the whole mask. After a change of the mask, make the "
             "table again.\n    \"\"\"\n    return _loaded().tiles_of_mask(mask)\n");
}

static void add_forward(const struct unit *p, struct text *out)
{
    const struct spec *spec = p->spec;
    const char *const inputs = input_names(p, ENTRY_FORWARD);
    const int result = kernel_array_of(p->kernel.arrays, QUANTITY_RESULT);
    int from = 0;
    const bool any = next_param(p, &from) != NULL;
    text_add(out, "\n\ndef forward(%s, *", inputs);
    add_keywords(p, out);
    const bool weighs = p->kernel.of[STEP_WEIGHTS].count > 0;
    text_add(out, ", out=None, %s%s%sthreads=0):\n    \"\"\"Attention of %s.\n\n",
             p->kernel.of[STEP_BACKWARD].count ? "saved=None, " : "", has_statistics(p) ? "statistics=False, " : "",
             weighs ? "weights=False, " : "", spec->name);
    describe_inputs(p, out);
    text_add(out, "    out: [%s], overwritten if given, else allocated; it may not overlap the other arrays\n",
             shape_of(p, result));
    describe_parameters(p, out);
    if (p->kernel.of[STEP_BACKWARD].count)
        text_add(out, "    saved: a Saved() that stores the values of each row that backward() needs\n");
    if (has_statistics(p))
        text_add(
            out,
            "    statistics: True, or an array [%s] that is overwritten: returns Outputs(out, statistics), a named "
            "tuple, with %s of each row\n",
            shape_of(p, kernel_array_find(p->kernel.arrays, "statistics")),
            spec_has_logarithms(spec) ? "the logarithm of the denominator" : "the denominator");
    if (weighs)
        text_add(
            out,
            "    weights: True, or an array [%s] that is overwritten: returns Weighed(out, weights), a named tuple, "
            "with the numbers that values are multiplied by\n",
            shape_of(p, kernel_array_find(p->kernel.arrays, "weights")));
    text_add(
        out,
        "    threads: 0 for OpenMP's default; the result does not depend on it. If a process has called a kernel "
        "on several threads,\n"
        "        processes forked from it must pass 1, because GNU's OpenMP does not survive a fork; spawned ones may "
        "pass any number.\n\n"
        "    All but %s are %s, contiguous along their last axis; %s are copied if they are not.\n",
        any ? "the parameters" : "threads", element(spec->dtype), spec->values_are_keys ? "q and k" : "q, k and v");
    text_add(
        out,
        "    The output of a query that sees no key is 0. Returns out.\n    \"\"\"\n    return _loaded().forward(%s, ",
        given_names(p, ENTRY_FORWARD));
    add_given(p, out);
    text_add(out, ", out, threads%s%s%s)\n", p->kernel.of[STEP_BACKWARD].count ? ", saved" : "",
             has_statistics(p) ? ", statistics=statistics" : "", weighs ? ", weights=weights" : "");
}

/* Appends `format` for each gradient, separated by commas. @ stands for the gradient's name. */
static void add_gradients(const struct unit *p, const char *format, struct text *out)
{
    const char *comma = "";
    for (int k = 0; k < p->kernel.arrays->count; k++) {
        const struct kernel_array *const a = &p->kernel.arrays->array[k];
        if (a->access[ENTRY_BACKWARD] != ACCESS_WANTED || a->place == PLACE_WITHIN) continue;
        text_add(out, "%s", comma);
        const char *const name = a->place != PLACE_GRADIENTS
                                     ? a->member
                                     : arena_printf(p->arena, "d%s",
                                                    view_python_argument(p, &p->kernel.arrays->array[a->gradient_of]));
        text_add(out, "%s", emit_row_text(p->arena, format, name, "", false));
        comma = ", ";
    }
}

static void add_backward(const struct unit *p, struct text *out)
{
    const char *const inputs = input_names(p, ENTRY_BACKWARD);
    const int result = kernel_array_of(p->kernel.arrays, QUANTITY_RESULT),
              of[] = {kernel_array_of(p->kernel.arrays, QUANTITY_QUERY),
                      kernel_array_of(p->kernel.arrays, p->spec->values_are_keys ? QUANTITY_KEY : QUANTITY_VALUE)};
    text_add(out, "\n\ndef backward(%s, *", inputs);
    add_keywords(p, out);
    text_add(out, ", saved=None, wanted=None, ");
    add_gradients(p, "@=None", out);
    text_add(out,
             ", threads=0):\n    \"\"\"Gradients of forward(), from the gradient with respect to its output.\n\n"
             "    %s: as for forward()\n    out: [%s], the output of forward() for them\n"
             "    dout: [%s], the gradient with respect to out\n",
             input_names(p, ENTRY_FORWARD), shape_of(p, result),
             shape_of(p, kernel_gradient_of(p->kernel.arrays, result)));
    describe_parameters(p, out);
    text_add(
        out,
        "    saved: the Saved() that forward() filled; without it the values are computed again, with the same bits\n"
        "    wanted: names of the gradients to compute, as in (\"%s\", \"%s\"); None for all\n    ",
        p->kernel.arrays->array[kernel_gradient_of(p->kernel.arrays, of[0])].name,
        p->kernel.arrays->array[kernel_gradient_of(p->kernel.arrays, of[1])].name);
    add_gradients(p, "@", out);
    text_add(out,
             ": the gradients with respect to these arrays, of the same shapes, overwritten if given, else allocated;\n"
             "        they may not overlap any other array\n"
             "    threads: as for forward(); the result does not depend on it\n\n"
             "    If H > G, %s over the query heads that read a key/value head. Returns Gradients, a named "
             "tuple,\n    in which gradients that are not wanted are None.\n    \"\"\"\n"
             "    gradients = {",
             p->spec->values_are_keys ? "dk is a sum" : "dk and dv are sums");
    add_gradients(p, "\"@\": @", out);
    text_add(out, "}\n    return _loaded().backward(%s, ", given_names(p, ENTRY_BACKWARD));
    add_given(p, out);
    text_add(out, ", saved, wanted, gradients, threads)\n");
}

/* Appends the declarations of types from attnrt.h, without their comments. */
static void add_types(struct text *out)
{
    const char *c = strstr(attnrt_header, "/* Return values of kernels"), *const end = strstr(c, "#elif ATTNRT_TYPES");
    while (c < end) {
        if (c[0] == '/' && c[1] == '*') {
            c = strstr(c, "*/") + 2;
            while (out->length && out->data[out->length - 1] == ' ') out->data[--out->length] = 0;
            if (*c == '\n' && out->data[out->length - 1] == '\n') c++; /* the line had only a comment */
            continue;
        }
        text_append(out, c++, 1);
    }
}

/* The text of the package's files, in an order in which each uses only those before it. */
static const char *const package_files[] = {python_header, python_arrays, python_threads, python_repeat, python_call};
enum { PACKAGE_FILES = sizeof package_files / sizeof *package_files };

/* Returns what follows a file's imports, after two empty lines. */
static const char *after_imports(const char *file)
{
    return strstr(file, "\n\n\n") + 1;
}

/* Appends the imports of all files, each once, without those of files of the package. */
static void add_imports(const struct unit *p, struct text *out)
{
    static const char typing[] = "from typing import ";
    const size_t first = out->length;
    text_add(out, "from __future__ import annotations\n\n");
    for (size_t k = 0; k < PACKAGE_FILES; k++) {
        const char *const end = after_imports(package_files[k]);
        for (const char *line = package_files[k], *next; line < end; line = next) {
            next = strchr(line, '\n') + 1;
            const char *const text = arena_printf(p->arena, "%.*s", (int)(next - line), line);
            if (!strncmp(text, "import ", 7) && !strstr(out->data + first, text)) text_add(out, "%s", text);
        }
    }
    const char *const types = strstr(package_files[PACKAGE_FILES - 1], typing); /* the last file uses them all */
    text_append(out, types, (size_t)(strchr(types, '\n') + 1 - types));
}

/* Appends the package's files, with the types of attnrt.h inserted into the string _HEADER. */
static void add_body(const struct unit *p, struct text *out)
{
    static const char place[] = "_HEADER = \"\"\"";
    add_imports(p, out);
    for (size_t k = 0; k < PACKAGE_FILES; k++) {
        const char *from = after_imports(package_files[k]), *const at = strstr(from, place);
        if (at) {
            text_append(out, from, (size_t)(at - from) + strlen(place));
            add_types(out);
            from = at + strlen(place);
        }
        text_add(out, "%s", from);
    }
}

static const char load_function
    [] = "\n\n"
         "def load(path=None):\n"
         "    \"\"\"Loads the compiled kernel from `path`;\n"
         "    else from libNAME.so in the folder of this file, as the first call of forward() does.\"\"\"\n"
         "    if path is None:\n"
         "        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), \"lib\" + NAME + \".so\")\n"
         "        if not os.path.exists(path):\n"
         "            raise FileNotFoundError(f\"{path} does not exist; compile it: {COMPILE}\")\n"
         "    _binding.load(path)\n"
         "\n\n"
         "def _loaded():\n"
         "    if _binding.library is None:\n"
         "        load()\n"
         "    return _binding\n";

/* The functions of a kernel that have one in NAME.py, and the classes that come with it. */
static const struct {
    const char *classes;
    void (*add)(const struct unit *p, struct text *out);
} functions[FUNCTIONS] = {[FUNCTION_forward] = {"", add_forward},
                          [FUNCTION_merge] = {"\"Outputs\", ", add_merge},
                          [FUNCTION_backward] = {"\"Gradients\", \"Saved\", ", add_backward}};

/* Appends the list of the names that NAME.py exports. */
static void add_names(const struct unit *p, struct text *out)
{
    struct text names = {0};
    text_add(out, "__all__ = [");
    for (const struct function_row *f = NULL; emission_next_function(&p->kernel, &f);)
        if (functions[f - function_table].add) {
            text_add(out, "%s", functions[f - function_table].classes);
            text_add(&names, ", \"%s\"", f->suffix);
        }
    text_add(out, "\"load\"%s%s]\n\n", names.data, takes_tables(p) ? ", \"tiles_of_mask\"" : "");
    text_free(&names);
}

void emit_python(const struct unit *p, struct text *out)
{
    const struct spec *spec = p->spec;
    const char *const runtime = p->kernel.standalone ? "" : " $(pkg-config --cflags --libs attnrt)";
    text_add(out, "\"\"\"%s.py, made by attnc %s: ", spec->name, ATTNC_VERSION);
    add_docstring(out, p->command);
    text_add(out, " --emit py\n\n");
    if (*spec->description) {
        add_docstring(out, spec->description);
        text_add(out, "\n\n");
    }
    text_add(
        out,
        "forward(%s) calls the kernel of %s.c on NumPy arrays, PyTorch tensors and other CPU arrays with "
        "__dlpack__ or\n"
        "__array_interface__, without copying%s. First compile the kernel into a shared object in the folder of this "
        "file:\n\n"
        "    cc -O2 -shared -fPIC -fopenmp %s.c -o lib%s.so%s -lm\n\n"
        "Needs only Python's standard library; NumPy allocates the output if q is not a tensor.\n\"\"\"\n\n",
        input_names(p, ENTRY_FORWARD), spec->name,
        p->kernel.of[STEP_BACKWARD].count
            ? arena_printf(p->arena, "; backward(%s) computes its gradients", input_names(p, ENTRY_BACKWARD))
            : "",
        spec->name, spec->name, runtime);
    add_body(p, out);
    text_add(out, "\n\n# ---- this kernel\n\n");
    add_names(p, out);
    text_add(out, "NAME, VERSION, DTYPE = \"%s\", \"%s\", \"%s\"\nHEAD_DIM, VALUE_DIM = %lld, %lld\n", spec->name,
             ATTNC_VERSION, dtype_name(spec->dtype), (long long)spec->head_dim, (long long)spec->value_dim);
    if (spec->similarity.has_seed)
        text_add(out, "SEED = %llu  # of the spec\n", (unsigned long long)spec->similarity.seed);
    add_table(p, out);
    text_add(out, "COMPILE = \"cc -O2 -shared -fPIC -fopenmp %s.c -o lib%s.so%s -lm\"\n", spec->name, spec->name,
             runtime);
    text_add(out,
             "_binding = Binding(NAME, VERSION, DTYPE, HEAD_DIM, VALUE_DIM, PARAMETERS, \"; compile it again:  \" + "
             "COMPILE%s)\n",
             spec->values_are_keys ? ", True" : "");
    text_add(out, "%s%s", load_function,
             p->kernel.of[STEP_BACKWARD].count ? "\n\nGradients = _binding.Gradients\nGradients.__module__ = __name__\n"
                                               : "");
    if (spec->similarity.has_seed && spec->dropout > 0) text_add(out, "\n_binding.own_seed = SEED\n");
    for (const struct function_row *f = NULL; emission_next_function(&p->kernel, &f);)
        if (functions[f - function_table].add) functions[f - function_table].add(p, out);
    if (takes_tables(p)) add_tiles_of_mask(out);
}
