/* polysketch_learned_r64_local.c, made by attnc 0.2.0: attnc polysketch_learned_r64_local.yaml
   C11 with GNU extensions, for a C compiler; C++ includes polysketch_learned_r64_local.h.
   polynomial attention of degree 4, a learned sketch of size 64 between blocks and exact inside them
   Kacham, Mirrokni and Zhong, PolySketchFormer (ICML 2024), algorithm 2 and section 3.2

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (64), r (64), h (512):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     x3 [b g j] = sum over d of k
     x4 [b g j d] = k - x3 * 0.015625
     x5 [b g j d] = x4 * x4
     x6 [b g j] = sum over d of x5
     x7 [b g j] = 1 / sqrt(x6 * 0.015625 + 1e-05)
     x8 [b g j d] = x4 * x7
     x9 [b g m i] = sum over d of q
     x10 [b g m i d] = q - x9 * 0.015625
     x11 [b g m i d] = x10 * x10
     x12 [b g m i] = sum over d of x11
     x13 [b g m i] = 1 / sqrt(x12 * 0.015625 + 1e-05)
     x14 [b g m i d] = x10 * x13
     x15 [b g m i] = sum over d of x14
     x16 [b g m i d] = x14 - x15 * 0.015625
     x17 [b g m i d] = x16 * x16
     x18 [b g m i] = sum over d of x17
     x19 [b g m i] = 1 / sqrt(x18 * 0.015625 + 1e-05)
     sketch.g1.norm0.weight [d], learned parameter
     sketch.g1.norm0.bias [d], learned parameter
     x22 [b g m i d] = x16 * x19 * sketch.g1.norm0.weight + sketch.g1.norm0.bias
     sketch.g1.w0 [d h], learned parameter
     x24 [b g m i h] = sum over d of x22 * sketch.g1.w0
     sketch.g1.w1 [h r], learned parameter
     x26 [b g m i h] = x24 * 0.5 * (tanh((x24 + x24 * x24 * x24 * 0.044715) * 0.7978845608028654) + 1)
     x27 [b g m i r] = sum over h of x26 * sketch.g1.w1
     x28 [b g m i] = sum over r of x27
     x29 [b g m i r] = x27 - x28 * 0.015625
     x30 [b g m i r] = x29 * x29
     x31 [b g m i] = sum over r of x30
     x32 [b g m i] = 1 / sqrt(x31 * 0.015625 + 1e-05)
     sketch.g1.norm1.weight [r], learned parameter
     sketch.g1.norm1.bias [r], learned parameter
     x35 [b g m i r] = x29 * x32 * sketch.g1.norm1.weight + sketch.g1.norm1.bias
     sketch.g1.w2 [r h], learned parameter
     x37 [b g m i h] = sum over r of x35 * sketch.g1.w2
     sketch.g1.w3 [h r], learned parameter
     x39 [b g m i h] = x37 * 0.5 * (tanh((x37 + x37 * x37 * x37 * 0.044715) * 0.7978845608028654) + 1)
     x40 [b g m i r] = sum over h of x39 * sketch.g1.w3
     x41 [b g m i] = sum over d of x14
     x42 [b g m i d] = x14 - x41 * 0.015625
     x43 [b g m i d] = x42 * x42
     x44 [b g m i] = sum over d of x43
     x45 [b g m i] = 1 / sqrt(x44 * 0.015625 + 1e-05)
     sketch.g2.norm0.weight [d], learned parameter
     sketch.g2.norm0.bias [d], learned parameter
     x48 [b g m i d] = x42 * x45 * sketch.g2.norm0.weight + sketch.g2.norm0.bias
     sketch.g2.w0 [d h], learned parameter
     x50 [b g m i h] = sum over d of x48 * sketch.g2.w0
     sketch.g2.w1 [h r], learned parameter
     x52 [b g m i h] = x50 * 0.5 * (tanh((x50 + x50 * x50 * x50 * 0.044715) * 0.7978845608028654) + 1)
     x53 [b g m i r] = sum over h of x52 * sketch.g2.w1
     x54 [b g m i] = sum over r of x53
     x55 [b g m i r] = x53 - x54 * 0.015625
     x56 [b g m i r] = x55 * x55
     x57 [b g m i] = sum over r of x56
     x58 [b g m i] = 1 / sqrt(x57 * 0.015625 + 1e-05)
     sketch.g2.norm1.weight [r], learned parameter
     sketch.g2.norm1.bias [r], learned parameter
     x61 [b g m i r] = x55 * x58 * sketch.g2.norm1.weight + sketch.g2.norm1.bias
     sketch.g2.w2 [r h], learned parameter
     x63 [b g m i h] = sum over r of x61 * sketch.g2.w2
     sketch.g2.w3 [h r], learned parameter
     x65 [b g m i h] = x63 * 0.5 * (tanh((x63 + x63 * x63 * x63 * 0.044715) * 0.7978845608028654) + 1)
     x66 [b g m i r] = sum over h of x65 * sketch.g2.w3
     x67 [b g m i r] = tanh(x40 * x66 * 0.125) * 8
     x68 [b g j] = sum over d of x8
     x69 [b g j d] = x8 - x68 * 0.015625
     x70 [b g j d] = x69 * x69
     x71 [b g j] = sum over d of x70
     x72 [b g j] = 1 / sqrt(x71 * 0.015625 + 1e-05)
     x73 [b g j d] = x69 * x72 * sketch.g1.norm0.weight + sketch.g1.norm0.bias
     x74 [b g j h] = sum over d of x73 * sketch.g1.w0
     x75 [b g j h] = x74 * 0.5 * (tanh((x74 + x74 * x74 * x74 * 0.044715) * 0.7978845608028654) + 1)
     x76 [b g j r] = sum over h of x75 * sketch.g1.w1
     x77 [b g j] = sum over r of x76
     x78 [b g j r] = x76 - x77 * 0.015625
     x79 [b g j r] = x78 * x78
     x80 [b g j] = sum over r of x79
     x81 [b g j] = 1 / sqrt(x80 * 0.015625 + 1e-05)
     x82 [b g j r] = x78 * x81 * sketch.g1.norm1.weight + sketch.g1.norm1.bias
     x83 [b g j h] = sum over r of x82 * sketch.g1.w2
     x84 [b g j h] = x83 * 0.5 * (tanh((x83 + x83 * x83 * x83 * 0.044715) * 0.7978845608028654) + 1)
     x85 [b g j r] = sum over h of x84 * sketch.g1.w3
     x86 [b g j] = sum over d of x8
     x87 [b g j d] = x8 - x86 * 0.015625
     x88 [b g j d] = x87 * x87
     x89 [b g j] = sum over d of x88
     x90 [b g j] = 1 / sqrt(x89 * 0.015625 + 1e-05)
     x91 [b g j d] = x87 * x90 * sketch.g2.norm0.weight + sketch.g2.norm0.bias
     x92 [b g j h] = sum over d of x91 * sketch.g2.w0
     x93 [b g j h] = x92 * 0.5 * (tanh((x92 + x92 * x92 * x92 * 0.044715) * 0.7978845608028654) + 1)
     x94 [b g j r] = sum over h of x93 * sketch.g2.w1
     x95 [b g j] = sum over r of x94
     x96 [b g j r] = x94 - x95 * 0.015625
     x97 [b g j r] = x96 * x96
     x98 [b g j] = sum over r of x97
     x99 [b g j] = 1 / sqrt(x98 * 0.015625 + 1e-05)
     x100 [b g j r] = x96 * x99 * sketch.g2.norm1.weight + sketch.g2.norm1.bias
     x101 [b g j h] = sum over r of x100 * sketch.g2.w2
     x102 [b g j h] = x101 * 0.5 * (tanh((x101 + x101 * x101 * x101 * 0.044715) * 0.7978845608028654) + 1)
     x103 [b g j r] = sum over h of x102 * sketch.g2.w3
     x104 [b g j r] = tanh(x85 * x103 * 0.125) * 8
     x105 [b g m i j] = sum over r of x67 * x104
     x106 [b g m i j] = sum over d of x14 * x8
     x107 [b g m i j] = floor((i + query_start) / 256) == floor(j / 256) ? x106 * x106 * (x106 * x106) : x105 * x105
     x108 [b g m i] = sum over j of x107 if j <= i + query_start
     x109 [b g m i e] = sum over j of x107 * v if j <= i + query_start
     x110 [b g m i e] = x108 + 1 == 0 ? 0 : x109 / (x108 + 1)
     out = x110
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   For few queries each lane holds one key. The queries of all heads that share keys are the rows of one tile,
   so each key is read once.
   The chunks of keys are divided among the threads. Their sums are added in the order of the chunks.
   Linear from 867 keys on: the weight is an inner product of 2080 features. The state is a sum over keys of 2080 x 65
   numbers.
     x86-64-v4  quadratic tiles of 32 queries and 96 keys, in blocks of 256 queries;
     617216 bytes of workspace per thread
     x86-64-v4  linear    tiles of 64 queries and 64 keys; 1909824 bytes of workspace per thread
     x86-64-v4  few       tiles of 64 queries and 128 keys; 1848896 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 16 queries and 96 keys, in blocks of 256 queries;
     613120 bytes of workspace per thread
     x86-64-v3  linear    tiles of 64 queries and 64 keys; 1909824 bytes of workspace per thread
     x86-64-v3  few       tiles of 64 queries and 128 keys; 1848896 bytes of workspace per thread
     generic    quadratic tiles of 16 queries and 96 keys, in blocks of 128 queries;
     481024 bytes of workspace per thread
     generic    linear    tiles of 64 queries and 64 keys; 1909824 bytes of workspace per thread
     generic    few       tiles of 64 queries and 128 keys; 1848896 bytes of workspace per thread

   Contents:
     loops      polysketch_learned_r64_local_rows, polysketch_learned_r64_local_linear, polysketch_learned_r64_local_few
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  polysketch_learned_r64_local_workspace, polysketch_learned_r64_local_forward,
     polysketch_learned_r64_local_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp polysketch_learned_r64_local.c … -lattnrt -lm */
#ifdef SECTION
#include <attnrt/kernel/vector.h>
#include <attnrt/kernel/elementary.h>
#include <attnrt/kernel/product.h>

#define S(name) T(name)
#define AT_ONCE 16
#if OF(1, 0, 1)
#define EARLY 1
#endif
#define EARLY_FOR_SEVERAL OF(32, 32, 64)
#define SEVERAL_FROM OF(9, 2, 2)
#if OF(1, 0, 0)
#define SOONER 1
#endif
#include <attnrt/kernel/stored.h>

/* The functions for the products below. Each calls dot or a similar function with constants. */
TARGET APART void T(dot0)(int64_t lanes, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/512, /*tail=*/2, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/512, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot1)(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/32, a, /*a_row=*/1, /*a_step=*/64, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot2)(int64_t lanes, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(3, 2, 2), lanes, /*rows=*/512, /*tail=*/2, /*steps=*/64, /*span=*/32, a, /*a_row=*/1,
        /*a_step=*/512, b, /*b_step=*/96, c, /*c_row=*/96, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot3)(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(3, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/32, a, /*a_row=*/1, /*a_step=*/64,
        b, /*b_step=*/96, c, /*c_row=*/96, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot4)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/96, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot5)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot_finite)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot6)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot7)(int64_t lanes, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/512, /*tail=*/2, /*steps=*/64, /*span=*/32, a, /*a_row=*/1,
        /*a_step=*/512, b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot8)(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/32, a, /*a_row=*/1, /*a_step=*/64,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot9)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/80, /*a_step=*/1,
        b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot10)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/80,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot11)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot_finite)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot12)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot13)(int64_t lanes, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/512, /*tail=*/2, /*steps=*/64, /*span=*/32, a, /*a_row=*/1,
        /*a_step=*/512, b, /*b_step=*/64, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot14)(int64_t lanes, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, /*steps=*/512, /*span=*/32, a, /*a_row=*/1,
        /*a_step=*/64, b, /*b_step=*/64, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot15)(int64_t lanes, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/512, /*tail=*/2, /*steps=*/64, /*span=*/32, a, /*a_row=*/1,
        /*a_step=*/512, b, /*b_step=*/144, c, /*c_row=*/144, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot16)(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/32, a, /*a_row=*/1, /*a_step=*/64,
        b, /*b_step=*/144, c, /*c_row=*/144, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot17)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/64,
        b, /*b_step=*/144, c, /*c_row=*/144, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot18)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    T(dot_finite_lanes)(/*fetched=*/1, /*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/144, /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
#if OF(1, 0, 0)
TARGET APART void T(dot19)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c,
    int64_t early)
#else
TARGET APART void T(dot19)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
#endif
{
#if OF(1, 0, 0)
    T(dot_fetched)(/*vectors=*/4, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/144, /*a_step=*/1,
        b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL, early);
#endif
#if OF(0, 1, 0)
    T(dot_fetched)(/*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/144, /*a_step=*/1,
        b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
#endif
#if OF(0, 0, 1)
    T(dot_fetched)(/*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/144, /*a_step=*/1,
        b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL, /*early=*/64);
#endif
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(polysketch_learned_r64_local_rows)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_q + OF(256, 256, 128) - 1) / OF(256, 256, 128), i0 = (tiles - 1 - task % tiles) * OF(256,
        256, 128),
        i1 = min(i0 + OF(256, 256, 128), n_q);
    const int64_t m = task / tiles % members;
    const int64_t g = task / tiles / members % kv_heads;
    const int64_t b = task / tiles / members / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const q = (const float *)call->array[ARRAY_q].at + b * call->array[ARRAY_q].strides.batch + (g /
        call->sharing * members + m) * call->array[ARRAY_q].strides.head;
    const int64_t q_row = call->array[ARRAY_q].strides.row;
    const float *const k = (const float *)call->array[ARRAY_k].at + b * call->array[ARRAY_k].strides.batch + g /
        call->sharing * call->array[ARRAY_k].strides.head;
    const int64_t k_row = call->array[ARRAY_k].strides.row;
    const float *const v = (const float *)call->array[ARRAY_v].at + b * call->array[ARRAY_v].strides.batch + g *
        call->array[ARRAY_v].strides.head;
    const int64_t v_row = call->array[ARRAY_v].strides.row;
    const float *const sketch_g1_norm0_weight = (const float *)call->array[ARRAY_sketch_g1_norm0_weight].at;
    const float *const sketch_g1_norm0_bias = (const float *)call->array[ARRAY_sketch_g1_norm0_bias].at;
    const float *const sketch_g1_w0 = (const float *)call->array[ARRAY_sketch_g1_w0].at;
    const float *const sketch_g1_w1 = (const float *)call->array[ARRAY_sketch_g1_w1].at;
    const float *const sketch_g1_norm1_weight = (const float *)call->array[ARRAY_sketch_g1_norm1_weight].at;
    const float *const sketch_g1_norm1_bias = (const float *)call->array[ARRAY_sketch_g1_norm1_bias].at;
    const float *const sketch_g1_w2 = (const float *)call->array[ARRAY_sketch_g1_w2].at;
    const float *const sketch_g1_w3 = (const float *)call->array[ARRAY_sketch_g1_w3].at;
    const float *const sketch_g2_norm0_weight = (const float *)call->array[ARRAY_sketch_g2_norm0_weight].at;
    const float *const sketch_g2_norm0_bias = (const float *)call->array[ARRAY_sketch_g2_norm0_bias].at;
    const float *const sketch_g2_w0 = (const float *)call->array[ARRAY_sketch_g2_w0].at;
    const float *const sketch_g2_w1 = (const float *)call->array[ARRAY_sketch_g2_w1].at;
    const float *const sketch_g2_norm1_weight = (const float *)call->array[ARRAY_sketch_g2_norm1_weight].at;
    const float *const sketch_g2_norm1_bias = (const float *)call->array[ARRAY_sketch_g2_norm1_bias].at;
    const float *const sketch_g2_w2 = (const float *)call->array[ARRAY_sketch_g2_w2].at;
    const float *const sketch_g2_w3 = (const float *)call->array[ARRAY_sketch_g2_w3].at;
    float *const key_sum = (float *)(void *)(work + 0); /* [j: 96] */
    float *const key_sum_2 = (float *)(void *)(work + 384); /* [j: 96] */
    float *const query_sum = (float *)(void *)(work + 0); /* [i: OF(32, 16, 16)] */
    float *const query_sum_2 = (float *)(void *)(work + OF(128, 64, 64)); /* [i: OF(32, 16, 16)] */
    float *const all_query_2 = (float *)(void *)(work + 768); /* [d: 64, i: OF(32, 16, 16), OF(8, 16, 8) times] */
    float *const query_sum_3 = (float *)(void *)(work + 0); /* [i: OF(32, 16, 16)] */
    float *const query_3 = (float *)(void *)(work + OF(66304, 66304, 33536)); /* [d: 64, i: OF(32, 16, 16)] */
    float *const query_sum_4 = (float *)(void *)(work + OF(128, 64, 64)); /* [i: OF(32, 16, 16)] */
    float *const query_4 = (float *)(void *)(work + OF(74496, 70400, 37632)); /* [d: 64, i: OF(32, 16, 16)] */
    float *const query_w0 = (float *)(void *)(work + OF(82688, 74496, 41728)); /* [h: 512, i: OF(32, 16, 16)] */
    float *const query_5 = (float *)(void *)(work + OF(148224, 107264, 74496)); /* [h: 192, i: OF(32, 16, 16)] */
    float *const query_w1 = (float *)(void *)(work + OF(74496, 70400, 37632)); /* [r: 64, i: OF(32, 16, 16)] */
    float *const query_sum_5 = (float *)(void *)(work + 0); /* [i: OF(32, 16, 16)] */
    float *const query_sum_6 = (float *)(void *)(work + OF(256, 128, 128)); /* [i: OF(32, 16, 16)] */
    float *const query_w2 = (float *)(void *)(work + OF(82688, 74496, 41728)); /* [h: 512, i: OF(32, 16, 16)] */
    float *const query_8 = (float *)(void *)(work + OF(148224, 107264, 74496)); /* [h: 192, i: OF(32, 16, 16)] */
    float *const query_w3 = (float *)(void *)(work + OF(74496, 70400, 37632)); /* [r: 64, i: OF(32, 16, 16)] */
    float *const query_w0_2 = (float *)(void *)(work + OF(82688, 74496, 41728)); /* [h: 512, i: OF(32, 16, 16)] */
    float *const query_10 = (float *)(void *)(work + OF(148224, 107264, 74496)); /* [h: 192, i: OF(32, 16, 16)] */
    float *const query_w1_2 = (float *)(void *)(work + OF(66304, 66304, 33536)); /* [r: 64, i: OF(32, 16, 16)] */
    float *const query_sum_7 = (float *)(void *)(work + 0); /* [i: OF(32, 16, 16)] */
    float *const query_sum_8 = (float *)(void *)(work + OF(128, 64, 64)); /* [i: OF(32, 16, 16)] */
    float *const query_w2_2 = (float *)(void *)(work + OF(82688, 74496, 41728)); /* [h: 512, i: OF(32, 16, 16)] */
    float *const query_13 = (float *)(void *)(work + OF(148224, 107264, 74496)); /* [h: 192, i: OF(32, 16, 16)] */
    float *const query_w3_2 = (float *)(void *)(work + OF(66304, 66304, 33536)); /* [r: 64, i: OF(32, 16, 16)] */
    float *const all_query_14 = (float *)(void *)(work + OF(172800, 119552, 86784)); /* [r: 64, i: OF(32, 16, 16), OF(8,
        16, 8) times] */
    float *const key_sum_3 = (float *)(void *)(work + 0); /* [j: 96] */
    float *const key_3 = (float *)(void *)(work + OF(66304, 66304, 33536)); /* [d: 64, j: 96] */
    float *const key_sum_4 = (float *)(void *)(work + 384); /* [j: 96] */
    float *const key_4 = (float *)(void *)(work + OF(90880, 90880, 58112)); /* [d: 64, j: 96] */
    float *const key_w0 = (float *)(void *)(work + OF(238336, 185088, 119552)); /* [h: 512, j: 96] */
    float *const key_5 = (float *)(void *)(work + OF(90880, 381696, 316160)); /* [h: 192, j: 96] */
    float *const key_w1 = (float *)(void *)(work + OF(434944, 90880, 58112)); /* [r: 64, j: 96] */
    float *const key_sum_5 = (float *)(void *)(work + 0); /* [j: 96] */
    float *const key_sum_6 = (float *)(void *)(work + OF(90880, 115456, 82688)); /* [j: 96] */
    float *const key_w2 = (float *)(void *)(work + OF(238336, 185088, 119552)); /* [h: 512, j: 96] */
    float *const key_8 = (float *)(void *)(work + OF(90880, 381696, 316160)); /* [h: 192, j: 96] */
    float *const key_w3 = (float *)(void *)(work + OF(434944, 90880, 58112)); /* [r: 64, j: 96] */
    float *const key_w0_2 = (float *)(void *)(work + OF(238336, 185088, 119552)); /* [h: 512, j: 96] */
    float *const key_10 = (float *)(void *)(work + OF(66304, 381696, 316160)); /* [h: 192, j: 96] */
    float *const key_w1_2 = (float *)(void *)(work + OF(140032, 66304, 33536)); /* [r: 64, j: 96] */
    float *const key_sum_7 = (float *)(void *)(work + 0); /* [j: 96] */
    float *const key_sum_8 = (float *)(void *)(work + 384); /* [j: 96] */
    float *const key_w2_2 = (float *)(void *)(work + OF(238336, 185088, 119552)); /* [h: 512, j: 96] */
    float *const key_13 = (float *)(void *)(work + OF(66304, 381696, 316160)); /* [h: 192, j: 96] */
    float *const key_w3_2 = (float *)(void *)(work + OF(140032, 66304, 33536)); /* [r: 64, j: 96] */
    float *const score = (float *)(void *)(work + OF(66304, 66304, 33536)); /* [j: 96, i: OF(32, 16, 16)] */
    float *const score_2 = (float *)(void *)(work + OF(78592, 72448, 39680)); /* [j: 96, i: OF(32, 16, 16)] */
    float *const all_row_sum = (float *)(void *)(work + OF(459520, 455424, 389888)); /* [i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const all_row_sum_compensation = (float *)(void *)(work + OF(460544, 456448, 390400)); /* [i: OF(32, 16, 16),
        OF(8, 16, 8) times] */
    float *const all_sum = (float *)(void *)(work + OF(461568, 457472, 390912)); /* [e: 64, i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const all_sum_compensation = (float *)(void *)(work + OF(527104, 523008, 423680)); /* [e: 64, i: OF(32, 16,
        16), OF(8, 16, 8) times] */
    float *const result = (float *)(void *)(work + 0); /* [e: 64, i: OF(32, 16, 16)] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const q_tile = (float *)(void *)(work + OF(66304, 66304, 33536)); /* [d: 64, i: OF(32, 16, 16)] */
    float *const k_tile = (float *)(void *)(work + OF(592640, 588544, 456448)); /* [d: 64, j: 96] */
    for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
        const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
        float *const query_2 = all_query_2 + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
        float *const query_14 = all_query_14 + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
        float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
        float *const sum_compensation = all_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
        /* q_tile = q, with zeros beyond the last row */
        T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, OF(32, 16, 16), LANES);
        /* query_sum = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(query_sum + i, T(splat)(0.0f));
        }
        /* query_sum += q_tile */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
            T(vec) query_sum_in[2];
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                query_sum_in[vector] = (T(vec)){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    query_sum_in[vector] += T(load)(q_tile + d * OF(32, 16, 16) + i);
                }
            }
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                T(store)(query_sum + i, T(load)(query_sum + i) + query_sum_in[vector]);
            }
        }
        /* query_sum_2 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(query_sum_2 + i, T(splat)(0.0f));
        }
        /* q_tile = q_tile - (query_sum * 0.015625f); query_sum_2 += q_tile * q_tile */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) t_1 = T(load)(query_sum + i) * 0.015625f;
            T(vec) query_sum_2_in = (T(vec)){0};
            for (int64_t d = 0; d < 64; d++) {
                const T(vec) q_tile_0 = T(load)(q_tile + d * OF(32, 16, 16) + i);
                const T(vec) q_tile_new2 = q_tile_0 - t_1;
                T(store)(q_tile + d * OF(32, 16, 16) + i, q_tile_new2);
                query_sum_2_in += q_tile_new2 * q_tile_new2;
            }
            T(store)(query_sum_2 + i, T(load)(query_sum_2 + i) + query_sum_2_in);
        }
        /* query_sum_3 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(query_sum_3 + i, T(splat)(0.0f));
        }
        /* query_2 = q_tile * (1.0f / sqrt((query_sum_2 * 0.015625f) + 1e-05f)); query_sum_3 += query_2 */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) t_3 = 1.0f / T(sqrt)((T(load)(query_sum_2 + i) * 0.015625f) + 1e-05f);
            T(vec) query_sum_3_in = (T(vec)){0};
            for (int64_t d = 0; d < 64; d++) {
                const T(vec) query_2_new4 = T(load)(q_tile + d * OF(32, 16, 16) + i) * t_3;
                T(store)(query_2 + d * OF(32, 16, 16) + i, query_2_new4);
                query_sum_3_in += query_2_new4;
            }
            T(store)(query_sum_3 + i, T(load)(query_sum_3 + i) + query_sum_3_in);
        }
        /* query_sum_4 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(query_sum_4 + i, T(splat)(0.0f));
        }
        /* query_3 = query_2 - (query_sum_3 * 0.015625f); query_sum_4 += query_3 * query_3 */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) t_5 = T(load)(query_sum_3 + i) * 0.015625f;
            T(vec) query_sum_4_in = (T(vec)){0};
            for (int64_t d = 0; d < 64; d++) {
                const T(vec) query_3_new6 = T(load)(query_2 + d * OF(32, 16, 16) + i) - t_5;
                T(store)(query_3 + d * OF(32, 16, 16) + i, query_3_new6);
                query_sum_4_in += query_3_new6 * query_3_new6;
            }
            T(store)(query_sum_4 + i, T(load)(query_sum_4 + i) + query_sum_4_in);
        }
        /* query_sum_4 = 1.0f / sqrt((query_sum_4 * 0.015625f) + 1e-05f) */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(query_sum_4 + i, 1.0f / T(sqrt)((T(load)(query_sum_4 + i) * 0.015625f) + 1e-05f));
        }
        /* query_4 = ((query_3 * query_sum_4) * sketch.g1.norm0.weight) + sketch.g1.norm0.bias */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) query_sum_4_7 = T(load)(query_sum_4 + i);
            for (int64_t d = 0; d < 64; d++) {
                T(store)(query_4 + d * OF(32, 16, 16) + i, ((T(load)(query_3 + d * OF(32, 16,
                    16) + i) * query_sum_4_7) * sketch_g1_norm0_weight[d]) + sketch_g1_norm0_bias[d]);
            }
        }
        /* query_w0[h][i] = sum over d of sketch_g1_w0 * query_4 */
        T(dot0)(round_up(i1 - i0, LANES), sketch_g1_w0, query_4, query_w0);
        /* query_w1 = 0.0f */
        for (int64_t r = 0; r < 64; r++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(query_w1 + r * OF(32, 16, 16) + i, T(splat)(0.0f));
            }
        }
        for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
            const int64_t h1 = min(h0 + 192, h_end);
            /* query_5 = (query_w0 * 0.5f) * (tanh((query_w0 + (((query_w0 * query_w0) * query_w0) * 0.044715f)) *
               0.7978846f) + 1.0f) */
            for (int64_t h = h0; h < h1; h++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(vec) query_w0_8 = T(load)(query_w0 + h * OF(32, 16, 16) + i);
                    T(store)(query_5 + (h - h0) * OF(32, 16, 16) + i, (query_w0_8 * 0.5f) * (T(tanh)((query_w0_8 +
                        (((query_w0_8 * query_w0_8) * query_w0_8) * 0.044715f)) * 0.7978846f) + 1.0f));
                }
            }
            /* query_w1[r][i] += sum over h of sketch_g1_w1 * query_5 */
            T(dot1)(round_up(i1 - i0, LANES), h1 - h0, sketch_g1_w1 + h0 * 64, query_5, query_w1);
        }
        /* query_sum_5 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(query_sum_5 + i, T(splat)(0.0f));
        }
        /* query_sum_5 += query_w1 */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
            T(vec) query_sum_5_in[2];
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                query_sum_5_in[vector] = (T(vec)){0};
            }
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    query_sum_5_in[vector] += T(load)(query_w1 + r * OF(32, 16, 16) + i);
                }
            }
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                T(store)(query_sum_5 + i, T(load)(query_sum_5 + i) + query_sum_5_in[vector]);
            }
        }
        /* query_sum_6 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(query_sum_6 + i, T(splat)(0.0f));
        }
        /* query_w1 = query_w1 - (query_sum_5 * 0.015625f); query_sum_6 += query_w1 * query_w1 */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) t_10 = T(load)(query_sum_5 + i) * 0.015625f;
            T(vec) query_sum_6_in = (T(vec)){0};
            for (int64_t r = 0; r < 64; r++) {
                const T(vec) query_w1_9 = T(load)(query_w1 + r * OF(32, 16, 16) + i);
                const T(vec) query_w1_new11 = query_w1_9 - t_10;
                T(store)(query_w1 + r * OF(32, 16, 16) + i, query_w1_new11);
                query_sum_6_in += query_w1_new11 * query_w1_new11;
            }
            T(store)(query_sum_6 + i, T(load)(query_sum_6 + i) + query_sum_6_in);
        }
        /* query_w1 = ((query_w1 * (1.0f / sqrt((query_sum_6 * 0.015625f) + 1e-05f))) * sketch.g1.norm1.weight) +
           sketch.g1.norm1.bias */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) t_12 = 1.0f / T(sqrt)((T(load)(query_sum_6 + i) * 0.015625f) + 1e-05f);
            for (int64_t r = 0; r < 64; r++) {
                T(store)(query_w1 + r * OF(32, 16, 16) + i, ((T(load)(query_w1 + r * OF(32, 16,
                    16) + i) * t_12) * sketch_g1_norm1_weight[r]) + sketch_g1_norm1_bias[r]);
            }
        }
        /* query_w2[h][i] = sum over r of sketch_g1_w2 * query_w1 */
        T(dot0)(round_up(i1 - i0, LANES), sketch_g1_w2, query_w1, query_w2);
        /* query_w3 = 0.0f */
        for (int64_t r = 0; r < 64; r++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(query_w3 + r * OF(32, 16, 16) + i, T(splat)(0.0f));
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* query_8 = (query_w2 * 0.5f) * (tanh((query_w2 + (((query_w2 * query_w2) * query_w2) * 0.044715f)) *
                   0.7978846f) + 1.0f) */
                for (int64_t h = h0; h < h1; h++) {
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(vec) query_w2_13 = T(load)(query_w2 + h * OF(32, 16, 16) + i);
                        T(store)(query_8 + (h - h0) * OF(32, 16, 16) + i,
                            (query_w2_13 * 0.5f) * (T(tanh)((query_w2_13 + (((query_w2_13 * query_w2_13) * query_w2_13)
                            * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* query_w3[r][i] += sum over h of sketch_g1_w3 * query_8 */
                T(dot1)(round_up(i1 - i0, LANES), h1 - h0, sketch_g1_w3 + h0 * 64, query_8, query_w3);
            }
        }
        /* query_3 = ((query_3 * query_sum_4) * sketch.g2.norm0.weight) + sketch.g2.norm0.bias */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) query_sum_4_14 = T(load)(query_sum_4 + i);
            for (int64_t d = 0; d < 64; d++) {
                T(store)(query_3 + d * OF(32, 16, 16) + i, ((T(load)(query_3 + d * OF(32, 16,
                    16) + i) * query_sum_4_14) * sketch_g2_norm0_weight[d]) + sketch_g2_norm0_bias[d]);
            }
        }
        /* query_w0_2[h][i] = sum over d of sketch_g2_w0 * query_3 */
        T(dot0)(round_up(i1 - i0, LANES), sketch_g2_w0, query_3, query_w0_2);
        /* query_w1_2 = 0.0f */
        for (int64_t r = 0; r < 64; r++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(query_w1_2 + r * OF(32, 16, 16) + i, T(splat)(0.0f));
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* query_10 = (query_w0_2 * 0.5f) * (tanh((query_w0_2 + (((query_w0_2 * query_w0_2) * query_w0_2) *
                   0.044715f)) * 0.7978846f) + 1.0f) */
                for (int64_t h = h0; h < h1; h++) {
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(vec) query_w0_2_15 = T(load)(query_w0_2 + h * OF(32, 16, 16) + i);
                        T(store)(query_10 + (h - h0) * OF(32, 16, 16) + i,
                            (query_w0_2_15 * 0.5f) * (T(tanh)((query_w0_2_15 + (((query_w0_2_15 * query_w0_2_15) *
                            query_w0_2_15) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* query_w1_2[r][i] += sum over h of sketch_g2_w1 * query_10 */
                T(dot1)(round_up(i1 - i0, LANES), h1 - h0, sketch_g2_w1 + h0 * 64, query_10, query_w1_2);
            }
        }
        /* query_sum_7 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(query_sum_7 + i, T(splat)(0.0f));
        }
        /* query_sum_7 += query_w1_2 */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
            T(vec) query_sum_7_in[2];
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                query_sum_7_in[vector] = (T(vec)){0};
            }
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    query_sum_7_in[vector] += T(load)(query_w1_2 + r * OF(32, 16, 16) + i);
                }
            }
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                T(store)(query_sum_7 + i, T(load)(query_sum_7 + i) + query_sum_7_in[vector]);
            }
        }
        /* query_sum_8 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(query_sum_8 + i, T(splat)(0.0f));
        }
        /* query_w1_2 = query_w1_2 - (query_sum_7 * 0.015625f); query_sum_8 += query_w1_2 * query_w1_2 */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) t_17 = T(load)(query_sum_7 + i) * 0.015625f;
            T(vec) query_sum_8_in = (T(vec)){0};
            for (int64_t r = 0; r < 64; r++) {
                const T(vec) query_w1_2_16 = T(load)(query_w1_2 + r * OF(32, 16, 16) + i);
                const T(vec) query_w1_2_new18 = query_w1_2_16 - t_17;
                T(store)(query_w1_2 + r * OF(32, 16, 16) + i, query_w1_2_new18);
                query_sum_8_in += query_w1_2_new18 * query_w1_2_new18;
            }
            T(store)(query_sum_8 + i, T(load)(query_sum_8 + i) + query_sum_8_in);
        }
        /* query_w1_2 = ((query_w1_2 * (1.0f / sqrt((query_sum_8 * 0.015625f) + 1e-05f))) * sketch.g2.norm1.weight) +
           sketch.g2.norm1.bias */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) t_19 = 1.0f / T(sqrt)((T(load)(query_sum_8 + i) * 0.015625f) + 1e-05f);
            for (int64_t r = 0; r < 64; r++) {
                T(store)(query_w1_2 + r * OF(32, 16, 16) + i, ((T(load)(query_w1_2 + r * OF(32, 16,
                    16) + i) * t_19) * sketch_g2_norm1_weight[r]) + sketch_g2_norm1_bias[r]);
            }
        }
        /* query_w2_2[h][i] = sum over r of sketch_g2_w2 * query_w1_2 */
        T(dot0)(round_up(i1 - i0, LANES), sketch_g2_w2, query_w1_2, query_w2_2);
        /* query_w3_2 = 0.0f */
        for (int64_t r = 0; r < 64; r++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(query_w3_2 + r * OF(32, 16, 16) + i, T(splat)(0.0f));
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* query_13 = (query_w2_2 * 0.5f) * (tanh((query_w2_2 + (((query_w2_2 * query_w2_2) * query_w2_2) *
                   0.044715f)) * 0.7978846f) + 1.0f) */
                for (int64_t h = h0; h < h1; h++) {
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(vec) query_w2_2_20 = T(load)(query_w2_2 + h * OF(32, 16, 16) + i);
                        T(store)(query_13 + (h - h0) * OF(32, 16, 16) + i,
                            (query_w2_2_20 * 0.5f) * (T(tanh)((query_w2_2_20 + (((query_w2_2_20 * query_w2_2_20) *
                            query_w2_2_20) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* query_w3_2[r][i] += sum over h of sketch_g2_w3 * query_13 */
                T(dot1)(round_up(i1 - i0, LANES), h1 - h0, sketch_g2_w3 + h0 * 64, query_13, query_w3_2);
            }
        }
        /* query_14 = tanh((query_w3 * query_w3_2) * 0.125f) * 8.0f */
        for (int64_t r = 0; r < 64; r++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(query_14 + r * OF(32, 16, 16) + i, T(tanh)((T(load)(query_w3 + r * OF(32, 16,
                    16) + i) * T(load)(query_w3_2 + r * OF(32, 16, 16) + i)) * 0.125f) * 8.0f);
            }
        }
        /* row_sum = 0.0f; row_sum_compensation = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(row_sum + i, T(splat)(0.0f));
            T(store)(row_sum_compensation + i, T(splat)(0.0f));
        }
        /* sum = 0.0f; sum_compensation = 0.0f */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(sum + e * OF(32, 16, 16) + i, T(splat)(0.0f));
                T(store)(sum_compensation + e * OF(32, 16, 16) + i, T(splat)(0.0f));
            }
        }
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 96) {
        const int64_t j1 = min(j0 + 96, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 96, 64);
        /* key_sum = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum + j, T(splat)(0.0f));
        }
        /* key_sum += k_tile */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += OF(48, 16, 8)) {
            T(vec) key_sum_in[OF(3, 2, 2)];
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(3, 2, 2); vector++, j += LANES) {
                key_sum_in[vector] = (T(vec)){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t vector = 0, j = j_first; vector < OF(3, 2, 2); vector++, j += LANES) {
                    key_sum_in[vector] += T(load)(k_tile + d * 96 + j);
                }
            }
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(3, 2, 2); vector++, j += LANES) {
                T(store)(key_sum + j, T(load)(key_sum + j) + key_sum_in[vector]);
            }
        }
        /* key_sum_2 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum_2 + j, T(splat)(0.0f));
        }
        /* k_tile = k_tile - (key_sum * 0.015625f); key_sum_2 += k_tile * k_tile */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) t_22 = T(load)(key_sum + j) * 0.015625f;
            T(vec) key_sum_2_in = (T(vec)){0};
            for (int64_t d = 0; d < 64; d++) {
                const T(vec) k_tile_21 = T(load)(k_tile + d * 96 + j);
                const T(vec) k_tile_new23 = k_tile_21 - t_22;
                T(store)(k_tile + d * 96 + j, k_tile_new23);
                key_sum_2_in += k_tile_new23 * k_tile_new23;
            }
            T(store)(key_sum_2 + j, T(load)(key_sum_2 + j) + key_sum_2_in);
        }
        /* key_sum_3 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum_3 + j, T(splat)(0.0f));
        }
        /* k_tile = k_tile * (1.0f / sqrt((key_sum_2 * 0.015625f) + 1e-05f)); key_sum_3 += k_tile */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) t_25 = 1.0f / T(sqrt)((T(load)(key_sum_2 + j) * 0.015625f) + 1e-05f);
            T(vec) key_sum_3_in = (T(vec)){0};
            for (int64_t d = 0; d < 64; d++) {
                const T(vec) k_tile_24 = T(load)(k_tile + d * 96 + j);
                const T(vec) k_tile_new26 = k_tile_24 * t_25;
                T(store)(k_tile + d * 96 + j, k_tile_new26);
                key_sum_3_in += k_tile_new26;
            }
            T(store)(key_sum_3 + j, T(load)(key_sum_3 + j) + key_sum_3_in);
        }
        /* key_sum_4 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum_4 + j, T(splat)(0.0f));
        }
        /* key_3 = k_tile - (key_sum_3 * 0.015625f); key_sum_4 += key_3 * key_3 */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) t_27 = T(load)(key_sum_3 + j) * 0.015625f;
            T(vec) key_sum_4_in = (T(vec)){0};
            for (int64_t d = 0; d < 64; d++) {
                const T(vec) key_3_new28 = T(load)(k_tile + d * 96 + j) - t_27;
                T(store)(key_3 + d * 96 + j, key_3_new28);
                key_sum_4_in += key_3_new28 * key_3_new28;
            }
            T(store)(key_sum_4 + j, T(load)(key_sum_4 + j) + key_sum_4_in);
        }
        /* key_sum_4 = 1.0f / sqrt((key_sum_4 * 0.015625f) + 1e-05f) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum_4 + j, 1.0f / T(sqrt)((T(load)(key_sum_4 + j) * 0.015625f) + 1e-05f));
        }
        /* key_4 = ((key_3 * key_sum_4) * sketch.g1.norm0.weight) + sketch.g1.norm0.bias */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) key_sum_4_29 = T(load)(key_sum_4 + j);
            for (int64_t d = 0; d < 64; d++) {
                T(store)(key_4 + d * 96 + j, ((T(load)(key_3 + d * 96 + j) * key_sum_4_29) * sketch_g1_norm0_weight[d])
                    + sketch_g1_norm0_bias[d]);
            }
        }
        /* key_w0[h][j] = sum over d of sketch_g1_w0 * key_4 */
        T(dot2)(round_up(j1 - j0, LANES), sketch_g1_w0, key_4, key_w0);
        /* key_w1 = 0.0f */
        for (int64_t r = 0; r < 64; r++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(key_w1 + r * 96 + j, T(splat)(0.0f));
            }
        }
        for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
            const int64_t h1 = min(h0 + 192, h_end);
            /* key_5 = (key_w0 * 0.5f) * (tanh((key_w0 + (((key_w0 * key_w0) * key_w0) * 0.044715f)) * 0.7978846f) +
               1.0f) */
            for (int64_t h = h0; h < h1; h++) {
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(vec) key_w0_30 = T(load)(key_w0 + h * 96 + j);
                    T(store)(key_5 + (h - h0) * 96 + j, (key_w0_30 * 0.5f) * (T(tanh)((key_w0_30 + (((key_w0_30 *
                        key_w0_30) * key_w0_30) * 0.044715f)) * 0.7978846f) + 1.0f));
                }
            }
            /* key_w1[r][j] += sum over h of sketch_g1_w1 * key_5 */
            T(dot3)(round_up(j1 - j0, LANES), h1 - h0, sketch_g1_w1 + h0 * 64, key_5, key_w1);
        }
        /* key_sum_5 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum_5 + j, T(splat)(0.0f));
        }
        /* key_sum_5 += key_w1 */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += OF(48, 16, 8)) {
            T(vec) key_sum_5_in[OF(3, 2, 2)];
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(3, 2, 2); vector++, j += LANES) {
                key_sum_5_in[vector] = (T(vec)){0};
            }
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t vector = 0, j = j_first; vector < OF(3, 2, 2); vector++, j += LANES) {
                    key_sum_5_in[vector] += T(load)(key_w1 + r * 96 + j);
                }
            }
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(3, 2, 2); vector++, j += LANES) {
                T(store)(key_sum_5 + j, T(load)(key_sum_5 + j) + key_sum_5_in[vector]);
            }
        }
        /* key_sum_6 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum_6 + j, T(splat)(0.0f));
        }
        /* key_w1 = key_w1 - (key_sum_5 * 0.015625f); key_sum_6 += key_w1 * key_w1 */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) t_32 = T(load)(key_sum_5 + j) * 0.015625f;
            T(vec) key_sum_6_in = (T(vec)){0};
            for (int64_t r = 0; r < 64; r++) {
                const T(vec) key_w1_31 = T(load)(key_w1 + r * 96 + j);
                const T(vec) key_w1_new33 = key_w1_31 - t_32;
                T(store)(key_w1 + r * 96 + j, key_w1_new33);
                key_sum_6_in += key_w1_new33 * key_w1_new33;
            }
            T(store)(key_sum_6 + j, T(load)(key_sum_6 + j) + key_sum_6_in);
        }
        /* key_w1 = ((key_w1 * (1.0f / sqrt((key_sum_6 * 0.015625f) + 1e-05f))) * sketch.g1.norm1.weight) +
           sketch.g1.norm1.bias */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) t_34 = 1.0f / T(sqrt)((T(load)(key_sum_6 + j) * 0.015625f) + 1e-05f);
            for (int64_t r = 0; r < 64; r++) {
                T(store)(key_w1 + r * 96 + j, ((T(load)(key_w1 + r * 96 + j) * t_34) * sketch_g1_norm1_weight[r]) +
                    sketch_g1_norm1_bias[r]);
            }
        }
        /* key_w2[h][j] = sum over r of sketch_g1_w2 * key_w1 */
        T(dot2)(round_up(j1 - j0, LANES), sketch_g1_w2, key_w1, key_w2);
        /* key_w3 = 0.0f */
        for (int64_t r = 0; r < 64; r++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(key_w3 + r * 96 + j, T(splat)(0.0f));
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* key_8 = (key_w2 * 0.5f) * (tanh((key_w2 + (((key_w2 * key_w2) * key_w2) * 0.044715f)) * 0.7978846f) +
                   1.0f) */
                for (int64_t h = h0; h < h1; h++) {
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(vec) key_w2_35 = T(load)(key_w2 + h * 96 + j);
                        T(store)(key_8 + (h - h0) * 96 + j, (key_w2_35 * 0.5f) * (T(tanh)((key_w2_35 + (((key_w2_35 *
                            key_w2_35) * key_w2_35) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* key_w3[r][j] += sum over h of sketch_g1_w3 * key_8 */
                T(dot3)(round_up(j1 - j0, LANES), h1 - h0, sketch_g1_w3 + h0 * 64, key_8, key_w3);
            }
        }
        /* key_3 = ((key_3 * key_sum_4) * sketch.g2.norm0.weight) + sketch.g2.norm0.bias */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) key_sum_4_36 = T(load)(key_sum_4 + j);
            for (int64_t d = 0; d < 64; d++) {
                T(store)(key_3 + d * 96 + j, ((T(load)(key_3 + d * 96 + j) * key_sum_4_36) * sketch_g2_norm0_weight[d])
                    + sketch_g2_norm0_bias[d]);
            }
        }
        /* key_w0_2[h][j] = sum over d of sketch_g2_w0 * key_3 */
        T(dot2)(round_up(j1 - j0, LANES), sketch_g2_w0, key_3, key_w0_2);
        /* key_w1_2 = 0.0f */
        for (int64_t r = 0; r < 64; r++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(key_w1_2 + r * 96 + j, T(splat)(0.0f));
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* key_10 = (key_w0_2 * 0.5f) * (tanh((key_w0_2 + (((key_w0_2 * key_w0_2) * key_w0_2) * 0.044715f)) *
                   0.7978846f) + 1.0f) */
                for (int64_t h = h0; h < h1; h++) {
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(vec) key_w0_2_37 = T(load)(key_w0_2 + h * 96 + j);
                        T(store)(key_10 + (h - h0) * 96 + j, (key_w0_2_37 * 0.5f) * (T(tanh)((key_w0_2_37 +
                            (((key_w0_2_37 * key_w0_2_37) * key_w0_2_37) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* key_w1_2[r][j] += sum over h of sketch_g2_w1 * key_10 */
                T(dot3)(round_up(j1 - j0, LANES), h1 - h0, sketch_g2_w1 + h0 * 64, key_10, key_w1_2);
            }
        }
        /* key_sum_7 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum_7 + j, T(splat)(0.0f));
        }
        /* key_sum_7 += key_w1_2 */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += OF(48, 16, 8)) {
            T(vec) key_sum_7_in[OF(3, 2, 2)];
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(3, 2, 2); vector++, j += LANES) {
                key_sum_7_in[vector] = (T(vec)){0};
            }
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t vector = 0, j = j_first; vector < OF(3, 2, 2); vector++, j += LANES) {
                    key_sum_7_in[vector] += T(load)(key_w1_2 + r * 96 + j);
                }
            }
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(3, 2, 2); vector++, j += LANES) {
                T(store)(key_sum_7 + j, T(load)(key_sum_7 + j) + key_sum_7_in[vector]);
            }
        }
        /* key_sum_8 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum_8 + j, T(splat)(0.0f));
        }
        /* key_w1_2 = key_w1_2 - (key_sum_7 * 0.015625f); key_sum_8 += key_w1_2 * key_w1_2 */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) t_39 = T(load)(key_sum_7 + j) * 0.015625f;
            T(vec) key_sum_8_in = (T(vec)){0};
            for (int64_t r = 0; r < 64; r++) {
                const T(vec) key_w1_2_38 = T(load)(key_w1_2 + r * 96 + j);
                const T(vec) key_w1_2_new40 = key_w1_2_38 - t_39;
                T(store)(key_w1_2 + r * 96 + j, key_w1_2_new40);
                key_sum_8_in += key_w1_2_new40 * key_w1_2_new40;
            }
            T(store)(key_sum_8 + j, T(load)(key_sum_8 + j) + key_sum_8_in);
        }
        /* key_w1_2 = ((key_w1_2 * (1.0f / sqrt((key_sum_8 * 0.015625f) + 1e-05f))) * sketch.g2.norm1.weight) +
           sketch.g2.norm1.bias */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) t_41 = 1.0f / T(sqrt)((T(load)(key_sum_8 + j) * 0.015625f) + 1e-05f);
            for (int64_t r = 0; r < 64; r++) {
                T(store)(key_w1_2 + r * 96 + j, ((T(load)(key_w1_2 + r * 96 + j) * t_41) * sketch_g2_norm1_weight[r]) +
                    sketch_g2_norm1_bias[r]);
            }
        }
        /* key_w2_2[h][j] = sum over r of sketch_g2_w2 * key_w1_2 */
        T(dot2)(round_up(j1 - j0, LANES), sketch_g2_w2, key_w1_2, key_w2_2);
        /* key_w3_2 = 0.0f */
        for (int64_t r = 0; r < 64; r++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(key_w3_2 + r * 96 + j, T(splat)(0.0f));
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* key_13 = (key_w2_2 * 0.5f) * (tanh((key_w2_2 + (((key_w2_2 * key_w2_2) * key_w2_2) * 0.044715f)) *
                   0.7978846f) + 1.0f) */
                for (int64_t h = h0; h < h1; h++) {
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(vec) key_w2_2_42 = T(load)(key_w2_2 + h * 96 + j);
                        T(store)(key_13 + (h - h0) * 96 + j, (key_w2_2_42 * 0.5f) * (T(tanh)((key_w2_2_42 +
                            (((key_w2_2_42 * key_w2_2_42) * key_w2_2_42) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* key_w3_2[r][j] += sum over h of sketch_g2_w3 * key_13 */
                T(dot3)(round_up(j1 - j0, LANES), h1 - h0, sketch_g2_w3 + h0 * 64, key_13, key_w3_2);
            }
        }
        /* key_w3 = tanh((key_w3 * key_w3_2) * 0.125f) * 8.0f */
        for (int64_t r = 0; r < 64; r++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(key_w3 + r * 96 + j, T(tanh)((T(load)(key_w3 + r * 96 + j) * T(load)(key_w3_2 + r * 96 + j)) *
                    0.125f) * 8.0f);
            }
        }
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
            const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
            float *const query_2 = all_query_2 + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            float *const query_14 = all_query_14 + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16,
                16);
            float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            float *const sum_compensation = all_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024,
                1024);
            if (!(j0 < (i1 + query_start))) continue; /* no query sees a key of the tile */
            /* score[j][i] = sum over r of key_w3 * query_14 */
            T(dot4)(round_up(i1 - i0, LANES), j1 - j0, key_w3, query_14, score);
            /* score_2[j][i] = sum over d of k_tile * query_2 */
            T(dot4)(round_up(i1 - i0, LANES), j1 - j0, k_tile, query_2, score_2);
            if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                /* score = select(j <= (i + query_start), select((((i + query_start) - floormod(i + query_start,
                   256)) / 256) == ((j - floormod(j,  ... */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_43 = (i0 + i + T(lane)) + query_start;
                    const T(ints) r44 = t_43 % 256;
                    const T(ints) t_45 = (t_43 - (r44 + (((r44 != 0) & ((r44 < 0) != (256 < 0))) & 256))) / 256;
                    T(vec) row_sum_in = (T(vec)){0};
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        const T(vec) score_2_46 = T(load)(score_2 + j * OF(32, 16, 16) + i);
                        const T(vec) t_47 = score_2_46 * score_2_46;
                        const T(vec) score_48 = T(load)(score + j * OF(32, 16, 16) + i);
                        const T(vec) score_new49 = T(pick)(__builtin_convertvector((j0 + j) <= t_43, T(mask)),
                            T(pick)(__builtin_convertvector(t_45 == (((j0 + j) - floor_mod(j0 + j, 256)) / 256),
                            T(mask)), t_47 * t_47, score_48 * score_48), T(splat)(0.0f));
                        T(store)(score + j * OF(32, 16, 16) + i, score_new49);
                        row_sum_in += score_new49;
                    }
                    T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
                }
            }
            if (!((i0 + query_start + 1) < j1)) { /* the tile is wholly inside the mask */
                /* score = select((((i + query_start) - floormod(i + query_start, 256)) / 256) == ((j - floormod(j,
                   256)) / 256), (score_2 * score_ ... */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_50 = (i0 + i + T(lane)) + query_start;
                    const T(ints) r51 = t_50 % 256;
                    const T(ints) t_52 = (t_50 - (r51 + (((r51 != 0) & ((r51 < 0) != (256 < 0))) & 256))) / 256;
                    T(vec) row_sum_in = (T(vec)){0};
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        const T(vec) score_2_53 = T(load)(score_2 + j * OF(32, 16, 16) + i);
                        const T(vec) t_54 = score_2_53 * score_2_53;
                        const T(vec) score_55 = T(load)(score + j * OF(32, 16, 16) + i);
                        const T(vec) score_new56 = T(pick)(__builtin_convertvector(t_52 == (((j0 + j) - floor_mod(j0 +
                            j, 256)) / 256), T(mask)), t_54 * t_54, score_55 * score_55);
                        T(store)(score + j * OF(32, 16, 16) + i, score_new56);
                        row_sum_in += score_new56;
                    }
                    T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
                }
            }
            /* sum[e][i] += sum over j of v * score */
            if (__builtin_expect(((i0 + query_start + 1) < j1) && !T(finite)(v + j0 * v_row, v_row, j1 - j0, 64),
                0)) { /* infinity and NaN affect only queries that see them */
                T(dot5)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(mask) in_region[OF(2, 2, 4)] = {0};
                    if (T(finite)(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        in_region[i / LANES] = __builtin_convertvector((j0 + j) <= ((i0 + i + T(lane)) + query_start),
                            T(mask));
                    }
                    T(add_seen)(64, sum, OF(32, 16, 16), v + j0 * v_row + j * v_row, 1, score + j * OF(32, 16, 16),
                        in_region, i1 - i0);
                }
            } else
                T(dot6)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
        }
    }
    {
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
            const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
            float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            /* result = select((row_sum + 1.0f) == 0.0f, 0.0f, sum / (row_sum + 1.0f)) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) t_57 = T(load)(row_sum + i) + 1.0f;
                const T(mask) t_58 = t_57 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    T(store)(result + e * OF(32, 16, 16) + i, T(pick)(t_58, T(splat)(0.0f), T(load)(sum + e * OF(32, 16,
                        16) + i) / t_57));
                }
            }
            /* out = result, transposed back */
            T(transpose_out)(result, OF(32, 16, 16), 64, i1 - i0, out + i0 * out_row, out_row, LANES);
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(polysketch_learned_r64_local_begin)(const struct call *call, int64_t task,
    const struct share *share, int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 2080);
    float *const carried_sum = (float *)(void *)(share->shared + 0); /* [f: 2080] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 540864); /* [f: 2080] */
    float *const carried = (float *)(void *)(share->shared + 8320); /* [f: 2080, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 549184); /* [f: 2080, e: 64] */
    /* carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f += LANES) {
        T(store)(carried_sum + f, T(splat)(0.0f));
        T(store)(carried_sum_compensation + f, T(splat)(0.0f));
    }
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(carried + f * 64 + e, T(splat)(0.0f));
                T(store)(carried_compensation + f * 64 + e, T(splat)(0.0f));
            }
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET APART void T(polysketch_learned_r64_local_keys)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = share->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const k = (const float *)call->array[ARRAY_k].at + b * call->array[ARRAY_k].strides.batch + g /
        call->sharing * call->array[ARRAY_k].strides.head;
    const int64_t k_row = call->array[ARRAY_k].strides.row;
    const float *const v = (const float *)call->array[ARRAY_v].at + b * call->array[ARRAY_v].strides.batch + g *
        call->array[ARRAY_v].strides.head;
    const int64_t v_row = call->array[ARRAY_v].strides.row;
    const float *const sketch_g1_norm0_weight = (const float *)call->array[ARRAY_sketch_g1_norm0_weight].at;
    const float *const sketch_g1_norm0_bias = (const float *)call->array[ARRAY_sketch_g1_norm0_bias].at;
    const float *const sketch_g1_w0 = (const float *)call->array[ARRAY_sketch_g1_w0].at;
    const float *const sketch_g1_w1 = (const float *)call->array[ARRAY_sketch_g1_w1].at;
    const float *const sketch_g1_norm1_weight = (const float *)call->array[ARRAY_sketch_g1_norm1_weight].at;
    const float *const sketch_g1_norm1_bias = (const float *)call->array[ARRAY_sketch_g1_norm1_bias].at;
    const float *const sketch_g1_w2 = (const float *)call->array[ARRAY_sketch_g1_w2].at;
    const float *const sketch_g1_w3 = (const float *)call->array[ARRAY_sketch_g1_w3].at;
    const float *const sketch_g2_norm0_weight = (const float *)call->array[ARRAY_sketch_g2_norm0_weight].at;
    const float *const sketch_g2_norm0_bias = (const float *)call->array[ARRAY_sketch_g2_norm0_bias].at;
    const float *const sketch_g2_w0 = (const float *)call->array[ARRAY_sketch_g2_w0].at;
    const float *const sketch_g2_w1 = (const float *)call->array[ARRAY_sketch_g2_w1].at;
    const float *const sketch_g2_norm1_weight = (const float *)call->array[ARRAY_sketch_g2_norm1_weight].at;
    const float *const sketch_g2_norm1_bias = (const float *)call->array[ARRAY_sketch_g2_norm1_bias].at;
    const float *const sketch_g2_w2 = (const float *)call->array[ARRAY_sketch_g2_w2].at;
    const float *const sketch_g2_w3 = (const float *)call->array[ARRAY_sketch_g2_w3].at;
    float *const key_sum = (float *)(void *)(share->work + 0); /* [j: 64] */
    float *const key_sum_2 = (float *)(void *)(share->work + 256); /* [j: 64] */
    float *const key_sum_3 = (float *)(void *)(share->work + 0); /* [j: 64] */
    float *const key_sum_4 = (float *)(void *)(share->work + 256); /* [j: 64] */
    float *const key_3 = (float *)(void *)(share->work + 512); /* [d: 64, j: 64 of 80] */
    float *const key_w0 = (float *)(void *)(share->work + 20992); /* [h: 512, j: 64 of 80] */
    float *const key_4 = (float *)(void *)(share->work + 184832); /* [h: 192, j: 64 of 80] */
    float *const key_w1 = (float *)(void *)(share->work + 512); /* [r: 64, j: 64 of 80] */
    float *const key_sum_5 = (float *)(void *)(share->work + 0); /* [j: 64] */
    float *const key_sum_6 = (float *)(void *)(share->work + 20992); /* [j: 64] */
    float *const key_w2 = (float *)(void *)(share->work + 20992); /* [h: 512, j: 64 of 80] */
    float *const key_7 = (float *)(void *)(share->work + 184832); /* [h: 192, j: 64 of 80] */
    float *const key_w3 = (float *)(void *)(share->work + 512); /* [r: 64, j: 64 of 80] */
    float *const key_w0_2 = (float *)(void *)(share->work + 20992); /* [h: 512, j: 64 of 80] */
    float *const key_9 = (float *)(void *)(share->work + 184832); /* [h: 192, j: 64 of 80] */
    float *const key_w1_2 = (float *)(void *)(share->work + 246272); /* [r: 64, j: 64 of 80] */
    float *const key_sum_7 = (float *)(void *)(share->work + 0); /* [j: 64] */
    float *const key_sum_8 = (float *)(void *)(share->work + 256); /* [j: 64] */
    float *const key_w2_2 = (float *)(void *)(share->work + 20992); /* [h: 512, j: 64 of 80] */
    float *const key_12 = (float *)(void *)(share->work + 184832); /* [h: 192, j: 64 of 80] */
    float *const key_w3_2 = (float *)(void *)(share->work + 246272); /* [r: 64, j: 64 of 80] */
    float *const key_features_2 = (float *)(void *)(share->work + 20992); /* [f: 192, j: 64 of 80] */
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 2080] */
    float *const state = (float *)(void *)(share->slots + 8320); /* [chunk, f: 2080, e: 64] */
    float *const k_tile = (float *)(void *)(share->work + 246272); /* [d: 64, j: 64 of 80] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 2080; f += LANES) {
        T(store)(state_sum + (chunk - chunk0) * 135216 + f, T(splat)(0.0f));
    }
    /* state = 0.0f */
    for (int64_t f = 0; f < 2080; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(state + (chunk - chunk0) * 135216 + f * 64 + e, T(splat)(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 256, j_end = min(n_k, (chunk + 1) * 256); j0 < j_end; j0 += 64) {
        const int64_t j1 = min(j0 + 64, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 80, 64);
        /* key_sum = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum + j, T(splat)(0.0f));
        }
        /* key_sum += k_tile */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += OF(64, 16, 8)) {
            T(vec) key_sum_in[OF(4, 2, 2)];
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                key_sum_in[vector] = (T(vec)){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                    key_sum_in[vector] += T(load)(k_tile + d * 80 + j);
                }
            }
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                T(store)(key_sum + j, T(load)(key_sum + j) + key_sum_in[vector]);
            }
        }
        /* key_sum_2 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum_2 + j, T(splat)(0.0f));
        }
        /* k_tile = k_tile - (key_sum * 0.015625f); key_sum_2 += k_tile * k_tile */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) t_1 = T(load)(key_sum + j) * 0.015625f;
            T(vec) key_sum_2_in = (T(vec)){0};
            for (int64_t d = 0; d < 64; d++) {
                const T(vec) k_tile_0 = T(load)(k_tile + d * 80 + j);
                const T(vec) k_tile_new2 = k_tile_0 - t_1;
                T(store)(k_tile + d * 80 + j, k_tile_new2);
                key_sum_2_in += k_tile_new2 * k_tile_new2;
            }
            T(store)(key_sum_2 + j, T(load)(key_sum_2 + j) + key_sum_2_in);
        }
        /* key_sum_3 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum_3 + j, T(splat)(0.0f));
        }
        /* k_tile = k_tile * (1.0f / sqrt((key_sum_2 * 0.015625f) + 1e-05f)); key_sum_3 += k_tile */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) t_4 = 1.0f / T(sqrt)((T(load)(key_sum_2 + j) * 0.015625f) + 1e-05f);
            T(vec) key_sum_3_in = (T(vec)){0};
            for (int64_t d = 0; d < 64; d++) {
                const T(vec) k_tile_3 = T(load)(k_tile + d * 80 + j);
                const T(vec) k_tile_new5 = k_tile_3 * t_4;
                T(store)(k_tile + d * 80 + j, k_tile_new5);
                key_sum_3_in += k_tile_new5;
            }
            T(store)(key_sum_3 + j, T(load)(key_sum_3 + j) + key_sum_3_in);
        }
        /* key_sum_4 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum_4 + j, T(splat)(0.0f));
        }
        /* k_tile = k_tile - (key_sum_3 * 0.015625f); key_sum_4 += k_tile * k_tile */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) t_7 = T(load)(key_sum_3 + j) * 0.015625f;
            T(vec) key_sum_4_in = (T(vec)){0};
            for (int64_t d = 0; d < 64; d++) {
                const T(vec) k_tile_6 = T(load)(k_tile + d * 80 + j);
                const T(vec) k_tile_new8 = k_tile_6 - t_7;
                T(store)(k_tile + d * 80 + j, k_tile_new8);
                key_sum_4_in += k_tile_new8 * k_tile_new8;
            }
            T(store)(key_sum_4 + j, T(load)(key_sum_4 + j) + key_sum_4_in);
        }
        /* key_sum_4 = 1.0f / sqrt((key_sum_4 * 0.015625f) + 1e-05f) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum_4 + j, 1.0f / T(sqrt)((T(load)(key_sum_4 + j) * 0.015625f) + 1e-05f));
        }
        /* key_3 = ((k_tile * key_sum_4) * sketch.g1.norm0.weight) + sketch.g1.norm0.bias */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) key_sum_4_9 = T(load)(key_sum_4 + j);
            for (int64_t d = 0; d < 64; d++) {
                T(store)(key_3 + d * 80 + j, ((T(load)(k_tile + d * 80 + j) * key_sum_4_9) * sketch_g1_norm0_weight[d])
                    + sketch_g1_norm0_bias[d]);
            }
        }
        /* key_w0[h][j] = sum over d of sketch_g1_w0 * key_3 */
        T(dot7)(round_up(j1 - j0, LANES), sketch_g1_w0, key_3, key_w0);
        /* key_w1 = 0.0f */
        for (int64_t r = 0; r < 64; r++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(key_w1 + r * 80 + j, T(splat)(0.0f));
            }
        }
        for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
            const int64_t h1 = min(h0 + 192, h_end);
            /* key_4 = (key_w0 * 0.5f) * (tanh((key_w0 + (((key_w0 * key_w0) * key_w0) * 0.044715f)) * 0.7978846f) +
               1.0f) */
            for (int64_t h = h0; h < h1; h++) {
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(vec) key_w0_10 = T(load)(key_w0 + h * 80 + j);
                    T(store)(key_4 + (h - h0) * 80 + j, (key_w0_10 * 0.5f) * (T(tanh)((key_w0_10 + (((key_w0_10 *
                        key_w0_10) * key_w0_10) * 0.044715f)) * 0.7978846f) + 1.0f));
                }
            }
            /* key_w1[r][j] += sum over h of sketch_g1_w1 * key_4 */
            T(dot8)(round_up(j1 - j0, LANES), h1 - h0, sketch_g1_w1 + h0 * 64, key_4, key_w1);
        }
        /* key_sum_5 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum_5 + j, T(splat)(0.0f));
        }
        /* key_sum_5 += key_w1 */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += OF(64, 16, 8)) {
            T(vec) key_sum_5_in[OF(4, 2, 2)];
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                key_sum_5_in[vector] = (T(vec)){0};
            }
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                    key_sum_5_in[vector] += T(load)(key_w1 + r * 80 + j);
                }
            }
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                T(store)(key_sum_5 + j, T(load)(key_sum_5 + j) + key_sum_5_in[vector]);
            }
        }
        /* key_sum_6 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum_6 + j, T(splat)(0.0f));
        }
        /* key_w1 = key_w1 - (key_sum_5 * 0.015625f); key_sum_6 += key_w1 * key_w1 */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) t_12 = T(load)(key_sum_5 + j) * 0.015625f;
            T(vec) key_sum_6_in = (T(vec)){0};
            for (int64_t r = 0; r < 64; r++) {
                const T(vec) key_w1_11 = T(load)(key_w1 + r * 80 + j);
                const T(vec) key_w1_new13 = key_w1_11 - t_12;
                T(store)(key_w1 + r * 80 + j, key_w1_new13);
                key_sum_6_in += key_w1_new13 * key_w1_new13;
            }
            T(store)(key_sum_6 + j, T(load)(key_sum_6 + j) + key_sum_6_in);
        }
        /* key_w1 = ((key_w1 * (1.0f / sqrt((key_sum_6 * 0.015625f) + 1e-05f))) * sketch.g1.norm1.weight) +
           sketch.g1.norm1.bias */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) t_14 = 1.0f / T(sqrt)((T(load)(key_sum_6 + j) * 0.015625f) + 1e-05f);
            for (int64_t r = 0; r < 64; r++) {
                T(store)(key_w1 + r * 80 + j, ((T(load)(key_w1 + r * 80 + j) * t_14) * sketch_g1_norm1_weight[r]) +
                    sketch_g1_norm1_bias[r]);
            }
        }
        /* key_w2[h][j] = sum over r of sketch_g1_w2 * key_w1 */
        T(dot7)(round_up(j1 - j0, LANES), sketch_g1_w2, key_w1, key_w2);
        /* key_w3 = 0.0f */
        for (int64_t r = 0; r < 64; r++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(key_w3 + r * 80 + j, T(splat)(0.0f));
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* key_7 = (key_w2 * 0.5f) * (tanh((key_w2 + (((key_w2 * key_w2) * key_w2) * 0.044715f)) * 0.7978846f) +
                   1.0f) */
                for (int64_t h = h0; h < h1; h++) {
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(vec) key_w2_15 = T(load)(key_w2 + h * 80 + j);
                        T(store)(key_7 + (h - h0) * 80 + j, (key_w2_15 * 0.5f) * (T(tanh)((key_w2_15 + (((key_w2_15 *
                            key_w2_15) * key_w2_15) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* key_w3[r][j] += sum over h of sketch_g1_w3 * key_7 */
                T(dot8)(round_up(j1 - j0, LANES), h1 - h0, sketch_g1_w3 + h0 * 64, key_7, key_w3);
            }
        }
        /* k_tile = ((k_tile * key_sum_4) * sketch.g2.norm0.weight) + sketch.g2.norm0.bias */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) key_sum_4_16 = T(load)(key_sum_4 + j);
            for (int64_t d = 0; d < 64; d++) {
                T(store)(k_tile + d * 80 + j, ((T(load)(k_tile + d * 80 + j) * key_sum_4_16) *
                    sketch_g2_norm0_weight[d]) + sketch_g2_norm0_bias[d]);
            }
        }
        /* key_w0_2[h][j] = sum over d of sketch_g2_w0 * k_tile */
        T(dot7)(round_up(j1 - j0, LANES), sketch_g2_w0, k_tile, key_w0_2);
        /* key_w1_2 = 0.0f */
        for (int64_t r = 0; r < 64; r++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(key_w1_2 + r * 80 + j, T(splat)(0.0f));
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* key_9 = (key_w0_2 * 0.5f) * (tanh((key_w0_2 + (((key_w0_2 * key_w0_2) * key_w0_2) * 0.044715f)) *
                   0.7978846f) + 1.0f) */
                for (int64_t h = h0; h < h1; h++) {
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(vec) key_w0_2_17 = T(load)(key_w0_2 + h * 80 + j);
                        T(store)(key_9 + (h - h0) * 80 + j, (key_w0_2_17 * 0.5f) * (T(tanh)((key_w0_2_17 +
                            (((key_w0_2_17 * key_w0_2_17) * key_w0_2_17) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* key_w1_2[r][j] += sum over h of sketch_g2_w1 * key_9 */
                T(dot8)(round_up(j1 - j0, LANES), h1 - h0, sketch_g2_w1 + h0 * 64, key_9, key_w1_2);
            }
        }
        /* key_sum_7 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum_7 + j, T(splat)(0.0f));
        }
        /* key_sum_7 += key_w1_2 */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += OF(64, 16, 8)) {
            T(vec) key_sum_7_in[OF(4, 2, 2)];
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                key_sum_7_in[vector] = (T(vec)){0};
            }
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                    key_sum_7_in[vector] += T(load)(key_w1_2 + r * 80 + j);
                }
            }
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                T(store)(key_sum_7 + j, T(load)(key_sum_7 + j) + key_sum_7_in[vector]);
            }
        }
        /* key_sum_8 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum_8 + j, T(splat)(0.0f));
        }
        /* key_w1_2 = key_w1_2 - (key_sum_7 * 0.015625f); key_sum_8 += key_w1_2 * key_w1_2 */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) t_19 = T(load)(key_sum_7 + j) * 0.015625f;
            T(vec) key_sum_8_in = (T(vec)){0};
            for (int64_t r = 0; r < 64; r++) {
                const T(vec) key_w1_2_18 = T(load)(key_w1_2 + r * 80 + j);
                const T(vec) key_w1_2_new20 = key_w1_2_18 - t_19;
                T(store)(key_w1_2 + r * 80 + j, key_w1_2_new20);
                key_sum_8_in += key_w1_2_new20 * key_w1_2_new20;
            }
            T(store)(key_sum_8 + j, T(load)(key_sum_8 + j) + key_sum_8_in);
        }
        /* key_w1_2 = ((key_w1_2 * (1.0f / sqrt((key_sum_8 * 0.015625f) + 1e-05f))) * sketch.g2.norm1.weight) +
           sketch.g2.norm1.bias */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) t_21 = 1.0f / T(sqrt)((T(load)(key_sum_8 + j) * 0.015625f) + 1e-05f);
            for (int64_t r = 0; r < 64; r++) {
                T(store)(key_w1_2 + r * 80 + j, ((T(load)(key_w1_2 + r * 80 + j) * t_21) * sketch_g2_norm1_weight[r]) +
                    sketch_g2_norm1_bias[r]);
            }
        }
        /* key_w2_2[h][j] = sum over r of sketch_g2_w2 * key_w1_2 */
        T(dot7)(round_up(j1 - j0, LANES), sketch_g2_w2, key_w1_2, key_w2_2);
        /* key_w3_2 = 0.0f */
        for (int64_t r = 0; r < 64; r++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(key_w3_2 + r * 80 + j, T(splat)(0.0f));
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* key_12 = (key_w2_2 * 0.5f) * (tanh((key_w2_2 + (((key_w2_2 * key_w2_2) * key_w2_2) * 0.044715f)) *
                   0.7978846f) + 1.0f) */
                for (int64_t h = h0; h < h1; h++) {
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(vec) key_w2_2_22 = T(load)(key_w2_2 + h * 80 + j);
                        T(store)(key_12 + (h - h0) * 80 + j, (key_w2_2_22 * 0.5f) * (T(tanh)((key_w2_2_22 +
                            (((key_w2_2_22 * key_w2_2_22) * key_w2_2_22) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* key_w3_2[r][j] += sum over h of sketch_g2_w3 * key_12 */
                T(dot8)(round_up(j1 - j0, LANES), h1 - h0, sketch_g2_w3 + h0 * 64, key_12, key_w3_2);
            }
        }
        /* key_w3 = tanh((key_w3 * key_w3_2) * 0.125f) * 8.0f */
        for (int64_t r = 0; r < 64; r++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(key_w3 + r * 80 + j, T(tanh)((T(load)(key_w3 + r * 80 + j) * T(load)(key_w3_2 + r * 80 + j)) *
                    0.125f) * 8.0f);
            }
        }
        for (int64_t f0 = 0, f_end = 2080; f0 < f_end; f0 += 192) {
            const int64_t f1 = min(f0 + 192, f_end);
            /* key_features_2 = key_w3 * key_w3 */
            for (int64_t f = f0; f < f1; f++) {
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    T(store)(key_features_2 + (f - f0) * 80 + j, T(load)(key_w3 + (f % 64) * 80 + j) * T(load)(key_w3 +
                        (((f % 64) + (f / 64)) % 64) * 80 + j));
                }
            }
            /* state_sum += key_features_2 */
            for (int64_t f = f0; f < f1; f++) {
                T(vec) lane_sums = T(splat)(0);
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(vec) term = T(load)(key_features_2 + (f - f0) * 80 + j);
                    lane_sums += j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0,
                        T(mask)), term, T(splat)(0));
                }
                const float total = T(lane_sum)(lane_sums);
                state_sum[(chunk - chunk0) * 135216 + f] += total;
            }
            /* state[f][e] += sum over j of key_features_2 * v */
            T(dot9)(f1 - f0, j1 - j0, key_features_2, v + j0 * v_row, v_row,
                state + (chunk - chunk0) * 135216 + f0 * 64);
        }
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(polysketch_learned_r64_local_fold)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 2080);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 2080] */
    float *const state = (float *)(void *)(share->slots + 8320); /* [chunk, f: 2080, e: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 0); /* [f: 2080] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 540864); /* [f: 2080] */
    float *const carried = (float *)(void *)(share->shared + 8320); /* [f: 2080, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 549184); /* [f: 2080, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_sum = carried_sum; carried_sum += state_sum; state_sum = before_sum */
        for (int64_t f = f0; f < f1; f += LANES) {
            const T(vec) before_sum_new23 = T(load)(carried_sum + f);
            T(add)(carried_sum + f, carried_sum_compensation + f, T(load)(state_sum + (chunk - chunk0) * 135216 + f),
                T(splat)(1));
            T(store)(state_sum + (chunk - chunk0) * 135216 + f, before_sum_new23);
        }
        /* before = carried; carried += state; state = before */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    const T(vec) before_new24 = T(load)(carried + f * 64 + e);
                    T(add)(carried + f * 64 + e, carried_compensation + f * 64 + e,
                        T(load)(state + (chunk - chunk0) * 135216 + f * 64 + e), T(splat)(1));
                    T(store)(state + (chunk - chunk0) * 135216 + f * 64 + e, before_new24);
                }
            }
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
TARGET APART void T(polysketch_learned_r64_local_queries)(const struct call *call, int64_t task,
    const struct share *share, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = share->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const q = (const float *)call->array[ARRAY_q].at + b * call->array[ARRAY_q].strides.batch + g /
        call->sharing * members * call->array[ARRAY_q].strides.head;
    const int64_t q_row = call->array[ARRAY_q].strides.row;
    const int64_t q_head = call->array[ARRAY_q].strides.head;
    const float *const k = (const float *)call->array[ARRAY_k].at + b * call->array[ARRAY_k].strides.batch + g /
        call->sharing * call->array[ARRAY_k].strides.head;
    const int64_t k_row = call->array[ARRAY_k].strides.row;
    const float *const v = (const float *)call->array[ARRAY_v].at + b * call->array[ARRAY_v].strides.batch + g *
        call->array[ARRAY_v].strides.head;
    const int64_t v_row = call->array[ARRAY_v].strides.row;
    const float *const sketch_g1_norm0_weight = (const float *)call->array[ARRAY_sketch_g1_norm0_weight].at;
    const float *const sketch_g1_norm0_bias = (const float *)call->array[ARRAY_sketch_g1_norm0_bias].at;
    const float *const sketch_g1_w0 = (const float *)call->array[ARRAY_sketch_g1_w0].at;
    const float *const sketch_g1_w1 = (const float *)call->array[ARRAY_sketch_g1_w1].at;
    const float *const sketch_g1_norm1_weight = (const float *)call->array[ARRAY_sketch_g1_norm1_weight].at;
    const float *const sketch_g1_norm1_bias = (const float *)call->array[ARRAY_sketch_g1_norm1_bias].at;
    const float *const sketch_g1_w2 = (const float *)call->array[ARRAY_sketch_g1_w2].at;
    const float *const sketch_g1_w3 = (const float *)call->array[ARRAY_sketch_g1_w3].at;
    const float *const sketch_g2_norm0_weight = (const float *)call->array[ARRAY_sketch_g2_norm0_weight].at;
    const float *const sketch_g2_norm0_bias = (const float *)call->array[ARRAY_sketch_g2_norm0_bias].at;
    const float *const sketch_g2_w0 = (const float *)call->array[ARRAY_sketch_g2_w0].at;
    const float *const sketch_g2_w1 = (const float *)call->array[ARRAY_sketch_g2_w1].at;
    const float *const sketch_g2_norm1_weight = (const float *)call->array[ARRAY_sketch_g2_norm1_weight].at;
    const float *const sketch_g2_norm1_bias = (const float *)call->array[ARRAY_sketch_g2_norm1_bias].at;
    const float *const sketch_g2_w2 = (const float *)call->array[ARRAY_sketch_g2_w2].at;
    const float *const sketch_g2_w3 = (const float *)call->array[ARRAY_sketch_g2_w3].at;
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 2080] */
    float *const state = (float *)(void *)(share->slots + 8320); /* [chunk, f: 2080, e: 64] */
    float *const key_sum_9 = (float *)(void *)(share->work + 0); /* [j: 64] */
    float *const key_sum_10 = (float *)(void *)(share->work + 256); /* [j: 64] */
    float *const query_sum = (float *)(void *)(share->work + 0); /* [i: 64] */
    float *const query_sum_2 = (float *)(void *)(share->work + 256); /* [i: 64] */
    float *const query_sum_3 = (float *)(void *)(share->work + 0); /* [i: 64] */
    float *const query_2 = (float *)(void *)(share->work + 256); /* [d: 64, i: 64 of 80] */
    float *const query_sum_4 = (float *)(void *)(share->work + 20736); /* [i: 64] */
    float *const query_3 = (float *)(void *)(share->work + 20992); /* [d: 64, i: 64 of 80] */
    float *const query_w0 = (float *)(void *)(share->work + 41472); /* [h: 512, i: 64 of 80] */
    float *const query_4 = (float *)(void *)(share->work + 205312); /* [h: 192, i: 64 of 80] */
    float *const query_w1 = (float *)(void *)(share->work + 20992); /* [r: 64, i: 64 of 80] */
    float *const query_sum_5 = (float *)(void *)(share->work + 0); /* [i: 64] */
    float *const query_sum_6 = (float *)(void *)(share->work + 41472); /* [i: 64] */
    float *const query_w2 = (float *)(void *)(share->work + 41472); /* [h: 512, i: 64 of 80] */
    float *const query_7 = (float *)(void *)(share->work + 205312); /* [h: 192, i: 64 of 80] */
    float *const query_w3 = (float *)(void *)(share->work + 20992); /* [r: 64, i: 64 of 80] */
    float *const query_w0_2 = (float *)(void *)(share->work + 41472); /* [h: 512, i: 64 of 80] */
    float *const query_9 = (float *)(void *)(share->work + 205312); /* [h: 192, i: 64 of 80] */
    float *const query_w1_2 = (float *)(void *)(share->work + 0); /* [r: 64, i: 64 of 80] */
    float *const query_sum_7 = (float *)(void *)(share->work + 20480); /* [i: 64] */
    float *const query_sum_8 = (float *)(void *)(share->work + 20736); /* [i: 64] */
    float *const query_w2_2 = (float *)(void *)(share->work + 41472); /* [h: 512, i: 64 of 80] */
    float *const query_12 = (float *)(void *)(share->work + 205312); /* [h: 192, i: 64 of 80] */
    float *const query_w3_2 = (float *)(void *)(share->work + 0); /* [r: 64, i: 64 of 80] */
    float *const score = (float *)(void *)(share->work + 0); /* [j: 64, i: 64 of 80] */
    float *const query_14 = (float *)(void *)(share->work + 41472); /* [f: 192, i: 64 of 80] */
    float *const row_sum_from_state = (float *)(void *)(share->work + 20480); /* [i: 64] */
    float *const row_sum = (float *)(void *)(share->work + 20736); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(share->work + 102912); /* [i: 64] */
    float *const sum_from_state = (float *)(void *)(share->work + 103168); /* [e: 64, i: 64 of 80] */
    float *const sum = (float *)(void *)(share->work + 20992); /* [e: 64, i: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(share->work + 41472); /* [e: 64, i: 64 of 80] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g * members *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_head = call->array[ARRAY_out].strides.head;
    float *const q_tile = (float *)(void *)(share->work + 266752); /* [d: 64, i: 64 of 80] */
    float *const k_tile_2 = (float *)(void *)(share->work + 61952); /* [d: 64, j: 64 of 80] */
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 256) - query_start), i_end = min(n_q,
            ((chunk + 1) * 256) - query_start); i0 < i_end; i0 += 64) {
            const int64_t i1 = min(i0 + 64, i_end);
            /* q_tile = q, with zeros beyond the last row */
            T(transpose_padded)(q + m * q_head + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, 64);
            /* query_sum = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(query_sum + i, T(splat)(0.0f));
            }
            /* query_sum += q_tile */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
                T(vec) query_sum_in[OF(4, 2, 2)];
                UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                    query_sum_in[vector] = (T(vec)){0};
                }
                for (int64_t d = 0; d < 64; d++) {
                    UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                        query_sum_in[vector] += T(load)(q_tile + d * 80 + i);
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                    T(store)(query_sum + i, T(load)(query_sum + i) + query_sum_in[vector]);
                }
            }
            /* query_sum_2 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(query_sum_2 + i, T(splat)(0.0f));
            }
            /* q_tile = q_tile - (query_sum * 0.015625f); query_sum_2 += q_tile * q_tile */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) t_26 = T(load)(query_sum + i) * 0.015625f;
                T(vec) query_sum_2_in = (T(vec)){0};
                for (int64_t d = 0; d < 64; d++) {
                    const T(vec) q_tile_25 = T(load)(q_tile + d * 80 + i);
                    const T(vec) q_tile_new27 = q_tile_25 - t_26;
                    T(store)(q_tile + d * 80 + i, q_tile_new27);
                    query_sum_2_in += q_tile_new27 * q_tile_new27;
                }
                T(store)(query_sum_2 + i, T(load)(query_sum_2 + i) + query_sum_2_in);
            }
            /* query_sum_3 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(query_sum_3 + i, T(splat)(0.0f));
            }
            /* q_tile = q_tile * (1.0f / sqrt((query_sum_2 * 0.015625f) + 1e-05f)); query_sum_3 += q_tile */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) t_29 = 1.0f / T(sqrt)((T(load)(query_sum_2 + i) * 0.015625f) + 1e-05f);
                T(vec) query_sum_3_in = (T(vec)){0};
                for (int64_t d = 0; d < 64; d++) {
                    const T(vec) q_tile_28 = T(load)(q_tile + d * 80 + i);
                    const T(vec) q_tile_new30 = q_tile_28 * t_29;
                    T(store)(q_tile + d * 80 + i, q_tile_new30);
                    query_sum_3_in += q_tile_new30;
                }
                T(store)(query_sum_3 + i, T(load)(query_sum_3 + i) + query_sum_3_in);
            }
            /* query_sum_4 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(query_sum_4 + i, T(splat)(0.0f));
            }
            /* query_2 = q_tile - (query_sum_3 * 0.015625f); query_sum_4 += query_2 * query_2 */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) t_31 = T(load)(query_sum_3 + i) * 0.015625f;
                T(vec) query_sum_4_in = (T(vec)){0};
                for (int64_t d = 0; d < 64; d++) {
                    const T(vec) query_2_new32 = T(load)(q_tile + d * 80 + i) - t_31;
                    T(store)(query_2 + d * 80 + i, query_2_new32);
                    query_sum_4_in += query_2_new32 * query_2_new32;
                }
                T(store)(query_sum_4 + i, T(load)(query_sum_4 + i) + query_sum_4_in);
            }
            /* query_sum_4 = 1.0f / sqrt((query_sum_4 * 0.015625f) + 1e-05f) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(query_sum_4 + i, 1.0f / T(sqrt)((T(load)(query_sum_4 + i) * 0.015625f) + 1e-05f));
            }
            /* query_3 = ((query_2 * query_sum_4) * sketch.g1.norm0.weight) + sketch.g1.norm0.bias */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) query_sum_4_33 = T(load)(query_sum_4 + i);
                for (int64_t d = 0; d < 64; d++) {
                    T(store)(query_3 + d * 80 + i, ((T(load)(query_2 + d * 80 + i) * query_sum_4_33) *
                        sketch_g1_norm0_weight[d]) + sketch_g1_norm0_bias[d]);
                }
            }
            /* query_w0[h][i] = sum over d of sketch_g1_w0 * query_3 */
            T(dot7)(round_up(i1 - i0, LANES), sketch_g1_w0, query_3, query_w0);
            /* query_w1 = 0.0f */
            for (int64_t r = 0; r < 64; r++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(query_w1 + r * 80 + i, T(splat)(0.0f));
                }
            }
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* query_4 = (query_w0 * 0.5f) * (tanh((query_w0 + (((query_w0 * query_w0) * query_w0) * 0.044715f)) *
                   0.7978846f) + 1.0f) */
                for (int64_t h = h0; h < h1; h++) {
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(vec) query_w0_34 = T(load)(query_w0 + h * 80 + i);
                        T(store)(query_4 + (h - h0) * 80 + i, (query_w0_34 * 0.5f) * (T(tanh)((query_w0_34 +
                            (((query_w0_34 * query_w0_34) * query_w0_34) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* query_w1[r][i] += sum over h of sketch_g1_w1 * query_4 */
                T(dot8)(round_up(i1 - i0, LANES), h1 - h0, sketch_g1_w1 + h0 * 64, query_4, query_w1);
            }
            /* query_sum_5 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(query_sum_5 + i, T(splat)(0.0f));
            }
            /* query_sum_5 += query_w1 */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
                T(vec) query_sum_5_in[OF(4, 2, 2)];
                UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                    query_sum_5_in[vector] = (T(vec)){0};
                }
                for (int64_t r = 0; r < 64; r++) {
                    UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                        query_sum_5_in[vector] += T(load)(query_w1 + r * 80 + i);
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                    T(store)(query_sum_5 + i, T(load)(query_sum_5 + i) + query_sum_5_in[vector]);
                }
            }
            /* query_sum_6 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(query_sum_6 + i, T(splat)(0.0f));
            }
            /* query_w1 = query_w1 - (query_sum_5 * 0.015625f); query_sum_6 += query_w1 * query_w1 */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) t_36 = T(load)(query_sum_5 + i) * 0.015625f;
                T(vec) query_sum_6_in = (T(vec)){0};
                for (int64_t r = 0; r < 64; r++) {
                    const T(vec) query_w1_35 = T(load)(query_w1 + r * 80 + i);
                    const T(vec) query_w1_new37 = query_w1_35 - t_36;
                    T(store)(query_w1 + r * 80 + i, query_w1_new37);
                    query_sum_6_in += query_w1_new37 * query_w1_new37;
                }
                T(store)(query_sum_6 + i, T(load)(query_sum_6 + i) + query_sum_6_in);
            }
            /* query_w1 = ((query_w1 * (1.0f / sqrt((query_sum_6 * 0.015625f) + 1e-05f))) * sketch.g1.norm1.weight) +
               sketch.g1.norm1.bias */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) t_38 = 1.0f / T(sqrt)((T(load)(query_sum_6 + i) * 0.015625f) + 1e-05f);
                for (int64_t r = 0; r < 64; r++) {
                    T(store)(query_w1 + r * 80 + i, ((T(load)(query_w1 + r * 80 + i) * t_38) *
                        sketch_g1_norm1_weight[r]) + sketch_g1_norm1_bias[r]);
                }
            }
            /* query_w2[h][i] = sum over r of sketch_g1_w2 * query_w1 */
            T(dot7)(round_up(i1 - i0, LANES), sketch_g1_w2, query_w1, query_w2);
            /* query_w3 = 0.0f */
            for (int64_t r = 0; r < 64; r++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(query_w3 + r * 80 + i, T(splat)(0.0f));
                }
            }
            {
                for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                    const int64_t h1 = min(h0 + 192, h_end);
                    /* query_7 = (query_w2 * 0.5f) * (tanh((query_w2 + (((query_w2 * query_w2) * query_w2) * 0.044715f))
                       * 0.7978846f) + 1.0f) */
                    for (int64_t h = h0; h < h1; h++) {
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(vec) query_w2_39 = T(load)(query_w2 + h * 80 + i);
                            T(store)(query_7 + (h - h0) * 80 + i, (query_w2_39 * 0.5f) * (T(tanh)((query_w2_39 +
                                (((query_w2_39 * query_w2_39) * query_w2_39) * 0.044715f)) * 0.7978846f) + 1.0f));
                        }
                    }
                    /* query_w3[r][i] += sum over h of sketch_g1_w3 * query_7 */
                    T(dot8)(round_up(i1 - i0, LANES), h1 - h0, sketch_g1_w3 + h0 * 64, query_7, query_w3);
                }
            }
            /* query_2 = ((query_2 * query_sum_4) * sketch.g2.norm0.weight) + sketch.g2.norm0.bias */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) query_sum_4_40 = T(load)(query_sum_4 + i);
                for (int64_t d = 0; d < 64; d++) {
                    T(store)(query_2 + d * 80 + i, ((T(load)(query_2 + d * 80 + i) * query_sum_4_40) *
                        sketch_g2_norm0_weight[d]) + sketch_g2_norm0_bias[d]);
                }
            }
            /* query_w0_2[h][i] = sum over d of sketch_g2_w0 * query_2 */
            T(dot7)(round_up(i1 - i0, LANES), sketch_g2_w0, query_2, query_w0_2);
            /* query_w1_2 = 0.0f */
            for (int64_t r = 0; r < 64; r++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(query_w1_2 + r * 80 + i, T(splat)(0.0f));
                }
            }
            {
                for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                    const int64_t h1 = min(h0 + 192, h_end);
                    /* query_9 = (query_w0_2 * 0.5f) * (tanh((query_w0_2 + (((query_w0_2 * query_w0_2) * query_w0_2) *
                       0.044715f)) * 0.7978846f) + 1.0f) */
                    for (int64_t h = h0; h < h1; h++) {
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(vec) query_w0_2_41 = T(load)(query_w0_2 + h * 80 + i);
                            T(store)(query_9 + (h - h0) * 80 + i, (query_w0_2_41 * 0.5f) * (T(tanh)((query_w0_2_41 +
                                (((query_w0_2_41 * query_w0_2_41) * query_w0_2_41) * 0.044715f)) * 0.7978846f) + 1.0f));
                        }
                    }
                    /* query_w1_2[r][i] += sum over h of sketch_g2_w1 * query_9 */
                    T(dot8)(round_up(i1 - i0, LANES), h1 - h0, sketch_g2_w1 + h0 * 64, query_9, query_w1_2);
                }
            }
            /* query_sum_7 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(query_sum_7 + i, T(splat)(0.0f));
            }
            /* query_sum_7 += query_w1_2 */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
                T(vec) query_sum_7_in[OF(4, 2, 2)];
                UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                    query_sum_7_in[vector] = (T(vec)){0};
                }
                for (int64_t r = 0; r < 64; r++) {
                    UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                        query_sum_7_in[vector] += T(load)(query_w1_2 + r * 80 + i);
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                    T(store)(query_sum_7 + i, T(load)(query_sum_7 + i) + query_sum_7_in[vector]);
                }
            }
            /* query_sum_8 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(query_sum_8 + i, T(splat)(0.0f));
            }
            /* query_w1_2 = query_w1_2 - (query_sum_7 * 0.015625f); query_sum_8 += query_w1_2 * query_w1_2 */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) t_43 = T(load)(query_sum_7 + i) * 0.015625f;
                T(vec) query_sum_8_in = (T(vec)){0};
                for (int64_t r = 0; r < 64; r++) {
                    const T(vec) query_w1_2_42 = T(load)(query_w1_2 + r * 80 + i);
                    const T(vec) query_w1_2_new44 = query_w1_2_42 - t_43;
                    T(store)(query_w1_2 + r * 80 + i, query_w1_2_new44);
                    query_sum_8_in += query_w1_2_new44 * query_w1_2_new44;
                }
                T(store)(query_sum_8 + i, T(load)(query_sum_8 + i) + query_sum_8_in);
            }
            /* query_w1_2 = ((query_w1_2 * (1.0f / sqrt((query_sum_8 * 0.015625f) + 1e-05f))) * sketch.g2.norm1.weight)
               + sketch.g2.norm1.bias */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) t_45 = 1.0f / T(sqrt)((T(load)(query_sum_8 + i) * 0.015625f) + 1e-05f);
                for (int64_t r = 0; r < 64; r++) {
                    T(store)(query_w1_2 + r * 80 + i, ((T(load)(query_w1_2 + r * 80 + i) * t_45) *
                        sketch_g2_norm1_weight[r]) + sketch_g2_norm1_bias[r]);
                }
            }
            /* query_w2_2[h][i] = sum over r of sketch_g2_w2 * query_w1_2 */
            T(dot7)(round_up(i1 - i0, LANES), sketch_g2_w2, query_w1_2, query_w2_2);
            /* query_w3_2 = 0.0f */
            for (int64_t r = 0; r < 64; r++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(query_w3_2 + r * 80 + i, T(splat)(0.0f));
                }
            }
            {
                for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                    const int64_t h1 = min(h0 + 192, h_end);
                    /* query_12 = (query_w2_2 * 0.5f) * (tanh((query_w2_2 + (((query_w2_2 * query_w2_2) * query_w2_2) *
                       0.044715f)) * 0.7978846f) + 1.0f) */
                    for (int64_t h = h0; h < h1; h++) {
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(vec) query_w2_2_46 = T(load)(query_w2_2 + h * 80 + i);
                            T(store)(query_12 + (h - h0) * 80 + i, (query_w2_2_46 * 0.5f) * (T(tanh)((query_w2_2_46 +
                                (((query_w2_2_46 * query_w2_2_46) * query_w2_2_46) * 0.044715f)) * 0.7978846f) + 1.0f));
                        }
                    }
                    /* query_w3_2[r][i] += sum over h of sketch_g2_w3 * query_12 */
                    T(dot8)(round_up(i1 - i0, LANES), h1 - h0, sketch_g2_w3 + h0 * 64, query_12, query_w3_2);
                }
            }
            /* query_w3 = tanh((query_w3 * query_w3_2) * 0.125f) * 8.0f */
            for (int64_t r = 0; r < 64; r++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(query_w3 + r * 80 + i, T(tanh)((T(load)(query_w3 + r * 80 + i) * T(load)(query_w3_2 + r *
                        80 + i)) * 0.125f) * 8.0f);
                }
            }
            /* row_sum_from_state = 0.0f; row_sum = 0.0f; row_sum_compensation = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(row_sum_from_state + i, T(splat)(0.0f));
                T(store)(row_sum + i, T(splat)(0.0f));
                T(store)(row_sum_compensation + i, T(splat)(0.0f));
            }
            /* sum_from_state = 0.0f */
            for (int64_t e = 0; e < 64; e++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(sum_from_state + e * 80 + i, T(splat)(0.0f));
                }
            }
            for (int64_t f0 = 0, f_end = 2080; f0 < f_end; f0 += 192) {
                const int64_t f1 = min(f0 + 192, f_end);
                /* query_14 = (query_w3 * query_w3) * select((f / 64) == 0, 1.0f, 2.0f);
                   row_sum_from_state += query_14 * state_sum */
                for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
                    T(vec) row_sum_from_state_in[OF(4, 2, 2)], row_sum_from_state_in_whole[OF(4, 2, 2)];
                    UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                        row_sum_from_state_in[vector] = (T(vec)){0};
                        row_sum_from_state_in_whole[vector] = (T(vec)){0};
                    }
                    for (int64_t f = f0; f < f1; f++) {
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            const T(vec) query_14_new47 = (T(load)(query_w3 + (f % 64) * 80 + i) * T(load)(query_w3 +
                                (((f % 64) + (f / 64)) % 64) * 80 + i)) * (float)(((f / 64) == 0) ? 1.0 : 2.0);
                            T(store)(query_14 + (f - f0) * 80 + i, query_14_new47);
                            row_sum_from_state_in[vector] += query_14_new47 * (state_sum[(chunk - chunk0) * 135216 +
                                f]);
                            if (f % 192 == 191) {
                                row_sum_from_state_in_whole[vector] += row_sum_from_state_in[vector];
                                row_sum_from_state_in[vector] = (T(vec)){0};
                            }
                        }
                    }
                    UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                        row_sum_from_state_in[vector] += row_sum_from_state_in_whole[vector];
                        T(store)(row_sum_from_state + i, T(load)(row_sum_from_state + i) +
                            row_sum_from_state_in[vector]);
                    }
                }
                /* sum_from_state[e][i] += sum over f of state * query_14 */
                T(dot8)(round_up(i1 - i0, LANES), f1 - f0, state + (chunk - chunk0) * 135216 + f0 * 64, query_14,
                    sum_from_state);
            }
            /* sum = 0.0f; sum_compensation = 0.0f */
            for (int64_t e = 0; e < 64; e++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(sum + e * 80 + i, T(splat)(0.0f));
                    T(store)(sum_compensation + e * 80 + i, T(splat)(0.0f));
                }
            }
            for (int64_t j0 = max(0, chunk * 256), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 64) {
                const int64_t j1 = min(j0 + 64, j_end);
                /* k_tile_2 = k, with zeros beyond the last row */
                T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile_2, 80, 64);
                /* key_sum_9 = 0.0f */
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    T(store)(key_sum_9 + j, T(splat)(0.0f));
                }
                /* key_sum_9 += k_tile_2 */
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += OF(64, 16, 8)) {
                    T(vec) key_sum_9_in[OF(4, 2, 2)];
                    UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                        key_sum_9_in[vector] = (T(vec)){0};
                    }
                    for (int64_t d = 0; d < 64; d++) {
                        UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                            key_sum_9_in[vector] += T(load)(k_tile_2 + d * 80 + j);
                        }
                    }
                    UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                        T(store)(key_sum_9 + j, T(load)(key_sum_9 + j) + key_sum_9_in[vector]);
                    }
                }
                /* key_sum_10 = 0.0f */
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    T(store)(key_sum_10 + j, T(splat)(0.0f));
                }
                /* k_tile_2 = k_tile_2 - (key_sum_9 * 0.015625f); key_sum_10 += k_tile_2 * k_tile_2 */
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(vec) t_49 = T(load)(key_sum_9 + j) * 0.015625f;
                    T(vec) key_sum_10_in = (T(vec)){0};
                    for (int64_t d = 0; d < 64; d++) {
                        const T(vec) k_tile_2_48 = T(load)(k_tile_2 + d * 80 + j);
                        const T(vec) k_tile_2_new50 = k_tile_2_48 - t_49;
                        T(store)(k_tile_2 + d * 80 + j, k_tile_2_new50);
                        key_sum_10_in += k_tile_2_new50 * k_tile_2_new50;
                    }
                    T(store)(key_sum_10 + j, T(load)(key_sum_10 + j) + key_sum_10_in);
                }
                /* k_tile_2 = k_tile_2 * (1.0f / sqrt((key_sum_10 * 0.015625f) + 1e-05f)) */
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(vec) t_51 = 1.0f / T(sqrt)((T(load)(key_sum_10 + j) * 0.015625f) + 1e-05f);
                    for (int64_t d = 0; d < 64; d++) {
                        T(store)(k_tile_2 + d * 80 + j, T(load)(k_tile_2 + d * 80 + j) * t_51);
                    }
                }
                /* score[j][i] = sum over d of k_tile_2 * q_tile */
                T(dot10)(round_up(i1 - i0, LANES), j1 - j0, k_tile_2, q_tile, score);
                if ((j0 < (chunk * 256)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                    /* score = select((j <= (i + query_start)) && ((chunk * 256) <= j),
                       (score * score) * (score * score), 0.0f); row_sum += score */
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(ints) t_52 = (i0 + i + T(lane)) + query_start;
                        T(vec) row_sum_in = (T(vec)){0};
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            const T(vec) score_53 = T(load)(score + j * 80 + i);
                            const T(vec) t_54 = score_53 * score_53;
                            const T(vec) score_new55 = T(pick)(__builtin_convertvector(((j0 + j) <= t_52) &
                                (-(int64_t)((chunk * 256) <= (j0 + j))), T(mask)), t_54 * t_54, T(splat)(0.0f));
                            T(store)(score + j * 80 + i, score_new55);
                            row_sum_in += score_new55;
                        }
                        T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
                    }
                }
                if (!((j0 < (chunk * 256)) || ((i0 + query_start + 1) < j1))) { /* the tile is wholly inside the mask */
                    /* score = (score * score) * (score * score); row_sum += score */
                    for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
                        T(vec) row_sum_in[OF(4, 2, 2)];
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            row_sum_in[vector] = (T(vec)){0};
                        }
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                                const T(vec) score_56 = T(load)(score + j * 80 + i);
                                const T(vec) t_57 = score_56 * score_56;
                                const T(vec) score_new58 = t_57 * t_57;
                                T(store)(score + j * 80 + i, score_new58);
                                row_sum_in[vector] += score_new58;
                            }
                        }
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            T(add)(row_sum + i, row_sum_compensation + i, row_sum_in[vector], T(splat)(1));
                        }
                    }
                }
                /* sum[e][i] += sum over j of v * score */
                if (__builtin_expect(((j0 < (chunk * 256)) || ((i0 + query_start + 1) < j1)) && !T(finite)(v + j0 *
                    v_row, v_row, j1 - j0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                    T(dot11)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(mask) in_region[OF(4, 8, 16)] = {0};
                        if (T(finite)(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                        const int t_59 = (chunk * 256) <= (j0 + j);
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            in_region[i / LANES] = __builtin_convertvector(((j0 + j) <= ((i0 + i + T(lane)) +
                                query_start)) & (-(int64_t)t_59), T(mask));
                        }
                        T(add_seen)(64, sum, 80, v + j0 * v_row + j * v_row, 1, score + j * 80, in_region, i1 - i0);
                    }
                } else
                    T(dot12)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
            }
            /* sum = select(((row_sum + row_sum_from_state) + 1.0f) == 0.0f, 0.0f,
               (sum + sum_from_state) / ((row_sum + row_sum_from_state) + 1 ... */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) t_60 = (T(load)(row_sum + i) + T(load)(row_sum_from_state + i)) + 1.0f;
                const T(mask) t_61 = t_60 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    T(store)(sum + e * 80 + i, T(pick)(t_61, T(splat)(0.0f),
                        (T(load)(sum + e * 80 + i) + T(load)(sum_from_state + e * 80 + i)) / t_60));
                }
            }
            /* out = sum, transposed back */
            T(transpose_out)(sum, 80, 64, i1 - i0, out + m * out_head + i0 * out_row, out_row, 64);
        }
    }
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(polysketch_learned_r64_local_linear)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 256 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((2080 + 31) / 32); iteration += share->threads)
        T(polysketch_learned_r64_local_begin)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(polysketch_learned_r64_local_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((2080 + 31) / 32) / 16;
            for (int64_t iteration = group * ((2080 + 31) / 32) / 16; iteration < end; iteration++)
                T(polysketch_learned_r64_local_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(polysketch_learned_r64_local_queries)(call, task, share, iteration);
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(polysketch_learned_r64_local_few_begin)(const struct call *call, int64_t task,
    const struct share *share, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r_q0 = iteration * 64, r_q1 = min(r_q0 + 64, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const q = (const float *)call->array[ARRAY_q].at + b * call->array[ARRAY_q].strides.batch + g /
        call->sharing * members * call->array[ARRAY_q].strides.head;
    const int64_t q_row = call->array[ARRAY_q].strides.row;
    const int64_t q_head = call->array[ARRAY_q].strides.head;
    const float *const sketch_g1_norm0_weight = (const float *)call->array[ARRAY_sketch_g1_norm0_weight].at;
    const float *const sketch_g1_norm0_bias = (const float *)call->array[ARRAY_sketch_g1_norm0_bias].at;
    const float *const sketch_g1_w0 = (const float *)call->array[ARRAY_sketch_g1_w0].at;
    const float *const sketch_g1_w1 = (const float *)call->array[ARRAY_sketch_g1_w1].at;
    const float *const sketch_g1_norm1_weight = (const float *)call->array[ARRAY_sketch_g1_norm1_weight].at;
    const float *const sketch_g1_norm1_bias = (const float *)call->array[ARRAY_sketch_g1_norm1_bias].at;
    const float *const sketch_g1_w2 = (const float *)call->array[ARRAY_sketch_g1_w2].at;
    const float *const sketch_g1_w3 = (const float *)call->array[ARRAY_sketch_g1_w3].at;
    const float *const sketch_g2_norm0_weight = (const float *)call->array[ARRAY_sketch_g2_norm0_weight].at;
    const float *const sketch_g2_norm0_bias = (const float *)call->array[ARRAY_sketch_g2_norm0_bias].at;
    const float *const sketch_g2_w0 = (const float *)call->array[ARRAY_sketch_g2_w0].at;
    const float *const sketch_g2_w1 = (const float *)call->array[ARRAY_sketch_g2_w1].at;
    const float *const sketch_g2_norm1_weight = (const float *)call->array[ARRAY_sketch_g2_norm1_weight].at;
    const float *const sketch_g2_norm1_bias = (const float *)call->array[ARRAY_sketch_g2_norm1_bias].at;
    const float *const sketch_g2_w2 = (const float *)call->array[ARRAY_sketch_g2_w2].at;
    const float *const sketch_g2_w3 = (const float *)call->array[ARRAY_sketch_g2_w3].at;
    float *const query_sum = (float *)(void *)(share->shared + 0); /* [r_q: 64] */
    float *const query = (float *)(void *)(share->shared + 256); /* [d: 64, r_q: 64] */
    float *const query_sum_2 = (float *)(void *)(share->shared + 16704); /* [r_q: 64] */
    float *const query_2 = (float *)(void *)(share->shared + 16960); /* [d: 64, r_q: 64] */
    float *const query_sum_3 = (float *)(void *)(share->shared + 33408); /* [r_q: 64] */
    float *const query_3 = (float *)(void *)(share->shared + 33664); /* [d: 64, r_q: 64] */
    float *const query_sum_4 = (float *)(void *)(share->shared + 50112); /* [r_q: 64] */
    float *const query_4 = (float *)(void *)(share->shared + 50368); /* [r_q: 64] */
    float *const query_5 = (float *)(void *)(share->shared + 50624); /* [d: 64, r_q: 64] */
    float *const query_w0 = (float *)(void *)(share->shared + 67072); /* [h: 512, r_q: 64] */
    float *const query_6 = (float *)(void *)(share->shared + 198208); /* [h: 512, r_q: 64] */
    float *const query_w1 = (float *)(void *)(share->shared + 329344); /* [r: 64, r_q: 64] */
    float *const query_sum_5 = (float *)(void *)(share->shared + 345792); /* [r_q: 64] */
    float *const query_7 = (float *)(void *)(share->shared + 346048); /* [r: 64, r_q: 64] */
    float *const query_sum_6 = (float *)(void *)(share->shared + 362496); /* [r_q: 64] */
    float *const query_8 = (float *)(void *)(share->shared + 362752); /* [r: 64, r_q: 64] */
    float *const query_w2 = (float *)(void *)(share->shared + 379200); /* [h: 512, r_q: 64] */
    float *const query_9 = (float *)(void *)(share->shared + 510336); /* [h: 512, r_q: 64] */
    float *const query_w3 = (float *)(void *)(share->shared + 641472); /* [r: 64, r_q: 64] */
    float *const query_10 = (float *)(void *)(share->shared + 657920); /* [d: 64, r_q: 64] */
    float *const query_w0_2 = (float *)(void *)(share->shared + 674368); /* [h: 512, r_q: 64] */
    float *const query_11 = (float *)(void *)(share->shared + 805504); /* [h: 512, r_q: 64] */
    float *const query_w1_2 = (float *)(void *)(share->shared + 936640); /* [r: 64, r_q: 64] */
    float *const query_sum_7 = (float *)(void *)(share->shared + 953088); /* [r_q: 64] */
    float *const query_12 = (float *)(void *)(share->shared + 953344); /* [r: 64, r_q: 64] */
    float *const query_sum_8 = (float *)(void *)(share->shared + 969792); /* [r_q: 64] */
    float *const query_13 = (float *)(void *)(share->shared + 970048); /* [r: 64, r_q: 64] */
    float *const query_w2_2 = (float *)(void *)(share->shared + 986496); /* [h: 512, r_q: 64] */
    float *const query_14 = (float *)(void *)(share->shared + 1117632); /* [h: 512, r_q: 64] */
    float *const query_w3_2 = (float *)(void *)(share->shared + 1248768); /* [r: 64, r_q: 64] */
    float *const query_15 = (float *)(void *)(share->shared + 1265216); /* [r: 64, r_q: 64] */
    float *const q_tile = (float *)(void *)(share->work + 0); /* [d: 64, r_q: 64 of 80] */
    /* q_tile = q, with zeros beyond the last row */
    for (int64_t r_q = r_q0; r_q < r_q0 + round_up(r_q1 - r_q0, LANES); r_q++)
        for (int64_t d = 0; d < 64; d++)
            q_tile[d * 80 + r_q] = r_q < r_q1 ? q[r_q / n_q * q_head + r_q % n_q * q_row + d] : 0;
    /* query_sum = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += LANES) {
        T(store)(query_sum + r_q, T(splat)(0.0f));
    }
    /* query_sum += q_tile */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += LANES) {
        T(vec) query_sum_in = (T(vec)){0};
        for (int64_t d = 0; d < 64; d++) {
            query_sum_in += T(load)(q_tile + d * 80 + r_q);
        }
        T(store)(query_sum + r_q, T(load)(query_sum + r_q) + query_sum_in);
    }
    /* query_sum_2 = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += LANES) {
        T(store)(query_sum_2 + r_q, T(splat)(0.0f));
    }
    /* query = q_tile - (query_sum * 0.015625f); query_sum_2 += query * query */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += LANES) {
        const T(vec) t_0 = T(load)(query_sum + r_q) * 0.015625f;
        T(vec) query_sum_2_in = (T(vec)){0};
        for (int64_t d = 0; d < 64; d++) {
            const T(vec) query_new1 = T(load)(q_tile + d * 80 + r_q) - t_0;
            T(store)(query + d * 64 + r_q, query_new1);
            query_sum_2_in += query_new1 * query_new1;
        }
        T(store)(query_sum_2 + r_q, T(load)(query_sum_2 + r_q) + query_sum_2_in);
    }
    /* query_sum_3 = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += LANES) {
        T(store)(query_sum_3 + r_q, T(splat)(0.0f));
    }
    /* query_2 = query * (1.0f / sqrt((query_sum_2 * 0.015625f) + 1e-05f)); query_sum_3 += query_2 */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += LANES) {
        const T(vec) t_2 = 1.0f / T(sqrt)((T(load)(query_sum_2 + r_q) * 0.015625f) + 1e-05f);
        T(vec) query_sum_3_in = (T(vec)){0};
        for (int64_t d = 0; d < 64; d++) {
            const T(vec) query_2_new3 = T(load)(query + d * 64 + r_q) * t_2;
            T(store)(query_2 + d * 64 + r_q, query_2_new3);
            query_sum_3_in += query_2_new3;
        }
        T(store)(query_sum_3 + r_q, T(load)(query_sum_3 + r_q) + query_sum_3_in);
    }
    /* query_sum_4 = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += LANES) {
        T(store)(query_sum_4 + r_q, T(splat)(0.0f));
    }
    /* query_3 = query_2 - (query_sum_3 * 0.015625f); query_sum_4 += query_3 * query_3 */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += LANES) {
        const T(vec) t_4 = T(load)(query_sum_3 + r_q) * 0.015625f;
        T(vec) query_sum_4_in = (T(vec)){0};
        for (int64_t d = 0; d < 64; d++) {
            const T(vec) query_3_new5 = T(load)(query_2 + d * 64 + r_q) - t_4;
            T(store)(query_3 + d * 64 + r_q, query_3_new5);
            query_sum_4_in += query_3_new5 * query_3_new5;
        }
        T(store)(query_sum_4 + r_q, T(load)(query_sum_4 + r_q) + query_sum_4_in);
    }
    /* query_4 = 1.0f / sqrt((query_sum_4 * 0.015625f) + 1e-05f) */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += LANES) {
        T(store)(query_4 + r_q, 1.0f / T(sqrt)((T(load)(query_sum_4 + r_q) * 0.015625f) + 1e-05f));
    }
    /* query_5 = ((query_3 * query_4) * sketch.g1.norm0.weight) + sketch.g1.norm0.bias */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += LANES) {
        const T(vec) query_4_6 = T(load)(query_4 + r_q);
        for (int64_t d = 0; d < 64; d++) {
            T(store)(query_5 + d * 64 + r_q, ((T(load)(query_3 + d * 64 + r_q) * query_4_6) * sketch_g1_norm0_weight[d])
                + sketch_g1_norm0_bias[d]);
        }
    }
    /* query_w0[h][r_q] = sum over d of sketch_g1_w0 * query_5 */
    T(dot13)(round_up(r_q1 - r_q0, LANES), sketch_g1_w0, query_5 + r_q0, query_w0 + r_q0);
    /* query_6 = (query_w0 * 0.5f) * (tanh((query_w0 + (((query_w0 * query_w0) * query_w0) * 0.044715f)) * 0.7978846f) +
       1.0f) */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += LANES) {
        for (int64_t h = 0; h < 512; h++) {
            const T(vec) query_w0_7 = T(load)(query_w0 + h * 64 + r_q);
            T(store)(query_6 + h * 64 + r_q, (query_w0_7 * 0.5f) * (T(tanh)((query_w0_7 + (((query_w0_7 * query_w0_7) *
                query_w0_7) * 0.044715f)) * 0.7978846f) + 1.0f));
        }
    }
    /* query_w1[r][r_q] = sum over h of sketch_g1_w1 * query_6 */
    T(dot14)(round_up(r_q1 - r_q0, LANES), sketch_g1_w1, query_6 + r_q0, query_w1 + r_q0);
    /* query_sum_5 = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += LANES) {
        T(store)(query_sum_5 + r_q, T(splat)(0.0f));
    }
    /* query_sum_5 += query_w1 */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += LANES) {
        T(vec) query_sum_5_in = (T(vec)){0};
        for (int64_t r = 0; r < 64; r++) {
            query_sum_5_in += T(load)(query_w1 + r * 64 + r_q);
        }
        T(store)(query_sum_5 + r_q, T(load)(query_sum_5 + r_q) + query_sum_5_in);
    }
    /* query_sum_6 = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += LANES) {
        T(store)(query_sum_6 + r_q, T(splat)(0.0f));
    }
    /* query_7 = query_w1 - (query_sum_5 * 0.015625f); query_sum_6 += query_7 * query_7 */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += LANES) {
        const T(vec) t_8 = T(load)(query_sum_5 + r_q) * 0.015625f;
        T(vec) query_sum_6_in = (T(vec)){0};
        for (int64_t r = 0; r < 64; r++) {
            const T(vec) query_7_new9 = T(load)(query_w1 + r * 64 + r_q) - t_8;
            T(store)(query_7 + r * 64 + r_q, query_7_new9);
            query_sum_6_in += query_7_new9 * query_7_new9;
        }
        T(store)(query_sum_6 + r_q, T(load)(query_sum_6 + r_q) + query_sum_6_in);
    }
    /* query_8 = ((query_7 * (1.0f / sqrt((query_sum_6 * 0.015625f) + 1e-05f))) * sketch.g1.norm1.weight) +
       sketch.g1.norm1.bias */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += LANES) {
        const T(vec) t_10 = 1.0f / T(sqrt)((T(load)(query_sum_6 + r_q) * 0.015625f) + 1e-05f);
        for (int64_t r = 0; r < 64; r++) {
            T(store)(query_8 + r * 64 + r_q, ((T(load)(query_7 + r * 64 + r_q) * t_10) * sketch_g1_norm1_weight[r]) +
                sketch_g1_norm1_bias[r]);
        }
    }
    /* query_w2[h][r_q] = sum over r of sketch_g1_w2 * query_8 */
    T(dot13)(round_up(r_q1 - r_q0, LANES), sketch_g1_w2, query_8 + r_q0, query_w2 + r_q0);
    /* query_9 = (query_w2 * 0.5f) * (tanh((query_w2 + (((query_w2 * query_w2) * query_w2) * 0.044715f)) * 0.7978846f) +
       1.0f) */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += LANES) {
        for (int64_t h = 0; h < 512; h++) {
            const T(vec) query_w2_11 = T(load)(query_w2 + h * 64 + r_q);
            T(store)(query_9 + h * 64 + r_q, (query_w2_11 * 0.5f) * (T(tanh)((query_w2_11 + (((query_w2_11 *
                query_w2_11) * query_w2_11) * 0.044715f)) * 0.7978846f) + 1.0f));
        }
    }
    /* query_w3[r][r_q] = sum over h of sketch_g1_w3 * query_9 */
    T(dot14)(round_up(r_q1 - r_q0, LANES), sketch_g1_w3, query_9 + r_q0, query_w3 + r_q0);
    /* query_10 = ((query_3 * query_4) * sketch.g2.norm0.weight) + sketch.g2.norm0.bias */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += LANES) {
        const T(vec) query_4_12 = T(load)(query_4 + r_q);
        for (int64_t d = 0; d < 64; d++) {
            T(store)(query_10 + d * 64 + r_q, ((T(load)(query_3 + d * 64 + r_q) * query_4_12) *
                sketch_g2_norm0_weight[d]) + sketch_g2_norm0_bias[d]);
        }
    }
    /* query_w0_2[h][r_q] = sum over d of sketch_g2_w0 * query_10 */
    T(dot13)(round_up(r_q1 - r_q0, LANES), sketch_g2_w0, query_10 + r_q0, query_w0_2 + r_q0);
    /* query_11 = (query_w0_2 * 0.5f) * (tanh((query_w0_2 + (((query_w0_2 * query_w0_2) * query_w0_2) * 0.044715f)) *
       0.7978846f) + 1.0f) */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += LANES) {
        for (int64_t h = 0; h < 512; h++) {
            const T(vec) query_w0_2_13 = T(load)(query_w0_2 + h * 64 + r_q);
            T(store)(query_11 + h * 64 + r_q, (query_w0_2_13 * 0.5f) * (T(tanh)((query_w0_2_13 + (((query_w0_2_13 *
                query_w0_2_13) * query_w0_2_13) * 0.044715f)) * 0.7978846f) + 1.0f));
        }
    }
    /* query_w1_2[r][r_q] = sum over h of sketch_g2_w1 * query_11 */
    T(dot14)(round_up(r_q1 - r_q0, LANES), sketch_g2_w1, query_11 + r_q0, query_w1_2 + r_q0);
    /* query_sum_7 = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += LANES) {
        T(store)(query_sum_7 + r_q, T(splat)(0.0f));
    }
    /* query_sum_7 += query_w1_2 */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += LANES) {
        T(vec) query_sum_7_in = (T(vec)){0};
        for (int64_t r = 0; r < 64; r++) {
            query_sum_7_in += T(load)(query_w1_2 + r * 64 + r_q);
        }
        T(store)(query_sum_7 + r_q, T(load)(query_sum_7 + r_q) + query_sum_7_in);
    }
    /* query_sum_8 = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += LANES) {
        T(store)(query_sum_8 + r_q, T(splat)(0.0f));
    }
    /* query_12 = query_w1_2 - (query_sum_7 * 0.015625f); query_sum_8 += query_12 * query_12 */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += LANES) {
        const T(vec) t_14 = T(load)(query_sum_7 + r_q) * 0.015625f;
        T(vec) query_sum_8_in = (T(vec)){0};
        for (int64_t r = 0; r < 64; r++) {
            const T(vec) query_12_new15 = T(load)(query_w1_2 + r * 64 + r_q) - t_14;
            T(store)(query_12 + r * 64 + r_q, query_12_new15);
            query_sum_8_in += query_12_new15 * query_12_new15;
        }
        T(store)(query_sum_8 + r_q, T(load)(query_sum_8 + r_q) + query_sum_8_in);
    }
    /* query_13 = ((query_12 * (1.0f / sqrt((query_sum_8 * 0.015625f) + 1e-05f))) * sketch.g2.norm1.weight) +
       sketch.g2.norm1.bias */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += LANES) {
        const T(vec) t_16 = 1.0f / T(sqrt)((T(load)(query_sum_8 + r_q) * 0.015625f) + 1e-05f);
        for (int64_t r = 0; r < 64; r++) {
            T(store)(query_13 + r * 64 + r_q, ((T(load)(query_12 + r * 64 + r_q) * t_16) * sketch_g2_norm1_weight[r]) +
                sketch_g2_norm1_bias[r]);
        }
    }
    /* query_w2_2[h][r_q] = sum over r of sketch_g2_w2 * query_13 */
    T(dot13)(round_up(r_q1 - r_q0, LANES), sketch_g2_w2, query_13 + r_q0, query_w2_2 + r_q0);
    /* query_14 = (query_w2_2 * 0.5f) * (tanh((query_w2_2 + (((query_w2_2 * query_w2_2) * query_w2_2) * 0.044715f)) *
       0.7978846f) + 1.0f) */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += LANES) {
        for (int64_t h = 0; h < 512; h++) {
            const T(vec) query_w2_2_17 = T(load)(query_w2_2 + h * 64 + r_q);
            T(store)(query_14 + h * 64 + r_q, (query_w2_2_17 * 0.5f) * (T(tanh)((query_w2_2_17 + (((query_w2_2_17 *
                query_w2_2_17) * query_w2_2_17) * 0.044715f)) * 0.7978846f) + 1.0f));
        }
    }
    /* query_w3_2[r][r_q] = sum over h of sketch_g2_w3 * query_14 */
    T(dot14)(round_up(r_q1 - r_q0, LANES), sketch_g2_w3, query_14 + r_q0, query_w3_2 + r_q0);
    /* query_15 = tanh((query_w3 * query_w3_2) * 0.125f) * 8.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += LANES) {
        for (int64_t r = 0; r < 64; r++) {
            T(store)(query_15 + r * 64 + r_q, T(tanh)((T(load)(query_w3 + r * 64 + r_q) * T(load)(query_w3_2 + r * 64 +
                r_q)) * 0.125f) * 8.0f);
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(polysketch_learned_r64_local_few_begin_2)(const struct call *call, int64_t task,
    const struct share *share, int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r_q0 = iteration * 16, r_q1 = min(r_q0 + 16, rows);
    float *const carried_sum = (float *)(void *)(share->shared + 1281664); /* [r_q: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 1298368); /* [r_q: 64] */
    float *const carried = (float *)(void *)(share->shared + 1281920); /* [r_q: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 1298624); /* [r_q: 64, e: 64] */
    /* carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += LANES) {
        T(store)(carried_sum + r_q, T(splat)(0.0f));
        T(store)(carried_sum_compensation + r_q, T(splat)(0.0f));
    }
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(carried + r_q * 64 + e, T(splat)(0.0f));
                T(store)(carried_compensation + r_q * 64 + e, T(splat)(0.0f));
            }
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET APART void T(polysketch_learned_r64_local_few_keys)(const struct call *call, int64_t task,
    const struct share *share, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunk = iteration;
    const int64_t chunk0 = share->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const k = (const float *)call->array[ARRAY_k].at + b * call->array[ARRAY_k].strides.batch + g /
        call->sharing * call->array[ARRAY_k].strides.head;
    const int64_t k_row = call->array[ARRAY_k].strides.row;
    const float *const v = (const float *)call->array[ARRAY_v].at + b * call->array[ARRAY_v].strides.batch + g *
        call->array[ARRAY_v].strides.head;
    const int64_t v_row = call->array[ARRAY_v].strides.row;
    const float *const sketch_g1_norm0_weight = (const float *)call->array[ARRAY_sketch_g1_norm0_weight].at;
    const float *const sketch_g1_norm0_bias = (const float *)call->array[ARRAY_sketch_g1_norm0_bias].at;
    const float *const sketch_g1_w0 = (const float *)call->array[ARRAY_sketch_g1_w0].at;
    const float *const sketch_g1_w1 = (const float *)call->array[ARRAY_sketch_g1_w1].at;
    const float *const sketch_g1_norm1_weight = (const float *)call->array[ARRAY_sketch_g1_norm1_weight].at;
    const float *const sketch_g1_norm1_bias = (const float *)call->array[ARRAY_sketch_g1_norm1_bias].at;
    const float *const sketch_g1_w2 = (const float *)call->array[ARRAY_sketch_g1_w2].at;
    const float *const sketch_g1_w3 = (const float *)call->array[ARRAY_sketch_g1_w3].at;
    const float *const sketch_g2_norm0_weight = (const float *)call->array[ARRAY_sketch_g2_norm0_weight].at;
    const float *const sketch_g2_norm0_bias = (const float *)call->array[ARRAY_sketch_g2_norm0_bias].at;
    const float *const sketch_g2_w0 = (const float *)call->array[ARRAY_sketch_g2_w0].at;
    const float *const sketch_g2_w1 = (const float *)call->array[ARRAY_sketch_g2_w1].at;
    const float *const sketch_g2_norm1_weight = (const float *)call->array[ARRAY_sketch_g2_norm1_weight].at;
    const float *const sketch_g2_norm1_bias = (const float *)call->array[ARRAY_sketch_g2_norm1_bias].at;
    const float *const sketch_g2_w2 = (const float *)call->array[ARRAY_sketch_g2_w2].at;
    const float *const sketch_g2_w3 = (const float *)call->array[ARRAY_sketch_g2_w3].at;
    float *const key_sum = (float *)(void *)(share->work + 0); /* [j: 128] */
    float *const key_sum_2 = (float *)(void *)(share->work + 512); /* [j: 128] */
    float *const query_2 = (float *)(void *)(share->shared + 16960); /* [d: 64, r_q: 64] */
    float *const query_15 = (float *)(void *)(share->shared + 1265216); /* [r: 64, r_q: 64] */
    float *const key_sum_3 = (float *)(void *)(share->work + 0); /* [j: 128] */
    float *const key_3 = (float *)(void *)(share->work + 512); /* [d: 64, j: 128 of 144] */
    float *const key_sum_4 = (float *)(void *)(share->work + 37376); /* [j: 128] */
    float *const key_4 = (float *)(void *)(share->work + 37888); /* [d: 64, j: 128 of 144] */
    float *const key_w0 = (float *)(void *)(share->work + 74752); /* [h: 512, j: 128 of 144] */
    float *const key_5 = (float *)(void *)(share->work + 369664); /* [h: 192, j: 128 of 144] */
    float *const key_w1 = (float *)(void *)(share->work + 37888); /* [r: 64, j: 128 of 144] */
    float *const key_sum_5 = (float *)(void *)(share->work + 0); /* [j: 128] */
    float *const key_sum_6 = (float *)(void *)(share->work + 74752); /* [j: 128] */
    float *const key_w2 = (float *)(void *)(share->work + 74752); /* [h: 512, j: 128 of 144] */
    float *const key_8 = (float *)(void *)(share->work + 369664); /* [h: 192, j: 128 of 144] */
    float *const key_w3 = (float *)(void *)(share->work + 37888); /* [r: 64, j: 128 of 144] */
    float *const key_w0_2 = (float *)(void *)(share->work + 74752); /* [h: 512, j: 128 of 144] */
    float *const key_10 = (float *)(void *)(share->work + 369664); /* [h: 192, j: 128 of 144] */
    float *const key_w1_2 = (float *)(void *)(share->work + 0); /* [r: 64, j: 128 of 144] */
    float *const key_sum_7 = (float *)(void *)(share->work + 36864); /* [j: 128] */
    float *const key_sum_8 = (float *)(void *)(share->work + 37376); /* [j: 128] */
    float *const key_w2_2 = (float *)(void *)(share->work + 74752); /* [h: 512, j: 128 of 144] */
    float *const key_13 = (float *)(void *)(share->work + 369664); /* [h: 192, j: 128 of 144] */
    float *const key_w3_2 = (float *)(void *)(share->work + 0); /* [r: 64, j: 128 of 144] */
    float *const score = (float *)(void *)(share->work + 0); /* [r_q: 64, j: 128 of 144] */
    float *const score_2 = (float *)(void *)(share->work + 36864); /* [r_q: 64, j: 128 of 144] */
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, r_q: 64] */
    float *const state = (float *)(void *)(share->slots + 256); /* [chunk, r_q: 64, e: 64] */
    float *const k_tile = (float *)(void *)(share->work + 480256); /* [d: 64, j: 128 of 144] */
    /* state_sum = 0.0f */
    for (int64_t r_q = 0; r_q < rows; r_q += LANES) {
        T(store)(state_sum + (chunk - chunk0) * 4176 + r_q, T(splat)(0.0f));
    }
    /* state = 0.0f */
    for (int64_t r_q = 0; r_q < rows; r_q++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(state + (chunk - chunk0) * 4176 + r_q * 64 + e, T(splat)(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 1024, j_end = min(min(n_k, (chunk + 1) * 1024), n_q + query_start); j0 < j_end;
        j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 144, 64);
        /* key_sum = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum + j, T(splat)(0.0f));
        }
        /* key_sum += k_tile */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += OF(64, 16, 8)) {
            T(vec) key_sum_in[OF(4, 2, 2)];
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                key_sum_in[vector] = (T(vec)){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                    key_sum_in[vector] += T(load)(k_tile + d * 144 + j);
                }
            }
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                T(store)(key_sum + j, T(load)(key_sum + j) + key_sum_in[vector]);
            }
        }
        /* key_sum_2 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum_2 + j, T(splat)(0.0f));
        }
        /* k_tile = k_tile - (key_sum * 0.015625f); key_sum_2 += k_tile * k_tile */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) t_19 = T(load)(key_sum + j) * 0.015625f;
            T(vec) key_sum_2_in = (T(vec)){0};
            for (int64_t d = 0; d < 64; d++) {
                const T(vec) k_tile_18 = T(load)(k_tile + d * 144 + j);
                const T(vec) k_tile_new20 = k_tile_18 - t_19;
                T(store)(k_tile + d * 144 + j, k_tile_new20);
                key_sum_2_in += k_tile_new20 * k_tile_new20;
            }
            T(store)(key_sum_2 + j, T(load)(key_sum_2 + j) + key_sum_2_in);
        }
        /* key_sum_3 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum_3 + j, T(splat)(0.0f));
        }
        /* k_tile = k_tile * (1.0f / sqrt((key_sum_2 * 0.015625f) + 1e-05f)); key_sum_3 += k_tile */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) t_22 = 1.0f / T(sqrt)((T(load)(key_sum_2 + j) * 0.015625f) + 1e-05f);
            T(vec) key_sum_3_in = (T(vec)){0};
            for (int64_t d = 0; d < 64; d++) {
                const T(vec) k_tile_21 = T(load)(k_tile + d * 144 + j);
                const T(vec) k_tile_new23 = k_tile_21 * t_22;
                T(store)(k_tile + d * 144 + j, k_tile_new23);
                key_sum_3_in += k_tile_new23;
            }
            T(store)(key_sum_3 + j, T(load)(key_sum_3 + j) + key_sum_3_in);
        }
        /* key_sum_4 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum_4 + j, T(splat)(0.0f));
        }
        /* key_3 = k_tile - (key_sum_3 * 0.015625f); key_sum_4 += key_3 * key_3 */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) t_24 = T(load)(key_sum_3 + j) * 0.015625f;
            T(vec) key_sum_4_in = (T(vec)){0};
            for (int64_t d = 0; d < 64; d++) {
                const T(vec) key_3_new25 = T(load)(k_tile + d * 144 + j) - t_24;
                T(store)(key_3 + d * 144 + j, key_3_new25);
                key_sum_4_in += key_3_new25 * key_3_new25;
            }
            T(store)(key_sum_4 + j, T(load)(key_sum_4 + j) + key_sum_4_in);
        }
        /* key_sum_4 = 1.0f / sqrt((key_sum_4 * 0.015625f) + 1e-05f) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum_4 + j, 1.0f / T(sqrt)((T(load)(key_sum_4 + j) * 0.015625f) + 1e-05f));
        }
        /* key_4 = ((key_3 * key_sum_4) * sketch.g1.norm0.weight) + sketch.g1.norm0.bias */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) key_sum_4_26 = T(load)(key_sum_4 + j);
            for (int64_t d = 0; d < 64; d++) {
                T(store)(key_4 + d * 144 + j, ((T(load)(key_3 + d * 144 + j) * key_sum_4_26) *
                    sketch_g1_norm0_weight[d]) + sketch_g1_norm0_bias[d]);
            }
        }
        /* key_w0[h][j] = sum over d of sketch_g1_w0 * key_4 */
        T(dot15)(round_up(j1 - j0, LANES), sketch_g1_w0, key_4, key_w0);
        /* key_w1 = 0.0f */
        for (int64_t r = 0; r < 64; r++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(key_w1 + r * 144 + j, T(splat)(0.0f));
            }
        }
        for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
            const int64_t h1 = min(h0 + 192, h_end);
            /* key_5 = (key_w0 * 0.5f) * (tanh((key_w0 + (((key_w0 * key_w0) * key_w0) * 0.044715f)) * 0.7978846f) +
               1.0f) */
            for (int64_t h = h0; h < h1; h++) {
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(vec) key_w0_27 = T(load)(key_w0 + h * 144 + j);
                    T(store)(key_5 + (h - h0) * 144 + j, (key_w0_27 * 0.5f) * (T(tanh)((key_w0_27 + (((key_w0_27 *
                        key_w0_27) * key_w0_27) * 0.044715f)) * 0.7978846f) + 1.0f));
                }
            }
            /* key_w1[r][j] += sum over h of sketch_g1_w1 * key_5 */
            T(dot16)(round_up(j1 - j0, LANES), h1 - h0, sketch_g1_w1 + h0 * 64, key_5, key_w1);
        }
        /* key_sum_5 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum_5 + j, T(splat)(0.0f));
        }
        /* key_sum_5 += key_w1 */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += OF(64, 16, 8)) {
            T(vec) key_sum_5_in[OF(4, 2, 2)];
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                key_sum_5_in[vector] = (T(vec)){0};
            }
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                    key_sum_5_in[vector] += T(load)(key_w1 + r * 144 + j);
                }
            }
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                T(store)(key_sum_5 + j, T(load)(key_sum_5 + j) + key_sum_5_in[vector]);
            }
        }
        /* key_sum_6 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum_6 + j, T(splat)(0.0f));
        }
        /* key_w1 = key_w1 - (key_sum_5 * 0.015625f); key_sum_6 += key_w1 * key_w1 */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) t_29 = T(load)(key_sum_5 + j) * 0.015625f;
            T(vec) key_sum_6_in = (T(vec)){0};
            for (int64_t r = 0; r < 64; r++) {
                const T(vec) key_w1_28 = T(load)(key_w1 + r * 144 + j);
                const T(vec) key_w1_new30 = key_w1_28 - t_29;
                T(store)(key_w1 + r * 144 + j, key_w1_new30);
                key_sum_6_in += key_w1_new30 * key_w1_new30;
            }
            T(store)(key_sum_6 + j, T(load)(key_sum_6 + j) + key_sum_6_in);
        }
        /* key_w1 = ((key_w1 * (1.0f / sqrt((key_sum_6 * 0.015625f) + 1e-05f))) * sketch.g1.norm1.weight) +
           sketch.g1.norm1.bias */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) t_31 = 1.0f / T(sqrt)((T(load)(key_sum_6 + j) * 0.015625f) + 1e-05f);
            for (int64_t r = 0; r < 64; r++) {
                T(store)(key_w1 + r * 144 + j, ((T(load)(key_w1 + r * 144 + j) * t_31) * sketch_g1_norm1_weight[r]) +
                    sketch_g1_norm1_bias[r]);
            }
        }
        /* key_w2[h][j] = sum over r of sketch_g1_w2 * key_w1 */
        T(dot15)(round_up(j1 - j0, LANES), sketch_g1_w2, key_w1, key_w2);
        /* key_w3 = 0.0f */
        for (int64_t r = 0; r < 64; r++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(key_w3 + r * 144 + j, T(splat)(0.0f));
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* key_8 = (key_w2 * 0.5f) * (tanh((key_w2 + (((key_w2 * key_w2) * key_w2) * 0.044715f)) * 0.7978846f) +
                   1.0f) */
                for (int64_t h = h0; h < h1; h++) {
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(vec) key_w2_32 = T(load)(key_w2 + h * 144 + j);
                        T(store)(key_8 + (h - h0) * 144 + j, (key_w2_32 * 0.5f) * (T(tanh)((key_w2_32 + (((key_w2_32 *
                            key_w2_32) * key_w2_32) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* key_w3[r][j] += sum over h of sketch_g1_w3 * key_8 */
                T(dot16)(round_up(j1 - j0, LANES), h1 - h0, sketch_g1_w3 + h0 * 64, key_8, key_w3);
            }
        }
        /* key_3 = ((key_3 * key_sum_4) * sketch.g2.norm0.weight) + sketch.g2.norm0.bias */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) key_sum_4_33 = T(load)(key_sum_4 + j);
            for (int64_t d = 0; d < 64; d++) {
                T(store)(key_3 + d * 144 + j, ((T(load)(key_3 + d * 144 + j) * key_sum_4_33) *
                    sketch_g2_norm0_weight[d]) + sketch_g2_norm0_bias[d]);
            }
        }
        /* key_w0_2[h][j] = sum over d of sketch_g2_w0 * key_3 */
        T(dot15)(round_up(j1 - j0, LANES), sketch_g2_w0, key_3, key_w0_2);
        /* key_w1_2 = 0.0f */
        for (int64_t r = 0; r < 64; r++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(key_w1_2 + r * 144 + j, T(splat)(0.0f));
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* key_10 = (key_w0_2 * 0.5f) * (tanh((key_w0_2 + (((key_w0_2 * key_w0_2) * key_w0_2) * 0.044715f)) *
                   0.7978846f) + 1.0f) */
                for (int64_t h = h0; h < h1; h++) {
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(vec) key_w0_2_34 = T(load)(key_w0_2 + h * 144 + j);
                        T(store)(key_10 + (h - h0) * 144 + j, (key_w0_2_34 * 0.5f) * (T(tanh)((key_w0_2_34 +
                            (((key_w0_2_34 * key_w0_2_34) * key_w0_2_34) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* key_w1_2[r][j] += sum over h of sketch_g2_w1 * key_10 */
                T(dot16)(round_up(j1 - j0, LANES), h1 - h0, sketch_g2_w1 + h0 * 64, key_10, key_w1_2);
            }
        }
        /* key_sum_7 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum_7 + j, T(splat)(0.0f));
        }
        /* key_sum_7 += key_w1_2 */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += OF(64, 16, 8)) {
            T(vec) key_sum_7_in[OF(4, 2, 2)];
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                key_sum_7_in[vector] = (T(vec)){0};
            }
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                    key_sum_7_in[vector] += T(load)(key_w1_2 + r * 144 + j);
                }
            }
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                T(store)(key_sum_7 + j, T(load)(key_sum_7 + j) + key_sum_7_in[vector]);
            }
        }
        /* key_sum_8 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum_8 + j, T(splat)(0.0f));
        }
        /* key_w1_2 = key_w1_2 - (key_sum_7 * 0.015625f); key_sum_8 += key_w1_2 * key_w1_2 */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) t_36 = T(load)(key_sum_7 + j) * 0.015625f;
            T(vec) key_sum_8_in = (T(vec)){0};
            for (int64_t r = 0; r < 64; r++) {
                const T(vec) key_w1_2_35 = T(load)(key_w1_2 + r * 144 + j);
                const T(vec) key_w1_2_new37 = key_w1_2_35 - t_36;
                T(store)(key_w1_2 + r * 144 + j, key_w1_2_new37);
                key_sum_8_in += key_w1_2_new37 * key_w1_2_new37;
            }
            T(store)(key_sum_8 + j, T(load)(key_sum_8 + j) + key_sum_8_in);
        }
        /* key_w1_2 = ((key_w1_2 * (1.0f / sqrt((key_sum_8 * 0.015625f) + 1e-05f))) * sketch.g2.norm1.weight) +
           sketch.g2.norm1.bias */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) t_38 = 1.0f / T(sqrt)((T(load)(key_sum_8 + j) * 0.015625f) + 1e-05f);
            for (int64_t r = 0; r < 64; r++) {
                T(store)(key_w1_2 + r * 144 + j, ((T(load)(key_w1_2 + r * 144 + j) * t_38) * sketch_g2_norm1_weight[r])
                    + sketch_g2_norm1_bias[r]);
            }
        }
        /* key_w2_2[h][j] = sum over r of sketch_g2_w2 * key_w1_2 */
        T(dot15)(round_up(j1 - j0, LANES), sketch_g2_w2, key_w1_2, key_w2_2);
        /* key_w3_2 = 0.0f */
        for (int64_t r = 0; r < 64; r++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(key_w3_2 + r * 144 + j, T(splat)(0.0f));
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* key_13 = (key_w2_2 * 0.5f) * (tanh((key_w2_2 + (((key_w2_2 * key_w2_2) * key_w2_2) * 0.044715f)) *
                   0.7978846f) + 1.0f) */
                for (int64_t h = h0; h < h1; h++) {
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(vec) key_w2_2_39 = T(load)(key_w2_2 + h * 144 + j);
                        T(store)(key_13 + (h - h0) * 144 + j, (key_w2_2_39 * 0.5f) * (T(tanh)((key_w2_2_39 +
                            (((key_w2_2_39 * key_w2_2_39) * key_w2_2_39) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* key_w3_2[r][j] += sum over h of sketch_g2_w3 * key_13 */
                T(dot16)(round_up(j1 - j0, LANES), h1 - h0, sketch_g2_w3 + h0 * 64, key_13, key_w3_2);
            }
        }
        /* key_w3 = tanh((key_w3 * key_w3_2) * 0.125f) * 8.0f */
        for (int64_t r = 0; r < 64; r++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(key_w3 + r * 144 + j, T(tanh)((T(load)(key_w3 + r * 144 + j) * T(load)(key_w3_2 + r * 144 + j))
                    * 0.125f) * 8.0f);
            }
        }
        /* score[r_q][j] = sum over r of query_15 * key_w3 */
        T(dot17)(round_up(j1 - j0, LANES), rows, query_15, key_w3, score);
        /* score_2[r_q][j] = sum over d of query_2 * k_tile */
        T(dot17)(round_up(j1 - j0, LANES), rows, query_2, k_tile, score_2);
        /* score = select(((((r_q % n_q) + query_start) - floormod((r_q % n_q) + query_start,
           256)) / 256) == ((j - floormod(j, 256)) / 256 ... */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(ints) t_40 = j0 + j + T(lane);
            const T(ints) r41 = t_40 % 256;
            const T(ints) t_42 = (t_40 - (r41 + (((r41 != 0) & ((r41 < 0) != (256 < 0))) & 256))) / 256;
            for (int64_t r_q = 0; r_q < rows; r_q++) {
                const T(vec) score_2_43 = T(load)(score_2 + r_q * 144 + j);
                const T(vec) t_44 = score_2_43 * score_2_43;
                const T(vec) score_45 = T(load)(score + r_q * 144 + j);
                T(store)(score + r_q * 144 + j, T(pick)(__builtin_convertvector((((r_q % n_q) + query_start -
                    floor_mod((r_q % n_q) + query_start, 256)) / 256) == t_42, T(mask)), t_44 * t_44,
                    score_45 * score_45));
            }
        }
        if ((query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= ((r_q % n_q) + query_start), score, 0.0f) */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(ints) t_46 = j0 + j + T(lane);
                for (int64_t r_q = 0; r_q < rows; r_q++) {
                    T(store)(score + r_q * 144 + j, T(pick)(__builtin_convertvector(t_46 <= ((r_q % n_q) + query_start),
                        T(mask)), T(load)(score + r_q * 144 + j), T(splat)(0.0f)));
                }
            }
        }
        /* state_sum += score */
        for (int64_t r_q = 0; r_q < rows; r_q++) {
            T(vec) lane_sums = T(splat)(0);
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) term = T(load)(score + r_q * 144 + j);
                lane_sums += j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0,
                    T(mask)), term, T(splat)(0));
            }
            const float total = T(lane_sum)(lane_sums);
            state_sum[(chunk - chunk0) * 4176 + r_q] += total;
        }
        /* state[r_q][e] += sum over j of score * v */
        if (__builtin_expect(((query_start + 1) < j1) && !T(finite)(v + j0 * v_row, v_row, j1 - j0, 64),
            0)) { /* infinity and NaN affect only queries that see them */
            T(dot18)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4176);
            for (int64_t r_q = 0; r_q < rows; r_q++) {
                T(mask) in_region[OF(8, 16, 32)] = {0};
                const int64_t t_47 = (r_q % n_q) + query_start;
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    in_region[j / LANES] = __builtin_convertvector((j0 + j + T(lane)) <= t_47, T(mask));
                }
                T(add_seen_lanes)(64, state + (chunk - chunk0) * 4176 + r_q * 64, score + r_q * 144, v + j0 * v_row,
                    v_row, j1 - j0, in_region);
            }
        } else
#if OF(1, 0, 0)
            T(dot19)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4176,
                attn_is_intel() ? 16 : 0);
#else
            T(dot19)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4176);
#endif
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(polysketch_learned_r64_local_few_fold)(const struct call *call, int64_t task,
    const struct share *share, int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r_q0 = iteration * 16, r_q1 = min(r_q0 + 16, rows);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, r_q: 64] */
    float *const state = (float *)(void *)(share->slots + 256); /* [chunk, r_q: 64, e: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 1281664); /* [r_q: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 1298368); /* [r_q: 64] */
    float *const carried = (float *)(void *)(share->shared + 1281920); /* [r_q: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 1298624); /* [r_q: 64, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_sum = carried_sum; carried_sum += state_sum */
        for (int64_t r_q = r_q0; r_q < r_q1; r_q += LANES) {
            T(add)(carried_sum + r_q, carried_sum_compensation + r_q,
                T(load)(state_sum + (chunk - chunk0) * 4176 + r_q), T(splat)(1));
        }
        /* before = carried; carried += state */
        for (int64_t r_q = r_q0; r_q < r_q1; r_q++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    T(add)(carried + r_q * 64 + e, carried_compensation + r_q * 64 + e,
                        T(load)(state + (chunk - chunk0) * 4176 + r_q * 64 + e), T(splat)(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET APART void T(polysketch_learned_r64_local_few_queries)(const struct call *call, int64_t task,
    const struct share *share, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r_q0 = iteration * 16, r_q1 = min(r_q0 + 16, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const carried_sum = (float *)(void *)(share->shared + 1281664); /* [r_q: 64] */
    float *const carried = (float *)(void *)(share->shared + 1281920); /* [r_q: 64, e: 64] */
    float *const result = (float *)(void *)(share->work + 0); /* [r_q: 64, e: 64] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g * members *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_head = call->array[ARRAY_out].strides.head;
    /* result = select((carried_sum + 1.0f) == 0.0f, 0.0f, carried / (carried_sum + 1.0f)) */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                const float t_48 = carried_sum[r_q] + 1.0f;
                T(store)(result + r_q * 64 + e, (t_48 == 0.0f) ? T(splat)(0.0f) : T(load)(carried + r_q * 64 + e) /
                    t_48);
            }
        }
    }
    /* out = result */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q++)
        for (int64_t e = 0; e < 64; e++)
            out[r_q / n_q * out_head + r_q % n_q * out_row + e] = result[r_q * 64 + e];
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(polysketch_learned_r64_local_few)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((rows + 63) / 64); iteration += share->threads)
        T(polysketch_learned_r64_local_few_begin)(call, task, share, iteration);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(polysketch_learned_r64_local_few_begin_2)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(polysketch_learned_r64_local_few_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                T(polysketch_learned_r64_local_few_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(polysketch_learned_r64_local_few_queries)(call, task, share, iteration);
    synchronise(share);
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "polysketch_learned_r64_local.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "polysketch_learned_r64_local.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int polysketch_learned_r64_local_is_c11;
#elif !defined __GNUC__
#error "polysketch_learned_r64_local.c uses GNU C vector extensions: compile it with gcc or clang"
extern int polysketch_learned_r64_local_is_gnu_c;
#else
#include "polysketch_learned_r64_local.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out, ARRAY_sketch_g1_norm0_weight, ARRAY_sketch_g1_norm0_bias, ARRAY_sketch_g1_w0,
    ARRAY_sketch_g1_w1, ARRAY_sketch_g1_norm1_weight, ARRAY_sketch_g1_norm1_bias, ARRAY_sketch_g1_w2,
        ARRAY_sketch_g1_w3,
    ARRAY_sketch_g2_norm0_weight, ARRAY_sketch_g2_norm0_bias, ARRAY_sketch_g2_w0, ARRAY_sketch_g2_w1,
    ARRAY_sketch_g2_norm1_weight, ARRAY_sketch_g2_norm1_bias, ARRAY_sketch_g2_w2, ARRAY_sketch_g2_w3
};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "polysketch_learned_r64_local.c"
#endif

/* ==== x86-64-v4 ==== */
#if defined(__x86_64__)
#define T(name) name##_v4
#define TARGET __attribute__((target("avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi,bmi2,fma,f16c")))
#define LANES 16
#define REGISTERS 32
#define DQ 1
#define F16C 1
#define AVX 1
#define ROWS 6
#define VECTORS 4
#define COMPENSATED 1
#define AHEAD 64
#define NEAR 3
#define MAX_STEPS 128
#define MAX_LANES 64
#define OF(v4, v3, any) v4 /* a number of each target */
#define SECTION
#include LOOPS
#undef SECTION
#endif

/* ==== x86-64-v3 ==== */
#if defined(__x86_64__)
#define T(name) name##_v3
#define TARGET __attribute__((target("avx2,bmi,bmi2,fma,f16c")))
#define LANES 8
#define REGISTERS 16
#define F16C 1
#define AVX 1
#define ROWS 6
#define VECTORS 2
#define COMPENSATED 1
#define AHEAD 64
#define NEAR 3
#define MAX_STEPS 128
#define MAX_LANES 64
#define OF(v4, v3, any) v3 /* a number of each target */
#define SECTION
#include LOOPS
#undef SECTION
#endif

/* ==== generic ==== */
#define T(name) name##_any
#define TARGET
#define LANES 4
#define REGISTERS 16
#define ROWS 6
#define VECTORS 2
#define COMPENSATED 1
#define AHEAD 64
#define NEAR 2
#define MAX_STEPS 128
#define MAX_LANES 64
#define OF(v4, v3, any) any /* a number of each target */
#define SECTION
#include LOOPS
#undef SECTION

/* ==== tables for the library that calls these functions (attnrt/kernel/call.h) ==== */
static const struct attn_param param[] = {
    {"sketch.g1.norm0.weight", ATTN_F32, 1, {64}, offsetof(struct polysketch_learned_r64_local_params,
        sketch_g1_norm0_weight), 0, ATTN_CONTIGUOUS, 0, 0, ATTN_NO_LIMITS},
    {"sketch.g1.norm0.bias", ATTN_F32, 1, {64}, offsetof(struct polysketch_learned_r64_local_params,
        sketch_g1_norm0_bias), 0, ATTN_CONTIGUOUS, 0, 0, ATTN_NO_LIMITS},
    {"sketch.g1.w0", ATTN_F32, 2, {64, 512}, offsetof(struct polysketch_learned_r64_local_params, sketch_g1_w0), 0,
        ATTN_CONTIGUOUS, 0, 0, ATTN_NO_LIMITS},
    {"sketch.g1.w1", ATTN_F32, 2, {512, 64}, offsetof(struct polysketch_learned_r64_local_params, sketch_g1_w1), 0,
        ATTN_CONTIGUOUS, 0, 0, ATTN_NO_LIMITS},
    {"sketch.g1.norm1.weight", ATTN_F32, 1, {64}, offsetof(struct polysketch_learned_r64_local_params,
        sketch_g1_norm1_weight), 0, ATTN_CONTIGUOUS, 0, 0, ATTN_NO_LIMITS},
    {"sketch.g1.norm1.bias", ATTN_F32, 1, {64}, offsetof(struct polysketch_learned_r64_local_params,
        sketch_g1_norm1_bias), 0, ATTN_CONTIGUOUS, 0, 0, ATTN_NO_LIMITS},
    {"sketch.g1.w2", ATTN_F32, 2, {64, 512}, offsetof(struct polysketch_learned_r64_local_params, sketch_g1_w2), 0,
        ATTN_CONTIGUOUS, 0, 0, ATTN_NO_LIMITS},
    {"sketch.g1.w3", ATTN_F32, 2, {512, 64}, offsetof(struct polysketch_learned_r64_local_params, sketch_g1_w3), 0,
        ATTN_CONTIGUOUS, 0, 0, ATTN_NO_LIMITS},
    {"sketch.g2.norm0.weight", ATTN_F32, 1, {64}, offsetof(struct polysketch_learned_r64_local_params,
        sketch_g2_norm0_weight), 0, ATTN_CONTIGUOUS, 0, 0, ATTN_NO_LIMITS},
    {"sketch.g2.norm0.bias", ATTN_F32, 1, {64}, offsetof(struct polysketch_learned_r64_local_params,
        sketch_g2_norm0_bias), 0, ATTN_CONTIGUOUS, 0, 0, ATTN_NO_LIMITS},
    {"sketch.g2.w0", ATTN_F32, 2, {64, 512}, offsetof(struct polysketch_learned_r64_local_params, sketch_g2_w0), 0,
        ATTN_CONTIGUOUS, 0, 0, ATTN_NO_LIMITS},
    {"sketch.g2.w1", ATTN_F32, 2, {512, 64}, offsetof(struct polysketch_learned_r64_local_params, sketch_g2_w1), 0,
        ATTN_CONTIGUOUS, 0, 0, ATTN_NO_LIMITS},
    {"sketch.g2.norm1.weight", ATTN_F32, 1, {64}, offsetof(struct polysketch_learned_r64_local_params,
        sketch_g2_norm1_weight), 0, ATTN_CONTIGUOUS, 0, 0, ATTN_NO_LIMITS},
    {"sketch.g2.norm1.bias", ATTN_F32, 1, {64}, offsetof(struct polysketch_learned_r64_local_params,
        sketch_g2_norm1_bias), 0, ATTN_CONTIGUOUS, 0, 0, ATTN_NO_LIMITS},
    {"sketch.g2.w2", ATTN_F32, 2, {64, 512}, offsetof(struct polysketch_learned_r64_local_params, sketch_g2_w2), 0,
        ATTN_CONTIGUOUS, 0, 0, ATTN_NO_LIMITS},
    {"sketch.g2.w3", ATTN_F32, 2, {512, 64}, offsetof(struct polysketch_learned_r64_local_params, sketch_g2_w3), 0,
        ATTN_CONTIGUOUS, 0, 0, ATTN_NO_LIMITS},
};

static const struct array array[] = {
    {.name = "q", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_QUERIES, .argument = {0, 0},
        .strides = offsetof(struct attn_problem, q)},
    {.name = "k", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS, .argument = {1, 1},
        .strides = offsetof(struct attn_problem, k)},
    {.name = "v", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS, .argument = {2, 2},
        .strides = offsetof(struct attn_problem, v)},
    {.name = "out", .access = {ACCESS_WRITTEN, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_QUERIES, .argument = {3,
        3}, .strides = offsetof(struct attn_problem, out)},
    {.name = "sketch.g1.norm0.weight", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .origin = FROM_PARAMS,
        .param = 0, .axis = {-1, -1, -1}},
    {.name = "sketch.g1.norm0.bias", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .origin = FROM_PARAMS,
        .param = 1, .axis = {-1, -1, -1}},
    {.name = "sketch.g1.w0", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .origin = FROM_PARAMS, .param = 2,
        .axis = {-1, -1, -1}},
    {.name = "sketch.g1.w1", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .origin = FROM_PARAMS, .param = 3,
        .axis = {-1, -1, -1}},
    {.name = "sketch.g1.norm1.weight", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .origin = FROM_PARAMS,
        .param = 4, .axis = {-1, -1, -1}},
    {.name = "sketch.g1.norm1.bias", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .origin = FROM_PARAMS,
        .param = 5, .axis = {-1, -1, -1}},
    {.name = "sketch.g1.w2", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .origin = FROM_PARAMS, .param = 6,
        .axis = {-1, -1, -1}},
    {.name = "sketch.g1.w3", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .origin = FROM_PARAMS, .param = 7,
        .axis = {-1, -1, -1}},
    {.name = "sketch.g2.norm0.weight", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .origin = FROM_PARAMS,
        .param = 8, .axis = {-1, -1, -1}},
    {.name = "sketch.g2.norm0.bias", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .origin = FROM_PARAMS,
        .param = 9, .axis = {-1, -1, -1}},
    {.name = "sketch.g2.w0", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .origin = FROM_PARAMS,
        .param = 10, .axis = {-1, -1, -1}},
    {.name = "sketch.g2.w1", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .origin = FROM_PARAMS,
        .param = 11, .axis = {-1, -1, -1}},
    {.name = "sketch.g2.norm1.weight", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .origin = FROM_PARAMS,
        .param = 12, .axis = {-1, -1, -1}},
    {.name = "sketch.g2.norm1.bias", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .origin = FROM_PARAMS,
        .param = 13, .axis = {-1, -1, -1}},
    {.name = "sketch.g2.w2", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .origin = FROM_PARAMS,
        .param = 14, .axis = {-1, -1, -1}},
    {.name = "sketch.g2.w3", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .origin = FROM_PARAMS,
        .param = 15, .axis = {-1, -1, -1}},
};

#if defined(__x86_64__)
static int runs_v4(void)
{
    return attn_x86_64_level() >= 4;
}
static const struct program programs_v4[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW, .from = 867,
     .head = polysketch_learned_r64_local_few_v4, .tile = 0, .own = 517120, .few_rows = 64, .of_pair = 128,
         .shared = 1315072, .slot = 16704, .slots = 1, .together = 1},
    {.role = RUN_FORWARD, .from = 867,
     .head = polysketch_learned_r64_local_linear_v4, .tile = 0, .own = 287232, .of_token = 135200, .in_keys = 1,
         .shared = 1081728, .slot = 540864, .slots = 1, .together = 1},
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = polysketch_learned_r64_local_few_v4, .tile = 0, .own = 517120, .few_rows = 64, .lanes = 16, .of_pair = 128,
         .shared = 1315072, .slot = 16704, .slots = 1, .together = 1},
    {.role = RUN_FORWARD,
     .rows = polysketch_learned_r64_local_rows_v4, .tile = 256, .own = 617216, .of_pair = 128},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW, .from = 867,
     .head = polysketch_learned_r64_local_few_v3, .tile = 0, .own = 517120, .few_rows = 64, .of_pair = 128,
         .shared = 1315072, .slot = 16704, .slots = 1, .together = 1},
    {.role = RUN_FORWARD, .from = 867,
     .head = polysketch_learned_r64_local_linear_v3, .tile = 0, .own = 287232, .of_token = 135200, .in_keys = 1,
         .shared = 1081728, .slot = 540864, .slots = 1, .together = 1},
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = polysketch_learned_r64_local_few_v3, .tile = 0, .own = 517120, .few_rows = 64, .lanes = 8, .of_pair = 128,
         .shared = 1315072, .slot = 16704, .slots = 1, .together = 1},
    {.role = RUN_FORWARD,
     .rows = polysketch_learned_r64_local_rows_v3, .tile = 256, .own = 613120, .of_pair = 128},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW, .from = 867,
     .head = polysketch_learned_r64_local_few_any, .tile = 0, .own = 517120, .few_rows = 64, .of_pair = 128,
         .shared = 1315072, .slot = 16704, .slots = 1, .together = 1},
    {.role = RUN_FORWARD, .from = 867,
     .head = polysketch_learned_r64_local_linear_any, .tile = 0, .own = 287232, .of_token = 135200, .in_keys = 1,
         .shared = 1081728, .slot = 540864, .slots = 1, .together = 1},
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = polysketch_learned_r64_local_few_any, .tile = 0, .own = 517120, .few_rows = 64, .lanes = 4, .of_pair = 128,
         .shared = 1315072, .slot = 16704, .slots = 1, .together = 1},
    {.role = RUN_FORWARD,
     .rows = polysketch_learned_r64_local_rows_any, .tile = 128, .own = 481024, .of_pair = 128},
};
static const struct target target[] = {
#if defined(__x86_64__)
    {runs_v4, programs_v4, sizeof programs_v4 / sizeof *programs_v4},
#endif
#if defined(__x86_64__)
    {runs_v3, programs_v3, sizeof programs_v3 / sizeof *programs_v3},
#endif
    {NULL, programs_any, sizeof programs_any / sizeof *programs_any},
    {NULL, NULL, 0},
};

#include <attnrt/kernel/openmp.h>
static const struct kernel kernel = {
    .layout = KERNEL_LAYOUT, .name = "polysketch_learned_r64_local", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .param = param, .params = 16, .params_bytes = sizeof(struct polysketch_learned_r64_local_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 64, .value_dim = 64, .key_row = 64, .value_row = 64,
    .shares = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .solution = -1,
};

/* ==== the interface ==== */
size_t polysketch_learned_r64_local_params_size(void) { return attn_call_params_size(&kernel); }
int polysketch_learned_r64_local_params_init(struct polysketch_learned_r64_local_params *params, uint64_t seed,
    void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t polysketch_learned_r64_local_workspace(const struct attn_problem *problem)
{
    return attn_call_workspace(&kernel, problem);
}
int polysketch_learned_r64_local_forward(const struct attn_problem *problem,
    const struct polysketch_learned_r64_local_params *params, const float *q, const float *k, const float *v,
    float *out, void *workspace)
{
    return attn_call_forward(&kernel, problem, params, (const void *const[]){q, k, v, out}, workspace);
}
static int forward_any(const struct attn_problem *problem, const void *params, const void *q, const void *k,
    const void *v, void *out, void *workspace)
{
    return attn_call_forward(&kernel, problem, params, (const void *const[]){q, k, v, out}, workspace);
}
static int params_init_any(void *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
const struct attn_kernel polysketch_learned_r64_local_kernel = {
    .name = "polysketch_learned_r64_local", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 16, .param = param, .params_bytes = sizeof(struct polysketch_learned_r64_local_params),
    .params_size = polysketch_learned_r64_local_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = polysketch_learned_r64_local_workspace,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .before = INT64_MAX, .after = 0, .period = 0, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
