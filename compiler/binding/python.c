/* NAME.py: a Python module that calls the compiled kernel. What depends on the spec is written here, the rest is the
   file of the package that calls kernels. */
#include "binding.h"
#include "../driver/driver.h"
#include "../emit/emit.h"
#include "../spec/spec.h"
#include "../support/support.h"
#include "../view/view.h"

#include <string.h>

/* Inside of """: nothing may end it, and a backslash is one. */
static void add_docstring(struct text *out, const char *s)
{
    for (size_t n = view_length(s); n > 0; s++, n--) {
        if (*s == '"' || *s == '\\') text_append(out, "\\", 1);
        text_append(out, s, 1);
    }
}

/* "64", or the letter that the documentation has for the size. */
static const char *letter(const char *extent)
{
    static const char *const letters[][2] = {{"batch", "B"}, {"heads", "H"}, {"kv_heads", "G"}};
    for (size_t k = 0; k < sizeof letters / sizeof *letters; k++)
        if (strcmp(extent, letters[k][0]) == 0) return letters[k][1];
    return extent;
}

static void add_shape(struct text *out, const struct graph *g, const struct value *v, bool quoted)
{
    const char *shape[MAX_RANK];
    const int rank = view_shape(g, v, shape);
    for (int k = 0; k < rank; k++) {
        const bool word = quoted && !(shape[k][0] >= '0' && shape[k][0] <= '9');
        text_add(out, "%s%s%s%s", k ? ", " : "", word ? "\"" : "", letter(shape[k]), word ? "\"" : "");
    }
    if (quoted && rank == 1) text_add(out, ",");
}

static const char *element(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_F32: return "float32";
    case DTYPE_BF16: return "bfloat16 (in NumPy: its bits as uint16, or ml_dtypes.bfloat16)";
    case DTYPE_F16: return "float16";
    case DTYPE_F64: return "float64";
    case DTYPE_I32: return "int32";
    }
    return "";
}

static bool is_param(const struct value *v)
{
    return v->op == GRAPH_PARAM;
}

static void add_table(const struct unit *p, struct text *out)
{
    const struct graph *g = p->graph;
    text_add(out, "PARAMETERS = (  # name, dtype, shape, whether a seed can make it\n");
    for (int k = 0; k < g->values; k++) {
        const struct value *v = &g->value[k];
        if (!is_param(v)) continue;
        text_add(out, "    (\"%s\", \"%s\", (", v->name,
                 dtype_name(v->integers ? DTYPE_I32 : dtype_of_sums(p->spec->dtype)));
        add_shape(out, g, v, true);
        text_add(out, "), %s),\n", v->origin == ORIGIN_LEARNED ? "False" : "True");
    }
    text_add(out, ")\n");
}

static bool any_random(const struct graph *g)
{
    for (int k = 0; k < g->values; k++)
        if (is_param(&g->value[k]) && g->value[k].origin != ORIGIN_LEARNED) return true;
    return false;
}

/* Parameters, as keywords of a function; and what they are called with. */
static void add_keywords(const struct unit *p, struct text *out)
{
    const struct graph *g = p->graph;
    for (int k = 0; k < g->values; k++)
        if (is_param(&g->value[k])) text_add(out, ", %s=None", emit_name(p->arena, g->value[k].name));
    if (any_random(g)) text_add(out, ", seed=%s", p->spec->similarity.has_seed ? "SEED" : "None");
}

static void add_given(const struct unit *p, struct text *out)
{
    const struct graph *g = p->graph;
    const char *before = "";
    text_add(out, "{");
    for (int k = 0; k < g->values; k++) {
        if (!is_param(&g->value[k])) continue;
        text_add(out, "%s\"%s\": %s", before, g->value[k].name, emit_name(p->arena, g->value[k].name));
        before = ", ";
    }
    text_add(out, "}, %s", any_random(g) ? "seed" : "None");
}

static void describe_parameters(const struct unit *p, struct text *out)
{
    const struct graph *g = p->graph;
    for (int k = 0; k < g->values; k++) {
        const struct value *v = &g->value[k];
        if (!is_param(v)) continue;
        text_add(out, "    %s: [", emit_name(p->arena, v->name));
        add_shape(out, g, v, false);
        text_add(out, "], %s%s\n", element(v->integers ? DTYPE_I32 : dtype_of_sums(p->spec->dtype)),
                 v->origin == ORIGIN_LEARNED ? "" : ", else made from the seed");
    }
    if (any_random(g))
        text_add(
            out,
            "    seed: of the parameters that are not given; the same seed gives the same ones on every machine\n");
}

static void add_forward(const struct unit *p, struct text *out)
{
    const struct spec *spec = p->spec;
    bool any = false;
    for (int k = 0; k < p->graph->values; k++) any |= is_param(&p->graph->value[k]);
    text_add(out, "\n\ndef forward(q, k, v, *");
    add_keywords(p, out);
    text_add(out, ", out=None, %sthreads=0):\n    \"\"\"Attention of %s.\n\n", p->backwards ? "saved=None, " : "",
             spec->name);
    text_add(out,
             "    q: [B, H, n_q, %lld]\n    k: [B, G, n_k, %lld], H a multiple of G; query head h reads key/value head "
             "h // (H // G)\n"
             "    v: [B, G, n_k, %lld]\n    out: [B, H, n_q, %lld], written if it is given, else made; it may not "
             "share memory with the others\n",
             (long long)spec->head_dim, (long long)spec->head_dim, (long long)spec->value_dim,
             (long long)spec->value_dim);
    describe_parameters(p, out);
    if (p->backwards) text_add(out, "    saved: a Saved() in which it leaves what backward() needs of its rows\n");
    text_add(out,
             "    threads: 0 for OpenMP's default; the result does not depend on it. A process that was forked from "
             "one that has called a kernel\n"
             "        on several threads has to pass 1, because GNU's OpenMP does not survive a fork; one that was "
             "spawned may pass any number.\n\n"
             "    All but %s are %s, contiguous along their last axis.\n",
             any ? "the parameters" : "threads", element(spec->dtype));
    text_add(out, "    Positions count so that the last query meets the last key; a query that sees no key gives 0. "
                  "Returns out.\n    \"\"\"\n    return _loaded().forward(q, k, v, ");
    add_given(p, out);
    text_add(out, ", out, threads%s)\n", p->backwards ? ", saved" : "");
}

/* The gradients: their names, as keywords that arrays for them are given by. */
static const char *gradient_name(const struct unit *p, const struct value *v)
{
    const bool has = v->op == GRAPH_INPUT || (is_param(v) && v->origin == ORIGIN_LEARNED && !v->integers);
    return has ? arena_printf(p->arena, "d%s", emit_name(p->arena, v->name)) : NULL;
}

static void add_backward(const struct unit *p, struct text *out)
{
    const struct graph *g = p->graph;
    const char *before = "", *name;
    text_add(out, "\n\ndef backward(q, k, v, out, dout, *");
    add_keywords(p, out);
    text_add(out, ", saved=None, wanted=None");
    for (int k = 0; k < g->values; k++)
        if ((name = gradient_name(p, &g->value[k]))) text_add(out, ", %s=None", name);
    text_add(out,
             ", threads=0):\n    \"\"\"Gradients of forward(), from that by its result.\n\n"
             "    q, k, v: as for forward()\n    out: [B, H, n_q, %lld], what forward() returned for them\n"
             "    dout: [B, H, n_q, %lld], the gradient by out\n",
             (long long)p->spec->value_dim, (long long)p->spec->value_dim);
    describe_parameters(p, out);
    text_add(out,
             "    saved: the Saved() that forward() was given; without it that is computed again, to the same bits\n"
             "    wanted: names of the gradients to compute, as in (\"dq\", \"dv\"); None for all\n    ");
    for (int k = 0; k < g->values; k++)
        if ((name = gradient_name(p, &g->value[k]))) {
            text_add(out, "%s%s", before, name);
            before = ", ";
        }
    text_add(out,
             ": shaped as what they are by, written if they are given, else made; they may share memory with nothing "
             "else\n    threads: as for forward(); the result does not depend on it\n\n"
             "    With H > G the gradients by k and v are sums over the query heads that read them. Returns Gradients, "
             "a named tuple,\n    in which those that are not wanted are None.\n    \"\"\"\n"
             "    gradients = {");
    before = "";
    for (int k = 0; k < g->values; k++)
        if ((name = gradient_name(p, &g->value[k]))) {
            text_add(out, "%s\"%s\": %s", before, name, name);
            before = ", ";
        }
    text_add(out, "}\n    return _loaded().backward(q, k, v, out, dout, ");
    add_given(p, out);
    text_add(out, ", saved, wanted, gradients, threads)\n");
}

static const char load_function[] =
    "_binding = Binding(NAME, VERSION, DTYPE, HEAD_DIM, VALUE_DIM, PARAMETERS, \"; compile it anew: \" + COMPILE)\n"
    "\n\n"
    "def load(path=None):\n"
    "    \"\"\"Loads the compiled kernel from `path`;\n"
    "    else from libNAME.so beside this file, as the first call of forward() does.\"\"\"\n"
    "    if path is None:\n"
    "        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), \"lib\" + NAME + \".so\")\n"
    "        if not os.path.exists(path):\n"
    "            raise FileNotFoundError(f\"{path} is not there; compile it: {COMPILE}\")\n"
    "    _binding.load(path)\n"
    "\n\n"
    "def _loaded():\n"
    "    if _binding.library is None:\n"
    "        load()\n"
    "    return _binding\n";

void emit_python(const struct unit *p, struct text *out)
{
    const struct spec *spec = p->spec;
    const char *const runtime = p->standalone ? "" : " $(pkg-config --cflags --libs attnrt)";
    text_add(out, "\"\"\"%s.py, made by attnc %s: ", spec->name, ATTNC_VERSION);
    add_docstring(out, p->command);
    text_add(out, " --emit py\n\n");
    if (*spec->description) {
        add_docstring(out, spec->description);
        text_add(out, "\n\n");
    }
    text_add(
        out,
        "forward(q, k, v) calls the kernel of %s.c on NumPy arrays, PyTorch tensors and whatever else on the CPU "
        "has __dlpack__ or\n"
        "__array_interface__, without copying%s. Compile the kernel into a shared object beside this file first:\n\n"
        "    cc -O2 -shared -fPIC -fopenmp %s.c -o lib%s.so%s -lm\n\n"
        "Needs nothing but Python's standard library; NumPy makes the result where q is no tensor.\n\"\"\"\n\n",
        spec->name, p->backwards ? "; backward(q, k, v, out, dout) computes its gradients" : "", spec->name, spec->name,
        runtime);
    text_add(out, "%s\n\n# ---- this kernel\n\n__all__ = [%s\"forward\", \"load\"]\n\n", python_body,
             p->backwards ? "\"Gradients\", \"Saved\", \"backward\", " : "");
    text_add(out, "NAME, VERSION, DTYPE = \"%s\", \"%s\", \"%s\"\nHEAD_DIM, VALUE_DIM = %lld, %lld\n", spec->name,
             ATTNC_VERSION, dtype_name(spec->dtype), (long long)spec->head_dim, (long long)spec->value_dim);
    if (spec->similarity.has_seed)
        text_add(out, "SEED = %llu  # of the spec\n", (unsigned long long)spec->similarity.seed);
    add_table(p, out);
    text_add(out, "COMPILE = \"cc -O2 -shared -fPIC -fopenmp %s.c -o lib%s.so%s -lm\"\n", spec->name, spec->name,
             runtime);
    text_add(out, "%s%s", load_function,
             p->backwards ? "\n\nGradients = _binding.Gradients\nGradients.__module__ = __name__\n" : "");
    add_forward(p, out);
    if (p->backwards) add_backward(p, out);
}
