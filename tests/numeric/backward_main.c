/* A user's training program, which is valid C and C++. It calls forward, then backward.
 * - Its arguments are the sizes, a file with q, k, v and dout, and a file to write dq, dk and dv to.
 * - backward_builds.py builds it with -DHEADER="NAME.h" -DNAME=NAME -DD=head_dim -DE=value_dim. */
#include HEADER

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOINED(a, b) a##b
#define JOIN(a, b) JOINED(a, b)
#define CALL(function) JOIN(NAME, function)

enum { Q, K, V, DOUT, OUT, DQ, DK, DV, ARRAYS };

static void *room(size_t bytes)
{
    void *made = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!made) exit(3);
    return made;
}

int main(int count, char **argument)
{
    if (count != 9) return 2;
    FILE *in = fopen(argument[7], "rb"), *to = fopen(argument[8], "wb");
    if (!in || !to) return 3;
    struct attn_problem p;
    memset(&p, 0, sizeof p);
    p.batch = atol(argument[1]), p.heads = atol(argument[2]), p.kv_heads = atol(argument[3]);
    p.n_q = atol(argument[4]), p.n_k = atol(argument[5]), p.threads = atoi(argument[6]);
    float *array[ARRAYS];
    size_t elements[ARRAYS];
    for (int a = 0; a < ARRAYS; a++) {
        const int of_keys = a == K || a == V || a == DK || a == DV, wide = a == V || a == DOUT || a == OUT || a == DV;
        elements[a] = (size_t)(p.batch * (of_keys ? p.kv_heads * p.n_k : p.heads * p.n_q) * (wide ? E : D));
        array[a] = (float *)room(elements[a] * sizeof(float));
        if (a < OUT && fread(array[a], sizeof(float), elements[a], in) != elements[a]) return 3;
    }
    p.saved_bytes = CALL(_saved)(&p);
    p.saved = room(p.saved_bytes);
    p.workspace_bytes = CALL(_workspace)(&p);
    void *workspace = room(p.workspace_bytes);
    int error = CALL(_forward)(&p, NULL, array[Q], array[K], array[V], array[OUT], workspace);
    free(workspace);
    if (error) return 4;
    p.workspace_bytes = CALL(_backward_workspace)(&p);
    workspace = room(p.workspace_bytes);
    error = CALL(_backward)(&p, NULL, array[Q], array[K], array[V], array[OUT], array[DOUT], array[DQ], array[DK],
                            array[DV], NULL, workspace);
    if (error || !JOIN(NAME, _kernel).backward) return 5;
    for (int a = DQ; a < ARRAYS; a++)
        if (fwrite(array[a], sizeof(float), elements[a], to) != elements[a]) return 3;
    if (fclose(in) || fclose(to)) return 3;
    free(workspace);
    free(p.saved);
    for (int a = 0; a < ARRAYS; a++) free(array[a]);
    return 0;
}
