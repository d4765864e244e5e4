/* Sets of axes. Bit a stands for axis a of the module. */
#include "expr.h"
#include "graph.h"

uint32_t axes_set(int rank, const int *axes)
{
    uint32_t bits = 0;
    for (int k = 0; k < rank; k++) bits |= AXIS(axes[k]);
    return bits;
}

uint32_t axes_with_size(const struct module *m, enum size_source source)
{
    uint32_t bits = 0;
    for (int a = 0; a < m->axes; a++)
        if (m->axis[a].source == source) bits |= AXIS(a);
    return bits;
}

bool axes_have(const struct module *m, int rank, const int *axes, enum size_source source)
{
    return (axes_set(rank, axes) & axes_with_size(m, source)) != 0;
}

uint32_t axes_of_sequences(const struct module *m)
{
    uint32_t bits = 0;
    for (int a = 0; a < m->axes; a++)
        if (axis_is_sequence(&m->axis[a])) bits |= AXIS(a);
    return bits;
}

uint32_t axes_of_chunks(const struct module *m)
{
    return axes_with_size(m, SIZE_CHUNKS) | axes_with_size(m, SIZE_QUERY_CHUNKS);
}

int axes_list(uint32_t axes, int *list)
{
    int count = 0;
    for (int a = 0; axes >> a; a++)
        if (axes >> a & 1) list[count++] = a;
    return count;
}

int axes_first(uint32_t axes)
{
    int axis = 0;
    while (axes && !(axes >> axis & 1)) axis++;
    return axes ? axis : -1;
}

int axes_only(uint32_t axes)
{
    return axes & (axes - 1) ? -1 : axes_first(axes);
}

uint32_t value_axes(const struct value *v)
{
    return axes_set(v->rank, v->axes);
}

uint32_t value_operand_axes(const struct value *v)
{
    uint32_t axes = 0;
    for (int k = 0; k < v->operands; k++) axes |= ref_axes(&v->operand[k]);
    return axes;
}

uint32_t value_read_axes(const struct value *v)
{
    return value_operand_axes(v) | (v->where ? expr_axes(v->where) : 0);
}

void value_add_axes(struct value *v, uint32_t axes)
{
    for (int a = 0; a < MAX_AXES; a++)
        if ((axes >> a & 1) && !value_has_axis(v, a)) v->axes[v->rank++] = a;
}

struct value value_over(enum graph_op op, const struct value *like, uint32_t axes)
{
    struct value v = graph_value(op, 0, NULL);
    for (int k = 0; k < like->rank; k++)
        if (axes >> like->axes[k] & 1) v.axes[v.rank++] = like->axes[k];
    value_add_axes(&v, axes);
    return v;
}

int graph_select_axis(const struct value *v)
{
    return axes_only(ref_axes(&v->operand[0]) & ~value_axes(v));
}
