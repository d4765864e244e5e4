/* The graph: tensor algebra over named axes. It defines what is computed. Its nodes are values, with one element for
   each point of their axes (graph.c, graph_text.c, graph_eval.c). */
#ifndef ATTNC_GRAPH_H
#define ATTNC_GRAPH_H

#include "expr_query.h"

enum graph_op {
#define GRAPH(name, text) GRAPH_##name,
#include "graph.def"
#undef GRAPH
};

enum origin {
#define ORIGIN(name, text) ORIGIN_##name,
#include "origin.def"
#undef ORIGIN
};
enum {
    ORIGINS = 0
#define ORIGIN(name, text) +1
#include "origin.def"
#undef ORIGIN
};
const char *origin_name(enum origin origin); /* returns the word in the text of the graph, or "" for LEARNED */
enum initial {
#define INITIAL(name, text) INITIAL_##name,
#include "initial.def"
#undef INITIAL
};
const char *initial_name(enum initial initial);

struct value {
    enum graph_op op;
    /* The name of an INPUT, PARAM, TABLE or SELECT, such as "bias" or "rope_theta". */
    const char *name;
    enum origin origin; /* used by PARAM */
    /* Used by a learned PARAM. It names the value before training, which programs do not use. */
    enum initial initial;
    /* Used by PARAM and SELECT. If true, elements are int32. Only expressions such as EXPR_ID and EXPR_DRAWN read them,
       and refer to the value by name. */
    bool integers;
    bool bytes;   /* if true, the integer elements are stored as U8 */
    bool by_name; /* used by a real PARAM: if true, EXPR_ELEMENT may read elements, by the parameter's name */
    /* Used by a real PARAM. If true, the elements of -inf hide pairs: EXPR_ID reads 0 for -inf, and 1 for any other
       element. */
    bool hides;
    /* Used by INPUT. If true, the elements are sums that another program of the kernel computes. */
    bool sums;
    /* The type in memory. F32 means the type of the module for an INPUT, and that of sums for a PARAM. The type of a
       PARAM has 16 bits. */
    enum dtype stored;
    struct within within; /* used by INPUT */
    int rank;
    int axes[MAX_RANK]; /* in order of storage; the last axis is contiguous */
    int operands;
    struct ref operand[MAX_OPERANDS];
    /* Used by MAP. It computes the element. EXPR_OPERAND k stands for operand[k]. */
    const struct expr *expr;
    enum fold fold; /* used by REDUCE: FOLD_SUM or FOLD_MAX */
    /* Used by REDUCE. It is the start value, and also the result for an empty region. */
    double init;
    /* Used by REDUCE, CONTRACT and SCAN. It is the region, a condition in INDEX and SIZE. NULL means all points.
       - Element j of a SCAN along its last axis is the sum of the elements before j of its operand in the region, or
         of those after j with `backward`. */
    const struct expr *where;
    /* Used by REDUCE and CONTRACT. It is the number of the value m that is the maximum of the exponents, or -1 if there
       is none.
       - Every term contains the factor exp2(-m), from the pass stabilise. If `power` is not 0, the factor is
         m^-power.
       - Loops compute m as a running maximum. When m changes, they multiply partial sums by exp2(old - new), or by
         (old / new)^power. */
    int online;
    int64_t power;
    /* Used by REDUCE and CONTRACT with an axis of chunks. The sum is multiplied by this factor when it is carried to
       the next chunk. NULL if the sum is not carried. The pass separate sets it. Its operands follow the operands
       that are summed (graph_summed).
       - S[c + 1] = keep * S[c] + the sum of the terms in the region of c + 1 but not of c.
       - If the region has later chunks, the recurrence runs backward, from S[c + 1] to S[c].
       - The recurrence must give the sum over the region, which defines S. */
    const struct expr *keep;
    const double *data; /* used by TABLE */
    /* Used by SOLVE. It computes u[t] = rate[t] * (values[t] - s[t]), where t runs along the sequence of the result.
       s[t] is the sum of weights[t][j] * u[j] over the j < t in the region `where`.
       - Operands 0 to 2 are the weights, the values and the rate.
       - The weights have both axes t and j. Only the weights have axis t. j is the axis of the result
         (graph_solve_axes).
       - Operand 3 is optional. It has the features of t as a query. Their inner products with the features of j are
         the weights of the keys j before the chunk of t. It does not change the value.
       - Operand 4 is optional. It has the features of j, as a state sums them. `keep` is the factor of this state.
       - With `backward`, equations are solved from the last to the first. The sum is over j > t. The keys of operand
         3 are after the chunk of t. */
    bool backward;
    /* Used by SELECT, which is a list of integers for each point of its other axes. Its last axis has a constant
       extent, `count`. It takes the `count` keys in the region `where` with the largest values of operand 0, of equal
       ones the earlier key. With `block` above 1, it takes blocks of this number of keys, whose value is their largest
       one. A list has the numbers of the keys or blocks in ascending order, then -1. A value that is NaN or -inf is not
       taken. Expressions read the lists by name (EXPR_DRAWN). No gradient passes through them. */
    int64_t block;
};

enum { MAX_LISTS = 8 }; /* the largest number of SELECTs in a graph */
enum { SOLVE_WEIGHTS, SOLVE_VALUES, SOLVE_RATE, SOLVE_FEATURES, SOLVE_KEYS };

enum { MAX_OUTPUTS = 512 };
struct graph {
    struct module *module;
    int values, capacity;
    struct value *value; /* operands have lower numbers than the value */
    /* Loops over chunks compute each group of outputs, so values can have several sequences of the chunk's rows. */
    bool by_chunks;
    int outputs;
    struct {
        const char *name; /* the name of the output array, such as that of the result */
        int value;
    } output[MAX_OUTPUTS];
};

struct graph *graph_new(struct module *m);
struct graph *graph_copy(const struct graph *g); /* the copy has the same module */
/* These functions append a value and return its number. `axes` has `rank` elements. */
int graph_input(struct graph *g, const char *name, int rank, const int *axes);
int graph_param(struct graph *g, const char *name, int rank, const int *axes); /* appends a learned parameter */
/* Appends an integer parameter. If `bytes` is true, its elements are bytes. Otherwise they are int32. */
int graph_ids(struct graph *g, const char *name, int rank, const int *axes, bool bytes);
/* Returns true if the value is an integer parameter with an integer for each key, such as its document. */
bool graph_numbers_keys(const struct graph *g, const struct value *v);
/* Appends a parameter with constant extents. `origin` tells how its values are computed. */
int graph_random(struct graph *g, const char *name, enum origin origin, int rank, const int *axes);
int graph_table(struct graph *g, const char *name, int rank, const int *axes, const double *data);
int graph_map(struct graph *g, int rank, const int *axes, int operands, const struct ref *operand,
              const struct expr *expr);
int graph_contract(struct graph *g, int rank, const int *axes, struct ref a, struct ref b, const struct expr *where);
int graph_reduce(struct graph *g, enum fold fold, double init, int rank, const int *axes, struct ref a,
                 const struct expr *where);
int graph_solve(struct graph *g, int rank, const int *axes, struct ref weights, struct ref values, struct ref rate,
                const struct expr *where);
/* Appends a SCAN. `axes` are those of `a`. */
int graph_scan(struct graph *g, int rank, const int *axes, struct ref a, bool backward, const struct expr *where);
/* Returns the number of the first SCAN, or -1 if there is none. */
int graph_find_scan(const struct graph *g);
/* Finds two axes of the weights of a SOLVE. `along` is the sequence axis of the result. `rows` is the axis of the
   equations. Returns false if there is not exactly one such pair. */
bool graph_solve_axes(const struct module *m, const struct value *v, int *along, int *rows);
/* Returns the number of the first SOLVE, or -1 if there is none. */
int graph_find_solve(const struct graph *g);
int graph_count(const struct graph *g, enum graph_op op); /* the number of values with this operation */
/* Whether w is a map of its operand 0, weights, divided or multiplied by a formula of operand 1, which has one value
   for all indices of axis `along`. */
bool value_divides_rows(const struct value *w, int along);
/* The first SOLVE has the solution u = rate * r. Replaces it by a SOLVE for r, and sums of u by sums of rate * r.
   Returns the number of r. Returns -1, without changing the graph, if u is read in another way. (residual.c) */
int graph_solve_for_residual(struct graph *g);
/* `axes` are those of the lists, without the axis of their elements, which is `listed`. */
int graph_select(struct graph *g, const char *name, int rank, const int *axes, int listed, struct ref of, int64_t block,
                 const struct expr *where);
int graph_select_axis(const struct value *v); /* returns the axis of a SELECT's keys, or -1 */
void graph_output(struct graph *g, const char *name, int v);
bool graph_has(const struct graph *g, enum expr_op op); /* true if an expression or subscript has the operation */
bool graph_is_output(const struct graph *g, int v);
/* Returns a reference to value v. Subscript k is the INDEX of axes[k]. If `axes` is NULL, the axes of v are used. */
struct ref graph_ref(const struct graph *g, int v, const int *axes);
bool graph_is_plain(const struct graph *g,
                    const struct ref *r); /* whether r reads a value along the value's own axes */
/* Returns a value without operands, which is in no graph. */
struct value graph_value(enum graph_op op, int rank, const int *axes);
/* Inserts v as value `at` and renumbers later values. v's operands must be before `at`. */
void graph_insert(struct graph *g, int at, struct value v);
/* Inserts a map that copies value v, if a sum or maximum reads v. All readers of v then read the map, because some
   passes rewrite only maps. Returns the number of new values. */
int graph_map_summed(struct graph *g, int v);
/* Returns the number of the value with this name, or -1 if there is none. */
int graph_find(const struct graph *g, const char *name);
/* Returns the number of the output with this name, or -1 if there is none. */
int graph_find_output(const struct graph *g, const char *name);
/* Marks value v and the values that it depends on. */
void graph_mark(const struct graph *g, int v, bool *marked);
/* Removes values that no output depends on, and renumbers. Integer parameters stay. */
void graph_sweep(struct graph *g);
/* Removes operands that the expression of a map, or of all maps, does not use. */
void value_drop_operands(struct module *m, struct value *map);
void graph_drop_operands(struct graph *g);
/* Removes unused operands and values, but keeps inputs and parameters. */
void graph_sweep_computed(struct graph *g);
bool value_has_axis(const struct value *v, int axis);
/* Returns the axes of v, those in the subscripts of its operands, and those with the axes of its region, as bits. */
uint32_t value_axes(const struct value *v);
uint32_t value_operand_axes(const struct value *v);
uint32_t value_read_axes(const struct value *v);
void value_add_axes(struct value *v, uint32_t axes); /* appends the axes that v lacks */
/* Returns a value without operands over a set of axes. Axes of value `like` come first, in their order. */
struct value value_over(enum graph_op op, const struct value *like, uint32_t axes);
/* Returns the number of elements of value v for each index of its run-time axes. */
int64_t graph_constant_elements(const struct graph *g, int v);
/* Returns the number of operands that a REDUCE or CONTRACT sums, which is 1 or 2. For a SOLVE, returns the number of
   operands that `keep` does not use. Any operands after these belong to `keep`. */
int graph_summed(const struct value *v);
/* Whether expressions may read elements of a parameter by its name. */
bool graph_is_named(const struct value *v);
/* Returns the number of operands that refer to value v, plus 1 if v is an output. */
int graph_uses(const struct graph *g, int v);
bool graph_value_equal(const struct value *a, const struct value *b); /* a and b must belong to one module */
/* Returns k such that v->operand[k] is `r`, and appends `r` if needed. Returns -1 if there is no room. */
int graph_operand(struct value *v, const struct ref *r);
/* Inlines the map `inner` into map v at operand `at`. Returns false, without changing v, if v would have too many
   operands. */
bool graph_inline(struct graph *g, struct value *v, int at, const struct value *inner);

/* Returns true if value `out` does not depend on the maximum, as exp(s - maximum) / sum of exp(s - maximum) does not.
   (graph_maximum.c) */
bool graph_maximum_cancels(const struct graph *g, int maximum, int out);
/* Replaces the first output by its tangent, the derivative along the tangents of inputs and learned parameters. The
   tangent of NAME is the learned parameter NAME.tangent. Returns NULL, or what has no tangent yet, such as "a maximum".
   (tangents.c) */
#define TANGENT ".tangent"
const char *graph_differentiate_forward(struct graph *g);
bool name_is_tangent(const char *name);

/* Returns true if a and b are tables with equal names, axes and numbers. Only such values may share a name. */
bool graph_same_table(const struct graph *g, const struct value *a, const struct value *b);
/* Returns NULL if the graph is valid, otherwise an error message. */
const char *graph_verify(const struct graph *g);
void graph_print(const struct graph *g, struct text *out);
/* Parses the text of graph_print. Returns NULL after errors. */
struct graph *graph_parse(struct arena *arena, const char *text, struct diagnostics *d);

/* Evaluates the graph. Writes its outputs to `out`, contiguous, one after the other. Returns NULL or an error
   message. */
const char *graph_eval(const struct graph *g, const struct problem_size *size, const struct tensor *in, int count,
                       double *out);
/* Does the same as graph_eval, but every operation has a random relative error of up to 2^-24, like rounding to f32.
   This shows the rounding errors of a kernel. Partial sums over rows have no errors, because kernels compensate
   them. */
const char *graph_eval_noisy(const struct graph *g, const struct problem_size *size, const struct tensor *in, int count,
                             uint64_t *state, double *out);

#endif
