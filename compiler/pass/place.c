/* Tiles are padded to whole vectors along the lanes and placed one behind the other in a thread's workspace, each on its own cache lines. */
#include "../compiler.h"

void pass_place(struct compilation *c)
{
    struct loops *l = c->loops;
    int64_t offset = 0;
    for (int a = 0; a < l->arrays; a++) {
        struct array *array = &l->array[a];
        if (array->kind != ARRAY_TILE) continue;
        int64_t element = array->dtype == DTYPE_F64 ? 8 : 4, lanes = c->target->vector_bytes / element, elements = 1;
        if (array->rank > 0) array->extent[array->rank - 1] = (array->extent[array->rank - 1] + lanes - 1) / lanes * lanes;
        for (int k = 0; k < array->rank; k++) elements *= array->extent[k];
        array->offset = offset;
        offset += (elements * element + 63) / 64 * 64;
    }
    l->workspace = offset;
}
