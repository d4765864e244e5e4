/* Vector types of a target, and the functions on them that its code uses: loads and stores, the register-blocked product, and elementary
   functions. Text of emitted C in which `@` stands for the target's suffix, `REAL`, `LANES`, … for what emit_vector_functions says. */
#include "compiler.h"

#include <string.h>

static const char types[] = "/* $LANES elements in a register; $mask compares them, $ints are positions, $wide is for what needs double. */\n"
                            "typedef $REAL vec_@ __attribute__((vector_size($BYTES)));\n"
                            "typedef $REAL stored_@ __attribute__((vector_size($BYTES), aligned(sizeof($REAL)), may_alias)); /* in memory, at any element */\n"
                            "typedef $BITS mask_@ __attribute__((vector_size($BYTES)));\n"
                            "typedef int64_t ints_@ __attribute__((vector_size($WIDE)));\n"
                            "typedef double wide_@ __attribute__((vector_size($WIDE)));\n"
                            "$HALVES\n"
                            "$TARGET INLINE vec_@ load_@(const $REAL *p) { return *(const stored_@ *)(const void *)p; }\n"
                            "$TARGET INLINE void store_@($REAL *p, vec_@ x) { *(stored_@ *)(void *)p = x; }\n"
                            "$TARGET INLINE vec_@ splat_@($REAL x) { return x - (vec_@){0}; }\n";

static const char widened_bf16[] = "$TARGET INLINE vec_@ widened_@(const uint16_t *p) /* bf16 is the upper half of a float */\n"
                                   "{\n"
                                   "    return (vec_@)(__builtin_convertvector(*(const halves_@ *)(const void *)p, mask_@) << 16);\n"
                                   "}\n";
static const char
    widened_f16[] = "$TARGET INLINE vec_@ widened_@(const uint16_t *p) /* f16 has 5 bits of exponent and 10 of fraction */\n"
                    "{\n"
                    "    const mask_@ bits = __builtin_convertvector(*(const halves_@ *)(const void *)p, mask_@), x = (bits & 0x7fff) << 13;\n"
                    "    const mask_@ normal = x + (112 << 23) + ((mask_@)(x >= 0x0f800000) & (112 << 23)); /* infinity and NaN stay what they are */\n"
                    "    const vec_@ tiny = (vec_@)(x + (113 << 23)) - 0x1p-14f;\n"
                    "    return (vec_@)((mask_@)pick_@((mask_@)(x < 0x00800000), tiny, (vec_@)normal) | (bits & 0x8000) << 16);\n"
                    "}\n";

static const char pick[] = "/* a where the mask is set, else b */\n"
                           "$TARGET INLINE vec_@ pick_@(mask_@ m, vec_@ a, vec_@ b) { return (vec_@)((m & (mask_@)a) | (~m & (mask_@)b)); }\n";

static const char lane[] = "static const ints_@ lane_@ = {$IOTA};\n";

static const char drawn[] = "/* for every a in the lanes: is b one of the numbers drawn for it? */\n"
                            "$TARGET INLINE mask_@ drawn_@(const struct attn_draw *draw, const ints_@ *a, int64_t b)\n"
                            "{\n"
                            "    ints_@ found = {0};\n"
                            "    for (int64_t n = draw->first; n <= draw->last; n++)\n"
                            "        if (attn_drawn(draw, n, b)) found |= *a == n;\n"
                            "    return __builtin_convertvector(found, mask_@);\n"
                            "}\n";
static const char maximum[] = "$TARGET INLINE vec_@ max_@(vec_@ a, vec_@ b) { return pick_@((mask_@)(a < b), b, a); }\n";
static const char minimum[] = "$TARGET INLINE vec_@ min_@(vec_@ a, vec_@ b) { return pick_@((mask_@)(b < a), b, a); }\n";
static const char with_nan[] = "/* The same, and NaN stays as the second, too. */\n"
                               "$TARGET INLINE vec_@ $NAME_nan_@(vec_@ a, vec_@ b) { return pick_@((mask_@)(b != b), b, $NAME_@(a, b)); }\n";
static const char absolute[] = "$TARGET INLINE vec_@ abs_@(vec_@ x) { return (vec_@)((mask_@)x & $MAGNITUDE); }\n";

static const char high_part[] = "/* The leading 12 bits of x: times a whole number up to 4096 they are exact. */\n"
                                "INLINE float high_part_@(double x)\n"
                                "{\n"
                                "    union {\n"
                                "        float number;\n"
                                "        uint32_t bits;\n"
                                "    } part = {(float)x};\n"
                                "    part.bits &= 0xfffff000u;\n"
                                "    return part.number;\n"
                                "}\n";

/* 2^x = 2^n 2^f, n the nearest integer: adding 1.5 * 2^23 (or 2^52) leaves n in the low bits. Below the smallest exponent the scale is exactly 0. */
static const char series_f32[] = "    vec_@ p = f * 0.00015453163f + 0.0013390863f;\n"
                                 "    p = p * f + 0.0096180826f;\n"
                                 "    p = p * f + 0.055503571f;\n"
                                 "    p = p * f + 0.24022651f;\n"
                                 "    p = p * f + 0.69314719f;\n"
                                 "    p = p * f + 1.0f;\n";
static const char exp2_f32[] = "/* 2^x; off by less than 1e-8 of the value. 0 below -127, NaN stays. */\n"
                               "$TARGET INLINE vec_@ exp2_@(vec_@ x)\n"
                               "{\n"
                               "    x = pick_@((mask_@)(x < -127.0f), splat_@(-127.0f), x);\n"
                               "    x = pick_@((mask_@)(x > 128.0f), splat_@(128.0f), x);\n"
                               "    const vec_@ t = x + 12582912.0f; /* 1.5 * 2^23: the integer nearest to x is in the low bits of t */\n"
                               "    const vec_@ f = x - (t - 12582912.0f);\n"
                               "$SERIES"
                               "    return p * (vec_@)(((mask_@)t + 127) << 23);\n"
                               "}\n";
static const char series_f64[] = "    vec_@ p = f * 2.5729324177362304214e-11 + 4.455817908336064493e-10;\n"
                                 "    p = p * f + 7.0548973041554992774e-09;\n"
                                 "    p = p * f + 1.0178057087733941105e-07;\n"
                                 "    p = p * f + 1.321548680870556279e-06;\n"
                                 "    p = p * f + 1.5252733841556772589e-05;\n"
                                 "    p = p * f + 0.00015403530393370733411;\n"
                                 "    p = p * f + 0.0013333558146406470697;\n"
                                 "    p = p * f + 0.0096181291076284794928;\n"
                                 "    p = p * f + 0.055504108664821627039;\n"
                                 "    p = p * f + 0.24022650695910071233;\n"
                                 "    p = p * f + 0.69314718055994530925;\n"
                                 "    p = p * f + 1.0;\n";
static const char exp2_f64[] = "/* 2^x; off by less than 2e-19 of the value. 0 below -1023, NaN stays. */\n"
                               "$TARGET INLINE vec_@ exp2_@(vec_@ x)\n"
                               "{\n"
                               "    x = pick_@((mask_@)(x < -1023.0), splat_@(-1023.0), x);\n"
                               "    x = pick_@((mask_@)(x > 1024.0), splat_@(1024.0), x);\n"
                               "    const vec_@ t = x + 6755399441055744.0; /* 1.5 * 2^52: the integer nearest to x is in the low bits of t */\n"
                               "    const vec_@ f = x - (t - 6755399441055744.0);\n"
                               "$SERIES"
                               "    return p * (vec_@)(((mask_@)t + 1023) << 52);\n"
                               "}\n";

/* The same where AVX512-DQ has the remainder and the scaling as instructions, with a third of the other operations. */
static const char
    exp2_dq[] = "/* 2^x; off by less than $OFF of the value. 0 below $LEAST, as numbers without a leading 1 are slow on many machines; NaN stays. */\n"
                "$TARGET INLINE vec_@ exp2_@(vec_@ x)\n"
                "{\n"
                "    vec_@ f, y;\n"
                "    uint16_t normal;\n"
                "    __asm__(\"vcmp$P $0x15, %2, %1, %0\" : \"=Yk\"(normal) : \"v\"(x), \"v\"(splat_@($LEAST))); /* not less */\n"
                "    __asm__(\"vreduce$P $0, %1, %0\" : \"=v\"(f) : \"v\"(x)); /* x without the nearest integer, 0 for infinity */\n"
                "$SERIES"
                "    __asm__(\"vscalef$P %2, %1, %0%{%3%}%{z%}\" : \"=v\"(y) : \"v\"(p), \"v\"(x - f), \"Yk\"(normal)); /* p * 2^(x - f) */\n"
                "    return y;\n"
                "}\n";

/* e^x = 2^n e^r; the exponent of 2^n is built as in 2^x. */
static const char exp_any[] = "/* e^x, as 2^n 2^f with f from a remainder in two parts. NaN stays. */\n"
                              "$TARGET INLINE vec_@ exp_@(vec_@ x)\n"
                              "{\n"
                              "    x = pick_@((mask_@)(x < -$FARTHEST), splat_@(-$FARTHEST), x);\n"
                              "    x = pick_@((mask_@)(x > $FARTHEST), splat_@($FARTHEST), x);\n"
                              "    const vec_@ t = x * $LOG2E + $MAGIC, n = t - $MAGIC;\n"
                              "    const vec_@ r = (x - n * $LN2_HIGH) - n * $LN2_LOW;\n"
                              "    return exp2_@(r * $LOG2E) * exp2_@(n);\n"
                              "}\n";

/* tanh x = m / (m + 2) with m = e^(2|x|) - 1 = 2^n (e^r - 1) + (2^n - 1), which keeps full accuracy near 0. */
static const char tanh_f32[] = "/* tanh, within 3 ulp, from e^(2|x|) - 1 without cancellation */\n"
                               "$TARGET INLINE vec_@ tanh_@(vec_@ x)\n"
                               "{\n"
                               "    const mask_@ sign = (mask_@)x & ~$MAGNITUDE;\n"
                               "    vec_@ y = (vec_@)((mask_@)x & $MAGNITUDE) * 2.0f;\n"
                               "    y = pick_@((mask_@)(y > 20.0f), splat_@(20.0f), y);\n"
                               "    const vec_@ t = y * 1.4426950408889634f + 12582912.0f, n = t - 12582912.0f;\n"
                               "    const vec_@ r = (y - n * 0.693145751953125f) - n * 1.4286068203094172e-06f;\n"
                               "    vec_@ p = r * 0.0013926184f + 0.0083631791f;\n"
                               "    p = p * r + 0.041666555f;\n"
                               "    p = p * r + 0.16666577f;\n"
                               "    p = p * r + 0.5f;\n"
                               "    p = p * (r * r) + r;\n"
                               "    const vec_@ scale = (vec_@)(((mask_@)t + 127) << 23);\n"
                               "    const vec_@ m = scale * p + (scale - 1.0f);\n"
                               "    return (vec_@)((mask_@)(m / (m + 2.0f)) | sign);\n"
                               "}\n";
static const char tanh_f64[] = "/* tanh, within 3 ulp, from e^(2|x|) - 1 without cancellation */\n"
                               "$TARGET INLINE vec_@ tanh_@(vec_@ x)\n"
                               "{\n"
                               "    const mask_@ sign = (mask_@)x & ~$MAGNITUDE;\n"
                               "    vec_@ y = (vec_@)((mask_@)x & $MAGNITUDE) * 2.0;\n"
                               "    y = pick_@((mask_@)(y > 40.0), splat_@(40.0), y);\n"
                               "    const vec_@ t = y * 1.4426950408889634074 + 6755399441055744.0, n = t - 6755399441055744.0;\n"
                               "    const vec_@ r = (y - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;\n"
                               "    vec_@ p = r * 2.0914686968086877233e-09 + 2.5105217004720745164e-08;\n"
                               "    p = p * r + 2.7557273643110295328e-07;\n"
                               "    p = p * r + 2.755725540020642443e-06;\n"
                               "    p = p * r + 2.4801587325547741216e-05;\n"
                               "    p = p * r + 0.00019841269874820625271;\n"
                               "    p = p * r + 0.0013888888888883748305;\n"
                               "    p = p * r + 0.0083333333333261351258;\n"
                               "    p = p * r + 0.041666666666669755;\n"
                               "    p = p * r + 0.16666666666666670991;\n"
                               "    p = p * r + 0.5;\n"
                               "    p = p * (r * r) + r;\n"
                               "    const vec_@ scale = (vec_@)(((mask_@)t + 1023) << 52);\n"
                               "    const vec_@ m = scale * p + (scale - 1.0);\n"
                               "    return (vec_@)((mask_@)(m / (m + 2.0)) | sign);\n"
                               "}\n";

/* x = q pi/2 + r with pi/2 in three parts (fdlibm's), so that r is exact to 1e-17 for angles up to 10^6; sine and cosine of r by polynomials. */
static const char circle[] = "/* The sine of *x plus `quarter` quarter turns. */\n"
                             "$TARGET INLINE vec_@ turn_@(const wide_@ *x, int64_t quarter)\n"
                             "{\n"
                             "    const wide_@ t = *x * 0.63661977236758134308 + 6755399441055744.0; /* quarter turns, rounded, in the low bits */\n"
                             "    const wide_@ n = t - 6755399441055744.0;\n"
                             "    const wide_@ rest = ((*x - n * 1.57079632673412561417) - n * 6.07710050630396597660e-11) - n * 2.02226624879595063154e-21;\n"
                             "    const ints_@ turns = (ints_@)t + quarter;\n"
                             "    const vec_@ r = __builtin_convertvector(rest, vec_@), z = r * r;\n"
                             "$SINE"
                             "    const mask_@ odd = __builtin_convertvector(-(turns & 1), mask_@), negative = __builtin_convertvector((turns & 2), mask_@);\n"
                             "    return (vec_@)((mask_@)pick_@(odd, c, s) ^ (negative << $SHIFT));\n"
                             "}\n"
                             "$TARGET INLINE vec_@ sin_@(const wide_@ *x) { return turn_@(x, 0); }\n"
                             "$TARGET INLINE vec_@ cos_@(const wide_@ *x) { return turn_@(x, 1); }\n";
static const char circle_f32[] = "    const vec_@ s = r + r * z * (z * (z * -0.00019587841f + 0.0083327480f) - 0.16666665f);\n"
                                 "    const vec_@ c = 1.0f - z * 0.5f + z * z * (z * (z * 2.4547892e-05f - 0.0013888303f) + 0.041666665f);\n";
static const char
    circle_f64[] = "    vec_@ s = z * -7.5866850700912671596e-13 + 1.6058531414589010757e-10, c = z * -1.1382614868556324576e-11 + 2.0876146024689746601e-09;\n"
                   "    s = s * z - 2.5052106231157905487e-08;\n"
                   "    s = s * z + 2.7557319219335453429e-06;\n"
                   "    s = s * z - 0.00019841269841265060174;\n"
                   "    s = s * z + 0.0083333333333333314899;\n"
                   "    s = s * z - 0.16666666666666666666;\n"
                   "    s = r + r * z * s;\n"
                   "    c = c * z - 2.7557317270560324065e-07;\n"
                   "    c = c * z + 2.4801587298763433164e-05;\n"
                   "    c = c * z - 0.0013888888888887395746;\n"
                   "    c = c * z + 0.041666666666666665387;\n"
                   "    c = 1.0 - z * 0.5 + z * z * c;\n";

/* What has no vector form of its own goes lane by lane through the C library. */
static const char by_lane[] = "$TARGET INLINE vec_@ $NAME_@(vec_@ x)\n"
                              "{\n"
                              "    vec_@ y = x;\n"
                              "    for (int k = 0; k < $LANES; k++) y[k] = $NAME$F(x[k]);\n"
                              "    return y;\n"
                              "}\n";
static const char sqrt_avx[] = "$TARGET INLINE vec_@ sqrt_@(vec_@ x)\n"
                               "{\n"
                               "    vec_@ y;\n"
                               "    __asm__(\"vsqrt$P %1, %0\" : \"=v\"(y) : \"v\"(x));\n"
                               "    return y;\n"
                               "}\n";
static const char power[] = "$TARGET INLINE vec_@ pow_@(vec_@ x, vec_@ y)\n"
                            "{\n"
                            "    vec_@ z = x;\n"
                            "    for (int k = 0; k < $LANES; k++) z[k] = pow$F(x[k], y[k]);\n"
                            "    return z;\n"
                            "}\n";

static const char add[] = "/* *sum becomes *sum * factor + x; *rest carries what rounding leaves over to the next addition (Kahan). */\n"
                          "$TARGET INLINE void add_@($REAL *sum, $REAL *rest, vec_@ x, vec_@ factor)\n"
                          "{\n"
                          "    const vec_@ old = load_@(sum) * factor, more = load_@(rest) * factor + x, new = old + more;\n"
                          "    store_@(rest, more - (new - old));\n"
                          "    store_@(sum, new);\n"
                          "}\n";

/* Bits of the exponent that are all set carry into the sign. */
static const char finite[] = "typedef $WORD bits_$KIND@ __attribute__((vector_size($BYTES), aligned(sizeof($IN)), may_alias));\n"
                             "typedef $WORD bit_$KIND@ __attribute__((may_alias));\n"
                             "/* Whether none of these numbers is infinite or NaN. */\n"
                             "$TARGET APART int finite_$KIND@(const $IN *p, int64_t row, int64_t rows, int64_t columns)\n"
                             "{\n"
                             "    bits_$KIND@ found = {0};\n"
                             "    $WORD one = 0;\n"
                             "    for (int64_t r = 0; r < rows; r++, p += row) {\n"
                             "        int64_t c = 0;\n"
                             "        for (; c + $WORDS <= columns; c += $WORDS) found |= (*(const bits_$KIND@ *)(const void *)(p + c) & $LARGEST) + $CARRY;\n"
                             "        for (; c < columns; c++) one |= (*(const bit_$KIND@ *)(const void *)(p + c) & $LARGEST) + $CARRY;\n"
                             "    }\n"
                             "    for (int k = 0; k < $WORDS; k++) one |= found[k];\n"
                             "    return one <= $LARGEST;\n"
                             "}\n";
static const char add_seen[] =
    "/* Row r of sums, of which there are `rows`, += values[r * step] * weights, where that value is infinite or NaN, in the lanes that see it. */\n"
    "$TARGET APART void add_seen_@(int64_t rows, $REAL *sum, int64_t sum_row, const $REAL *values, int64_t step, const $REAL *weights, const mask_@ *seen, int64_t lanes)\n"
    "{\n"
    "    for (int64_t r = 0; r < rows; r++, sum += sum_row, values += step)\n"
    "        for (int64_t x = 0; x < lanes && !finite_@(values, 0, 1, 1); x += $LANES)\n"
    "            store_@(sum + x, pick_@(seen[x / $LANES], load_@(sum + x) + *values * load_@(weights + x), load_@(sum + x)));\n"
    "}\n\n";
static const char add_seen_paired[] =
    "/* The same of pairs of bf16; `second`: which of its pair a weight is. */\n"
    "$TARGET APART void add_seen_paired_@(int64_t rows, $REAL *sum, int64_t sum_row, const uint16_t *values, int64_t step, const uint16_t *weights, int64_t second,\n"
    "    const mask_@ *seen, int64_t lanes)\n"
    "{\n"
    "    for (int64_t r = 0; r < rows; r++, sum += sum_row, values += step)\n"
    "        for (int64_t x = 0; x < lanes && !finite_paired_@(values, 0, 1, 1); x += $LANES) {\n"
    "            const mask_@ pair = load_paired_@(weights + 2 * x), value = (mask_@){0} + (int32_t)((uint32_t)*values << 16);\n"
    "            const vec_@ weight = (vec_@)(second ? pair & -65536 : pair << 16);\n"
    "            store_@(sum + x, pick_@(seen[x / $LANES], load_@(sum + x) + (vec_@)value * weight, load_@(sum + x)));\n"
    "        }\n"
    "}\n\n";

static const char block[] =
    "/* c[r][x] = sum over t of a[r][t] * b[t][x]$SAYS for up to $ROWS rows and `vectors` vectors of x, the sums in registers;\n"
    "   `then` says what becomes of c: 0 the sum, 1 c + sum, 2 c * factor[x] + sum, 3 the same with what rounding leaves over in `rest`. */\n"
    "$TARGET INLINE void block_$KIND@(const int rows, const int vectors, int64_t steps, const $IN *a, int64_t a_row, int64_t a_step, const $IN *b, int64_t b_step,\n"
    "    $REAL *c, int64_t c_row, const int then$BY_PARAMETER, const $REAL *factor$PARAMETER)\n"
    "{\n"
    "    vec_@ sum[$ROWS][$VECTORS];\n"
    "    UNROLL for (int r = 0; r < rows; r++)\n"
    "        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = (vec_@){0};\n"
    "    for (int64_t t = 0; t < steps; t++, a += a_step, b += b_step) {\n"
    "        $VALUE x[$VECTORS];\n"
    "        UNROLL for (int v = 0; v < vectors; v++) x[v] = $FETCH(b + v * $AHEAD);\n"
    "        UNROLL for (int r = 0; r < rows; r++) {\n"
    "            const $ONE y = $PICK;\n"
    "            UNROLL for (int v = 0; v < vectors; v++) $MULTIPLY;\n"
    "        }\n"
    "    }\n"
    "    UNROLL for (int v = 0; v < vectors; v++) {\n"
    "        const vec_@ times = then >= 2 && factor ? load_@(factor + v * $LANES) : splat_@(1);\n"
    "        UNROLL for (int r = 0; r < rows; r++) {\n"
    "            $REAL *const to = c + r * c_row + v * $LANES;\n"
    "$REST"
    "            store_@(to, then == 0 ? sum[r][v]$BY_SUM : then == 1 ? load_@(to) + sum[r][v]$BY_SUM : load_@(to) * times + sum[r][v]);\n"
    "        }\n"
    "    }\n"
    "}\n\n"
    "/* The same, where the sum is set, of more than 2 * `part` terms in parts of so many: rounding grows with the length of one. */\n"
    "$TARGET INLINE void parts_$KIND@(const int rows, const int vectors, int64_t steps, const int64_t part, const $IN *a, int64_t a_row, int64_t a_step, const $IN *b,\n"
    "    int64_t b_step, $REAL *c, int64_t c_row, const int then$BY_PARAMETER, const $REAL *factor$PARAMETER)\n"
    "{\n"
    "    const int64_t first = then == 0 && steps > 2 * part ? part : steps;\n"
    "    block_$KIND@(rows, vectors, first, a, a_row, a_step, b, b_step, c, c_row, then$BY_ARGUMENT, factor$REST_ARGUMENT);\n"
    "    if (then == 0)\n"
    "        for (int64_t t = first; t < steps; t += part)\n"
    "            block_$KIND@(rows, vectors, least(part, steps - t), a + t * a_step, a_row, a_step, b + t * b_step, b_step, c, c_row, 1$BY_ARGUMENT, NULL$REST_NULL);\n"
    "}\n\n"
    "/* The same for any number of rows and `lanes` lanes, a multiple of `vectors` vectors; `odd`: rows % $ROWS if that is constant, else -1. */\n"
    "$TARGET INLINE void dot_$KIND@(const int vectors, const int64_t lanes, int64_t rows, const int odd, int64_t steps, const int64_t part, const $IN *a, int64_t a_row,\n"
    "    int64_t a_step, const $IN *b, int64_t b_step, $REAL *c, int64_t c_row, const int then$BY_PARAMETER, const $REAL *factor$PARAMETER)\n"
    "{\n"
    "    for (int64_t x = 0; x < lanes; x += vectors * $LANES) {\n"
    "        const $REAL *const f = factor ? factor + x : NULL;\n"
    "$LEFT"
    "        int64_t r = 0;\n"
    "        for (; r + $ROWS <= rows; r += $ROWS)\n"
    "            parts_$KIND@($ROWS, vectors, steps, part, a + r * a_row, a_row, a_step, b + $TWICEx, b_step, c + r * c_row + x, c_row, then$BY_ARGUMENT, f$ARGUMENT);\n"
    "        switch (odd >= 0 ? odd : rows - r) {\n"
    "$CASES"
    "        }\n"
    "    }\n"
    "}\n";
/* Row by row, for a copy of few numbers. Of pairs, the last is whole. */
static const char dot_finite[] =
    "\n/* The same with 0 for what is infinite or NaN in a. */\n"
    "$TARGET INLINE void dot_finite_$KIND@(const int vectors, const int64_t lanes, int64_t rows, const int odd, int64_t steps, const int64_t part, const $IN *a, int64_t a_row,\n"
    "    int64_t a_step, const $IN *b, int64_t b_step, $REAL *c, int64_t c_row, const int then$BY_PARAMETER, const $REAL *factor$PARAMETER)\n"
    "{\n"
    "    $IN row[$MOST];\n"
    "    (void)odd;\n"
    "    for (int64_t r = 0; r < rows; r++, a += a_row) {\n"
    "        for (int64_t t = 0; t < steps; t++)\n"
    "            for (int k = 0; k < $PAIR; k++) row[$PAIR * t + k] = finite_$KIND@(a + t * a_step + k, 0, 1, 1) ? a[t * a_step + k] : 0;\n"
    "        dot_$KIND@(vectors, lanes, 1, $ODD, steps, part, row, 0, $PAIR, b, b_step, c + r * c_row, c_row, then$BY_ARGUMENT, factor$REST_ROW);\n"
    "    }\n"
    "}\n";
/* Pairs of bf16: 32 bits, the first in the lower half. They are sums' own instructions, so here the code is the processor's. */
static const char paired[] = "typedef int32_t near_@ __attribute__((aligned(2), may_alias)); /* in memory, at any element */\n"
                             "typedef mask_@ pairs_@ __attribute__((aligned(2), may_alias));\n"
                             "$TARGET INLINE int32_t pair_@(const uint16_t *p) { return *(const near_@ *)(const void *)p; }\n"
                             "$TARGET INLINE void set_pair_@(uint16_t *p, int32_t pair) { *(near_@ *)(void *)p = pair; }\n"
                             "$TARGET INLINE mask_@ load_paired_@(const uint16_t *p) { return *(const pairs_@ *)(const void *)p; }\n"
                             "/* sum + the product of first elements + that of second ones */\n"
                             "$TARGET INLINE vec_@ multiply_@(vec_@ sum, int32_t a, mask_@ b)\n"
                             "{\n"
                             "    return (vec_@)_mm512_dpbf16_ps((__m512)sum, (__m512bh)_mm512_set1_epi32(a), (__m512bh)b);\n"
                             "}\n"
                             "$TARGET INLINE void join_@(uint16_t *p, const uint16_t *first, const uint16_t *second)\n"
                             "{\n"
                             "    mask_@ x = __builtin_convertvector(*(const halves_@ *)(const void *)first, mask_@);\n"
                             "    if (second) x |= __builtin_convertvector(*(const halves_@ *)(const void *)second, mask_@) << 16;\n"
                             "    *(pairs_@ *)(void *)p = x;\n"
                             "}\n"
                             "$TARGET INLINE void store_paired_@(uint16_t *p, vec_@ first, vec_@ second) /* rounded to nearest even */\n"
                             "{\n"
                             "    const __m512i both = (__m512i)_mm512_cvtne2ps_pbh((__m512)second, (__m512)first);\n"
                             "    const mask_@ turns = {$TURNS};\n" /* of 16-bit elements: the k-th, the (16 + k)-th, … */
                             "    *(pairs_@ *)(void *)p = (mask_@)_mm512_permutexvar_epi16((__m512i)turns, both);\n"
                             "}\n\n";

static const char block_rest[] = "            if (then == 3) {\n"
                                 "                add_@(to, rest + r * c_row + v * $LANES, sum[r][v], times);\n"
                                 "                continue;\n"
                                 "            }\n";

/* Replaces every key of the NULL-ended list key, value, key, value, … */
static void fill(struct text *out, const char *text, const char *const *pairs)
{
    for (const char *c = text; *c;) {
        const char *const *found = NULL;
        for (const char *const *p = pairs; *p && !found; p += 2)
            if (strncmp(c, *p, strlen(*p)) == 0) found = p;
        if (found) {
            text_append(out, found[1], strlen(found[1]));
            c += strlen(*found);
        } else
            text_append(out, c++, 1);
    }
}

/* What the product hands on where sums keep a rest. */
static const char *rest_argument(const struct emitter *x)
{
    return x->uses_rest ? ", left ? left + r * c_row : NULL" : "";
}

/* The product of f32, or of pairs of bf16; `pairs`, so many bytes, are the keys of all functions. */
static void products(struct emitter *x, const char *const *pairs, size_t bytes, bool of_bf16)
{
    enum { OWN = 36, MOST = 120 };
    struct arena *arena = x->m->arena;
    const int64_t most = of_bf16 ? x->region_pairs + x->region_pairs % 2 : x->region_keys;
    struct text cases = {0};
    for (int r = x->rows - 1; r > 0; r--)
        text_add(
            &cases,
            "        case %d: parts_%s%s(%d, vectors, steps, part, a + r * a_row, a_row, a_step, b + %sx, b_step, c + r * c_row + x, c_row, then%s, f%s); break;\n",
            r, of_bf16 ? "paired_" : "", x->suffix, r, of_bf16 ? "2 * " : "", of_bf16 ? ", by" : "", rest_argument(x));
    const char *own[OWN] = {"$KIND",         of_bf16 ? "paired_" : "",
                            "$IN",           of_bf16 ? "uint16_t" : x->real,
                            "$VALUE",        arena_printf(arena, of_bf16 ? "mask_%s" : "vec_%s", x->suffix),
                            "$FETCH",        arena_printf(arena, of_bf16 ? "load_paired_%s" : "load_%s", x->suffix),
                            "$AHEAD",        arena_printf(arena, "%d", of_bf16 ? 2 * x->lanes : x->lanes),
                            "$ONE",          of_bf16 ? "int32_t" : x->real,
                            "$PICK",         of_bf16 ? arena_printf(arena, "pair_%s(a + r * a_row)", x->suffix) : "a[r * a_row]",
                            "$MULTIPLY",     of_bf16 ? arena_printf(arena, "sum[r][v] = multiply_%s(sum[r][v], y, x[v])", x->suffix) : "sum[r][v] += y * x[v]",
                            "$TWICE",        of_bf16 ? "2 * " : "",
                            "$SAYS",         of_bf16 ? ", times `by` unless there is a factor, a and b pairs of bf16," : "",
                            "$BY_PARAMETER", of_bf16 ? ", const float by" : "",
                            "$BY_ARGUMENT",  of_bf16 ? ", by" : "",
                            "$BY_SUM",       of_bf16 ? " * by" : "",
                            "$CASES",        cases.data ? cases.data : "",
                            "$MOST",         arena_printf(arena, "%lld", (long long)most),
                            "$PAIR",         of_bf16 ? "2" : "1",
                            "$ODD",          x->rows > 1 ? "1" : "0",
                            "$REST_ROW",     x->uses_rest ? ", rest ? rest + r * c_row : NULL" : ""};
    const char *all[MOST];
    memcpy(all, own, sizeof own);
    memcpy(all + OWN, pairs, bytes);
    fill(x->out, block, all);
    if (most) fill(x->out, dot_finite, all);
    text_add(x->out, "\n");
    text_free(&cases);
}

/* What products over a region call, for numbers, or for pairs of bf16. */
static void regions(struct emitter *x, const char *const *pairs, size_t bytes, bool of_bf16)
{
    enum { OWN = 12, MOST = 112 };
    bool narrow = x->m->dtype != DTYPE_F64;
    const char *own[OWN] = {"$KIND",    of_bf16 ? "paired_" : "",
                            "$IN",      of_bf16 ? "uint16_t" : x->real,
                            "$WORDS",   arena_printf(x->m->arena, "%d", of_bf16 ? 2 * x->lanes : x->lanes),
                            "$WORD",    of_bf16 ? "uint16_t" : narrow ? "uint32_t" : "uint64_t",
                            "$LARGEST", of_bf16 ? "0x7fff" : narrow ? "0x7fffffff" : "UINT64_C(0x7fffffffffffffff)",
                            "$CARRY",   of_bf16 ? "0x0080" : narrow ? "0x00800000" : "UINT64_C(0x0010000000000000)"};
    const char *all[MOST];
    memcpy(all, own, sizeof own);
    memcpy(all + OWN, pairs, bytes);
    fill(x->out, finite, all);
    fill(x->out, of_bf16 ? add_seen_paired : add_seen, all);
}

void emit_vector_functions(struct emitter *x)
{
    struct arena *arena = x->m->arena;
    bool narrow = x->m->dtype != DTYPE_F64;
    struct text iota = {0}, sine = {0}, series = {0}, rest = {0}, turns_of = {0};
    for (int k = 0; k < x->lanes; k++) text_add(&iota, "%s%d", k ? ", " : "", k);
    for (int k = 0; k < x->lanes; k++) text_add(&turns_of, "%s%d", k ? ", " : "", (x->lanes + k) << 16 | k);
    const char *argument = rest_argument(x);
    const char *target = x->c->target->attribute[0] ? arena_printf(arena, "TARGET_%s", x->suffix) : "";
    const char *suffix_pair[] = {"@", x->suffix, NULL};
    fill(&series, narrow ? series_f32 : series_f64, suffix_pair);
    fill(&sine, narrow ? circle_f32 : circle_f64, suffix_pair);
    const char *lanes_pair[] = {"@", x->suffix, "$LANES", arena_printf(arena, "%d", x->lanes), NULL};
    if (x->uses_rest) fill(&rest, block_rest, lanes_pair);
    const char *pairs[] = {
        "@",
        x->suffix,
        "$REAL",
        x->real,
        "$BITS",
        narrow ? "int32_t" : "int64_t",
        "$LANES",
        arena_printf(arena, "%d", x->lanes),
        "$BYTES",
        arena_printf(arena, "%d", x->c->target->vector_bytes),
        "$HALVES",
        x->uses_widened || x->uses_paired
            ? arena_printf(arena, "typedef uint16_t halves_%s __attribute__((vector_size(%d), aligned(2), may_alias));\n", x->suffix, 2 * x->lanes)
            : "",
        "$WIDE",
        arena_printf(arena, "%d", 8 * x->lanes),
        "$TARGET ",
        *target ? arena_printf(arena, "%s ", target) : "",
        "$IOTA",
        iota.data,
        "$ROWS",
        arena_printf(arena, "%d", x->rows),
        "$VECTORS",
        arena_printf(arena, "%d", x->vectors),
        "$MAGNITUDE",
        narrow ? "0x7fffffff" : "INT64_C(0x7fffffffffffffff)",
        "$SHIFT",
        narrow ? "30" : "62",
        "$SINE",
        sine.data,
        "$PARAMETER",
        x->uses_rest ? arena_printf(arena, ", %s *rest", x->real) : "",
        "$REST_ARGUMENT",
        x->uses_rest ? ", rest" : "",
        "$REST_NULL",
        x->uses_rest ? ", NULL" : "",
        "$REST",
        rest.data ? rest.data : "",
        "$ARGUMENT",
        argument,
        "$LEFT",
        x->uses_rest ? arena_printf(arena, "        %s *const left = rest ? rest + x : NULL;\n", x->real) : "",
        "$TURNS",
        turns_of.data,
        "$mask",
        arena_printf(arena, "mask_%s", x->suffix),
        "$ints",
        arena_printf(arena, "ints_%s", x->suffix),
        "$wide",
        arena_printf(arena, "wide_%s", x->suffix),
        "$SERIES",
        series.data,
        "$OFF",
        narrow ? "1e-8" : "2e-19",
        "$LEAST",
        narrow ? "-126.0f" : "-1022.0",
        "$P",
        narrow ? "ps" : "pd",
        "$FARTHEST",
        narrow ? "89.0f" : "710.0",
        "$MAGIC",
        narrow ? "12582912.0f" : "6755399441055744.0",
        "$LOG2E",
        narrow ? "1.44269504f" : "1.4426950408889634074",
        "$LN2_HIGH",
        narrow ? "0.693145751953125f" : "0.693147180369123816490",
        "$LN2_LOW",
        narrow ? "1.4286068203094172e-06f" : "1.90821492927058770002e-10",
        "$F",
        narrow ? "f" : "",
        NULL};
    const bool *uses = x->uses;
    bool turns = uses[EXPR_SIN] || uses[EXPR_COS];
    fill(x->out, types, pairs);
    if (uses[EXPR_SELECT] || uses[EXPR_MAX] || uses[EXPR_MIN] || uses[EXPR_EXP2] || uses[EXPR_EXP] || uses[EXPR_TANH] || turns ||
        (x->uses_widened && x->m->dtype == DTYPE_F16))
        fill(x->out, pick, pairs);
    if (x->uses_widened) fill(x->out, x->m->dtype == DTYPE_F16 ? widened_f16 : widened_bf16, pairs);
    if (uses[EXPR_INDEX]) fill(x->out, lane, pairs);
    if (uses[EXPR_DRAWN]) fill(x->out, drawn, pairs);
    if (uses[EXPR_MAX]) fill(x->out, maximum, pairs);
    if (uses[EXPR_MIN]) fill(x->out, minimum, pairs);
    for (enum expr_op op = EXPR_MIN; op <= EXPR_MAX; op++) {
        const char *named[sizeof pairs / sizeof *pairs + 2] = {"$NAME", expr_name(op)};
        memcpy(named + 2, pairs, sizeof pairs);
        if (x->uses_nan && uses[op]) fill(x->out, with_nan, named);
    }
    if (x->uses_slope) fill(x->out, high_part, pairs);
    if (uses[EXPR_ABS]) fill(x->out, absolute, pairs);
    if (uses[EXPR_EXP2] || uses[EXPR_EXP]) fill(x->out, strstr(x->c->target->attribute, "avx512dq") ? exp2_dq : narrow ? exp2_f32 : exp2_f64, pairs);
    if (uses[EXPR_EXP]) fill(x->out, exp_any, pairs);
    if (uses[EXPR_TANH]) fill(x->out, narrow ? tanh_f32 : tanh_f64, pairs);
    if (turns) fill(x->out, circle, pairs);
    static const enum expr_op library[] = {EXPR_LOG, EXPR_SQRT, EXPR_FLOOR};
    for (size_t k = 0; k < sizeof library / sizeof *library; k++) {
        if (!uses[library[k]]) continue;
        if (library[k] == EXPR_SQRT && strstr(x->c->target->attribute, "avx")) {
            fill(x->out, sqrt_avx, pairs);
            continue;
        }
        const char *named[sizeof pairs / sizeof *pairs + 2] = {"$NAME", expr_name(library[k])};
        memcpy(named + 2, pairs, sizeof pairs);
        fill(x->out, by_lane, named);
    }
    if (uses[EXPR_POW]) fill(x->out, power, pairs);
    text_add(x->out, "\n");
    emit_lane_functions(x);
    if (x->uses_rest) fill(x->out, add, pairs);
    if (x->region_keys) regions(x, pairs, sizeof pairs, false);
    if (x->uses_dot) products(x, pairs, sizeof pairs, false);
    if (x->uses_paired) {
        fill(x->out, paired, pairs);
        if (x->region_pairs) regions(x, pairs, sizeof pairs, true);
        products(x, pairs, sizeof pairs, true);
    }
    text_free(&iota);
    text_free(&sine);
    text_free(&series);
    text_free(&rest);
    text_free(&turns_of);
}
