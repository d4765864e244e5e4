/* Template of a target's vector types and functions. tests/unit/test_vector.c compiles it as it stands.
   - _T at the end of a name becomes the target's suffix.
   - _F becomes f for float, as in logf, and nothing for double.
   - attnc, or the test, defines names in capitals and conditions of #if. */

/* Each of these types has LANES elements:
   - vec_T: numbers
   - mask_T: results of comparisons
   - ints_T: positions
   - wide_T: doubles */
typedef REAL vec_T __attribute__((vector_size(BYTES)));
typedef REAL stored_T __attribute__((vector_size(BYTES), aligned(sizeof(REAL)), may_alias)); /* in memory, unaligned */
typedef BITS mask_T __attribute__((vector_size(BYTES)));
typedef int64_t ints_T __attribute__((vector_size(WIDE)));
typedef double wide_T __attribute__((vector_size(WIDE)));
typedef int8_t bytes_T __attribute__((vector_size(LANES), aligned(1), may_alias));
typedef uint16_t halves_T __attribute__((vector_size(2 * LANES), aligned(2), may_alias));
TARGET INLINE vec_T load_T(const REAL *p) { return *(const stored_T *)(const void *)p; }
TARGET INLINE void store_T(REAL *p, vec_T x) { *(stored_T *)(void *)p = x; }
TARGET INLINE vec_T splat_T(REAL x) { return x - (vec_T){0}; }

/* Returns a in the lanes of the mask, and b in the other lanes. */
TARGET INLINE vec_T pick_T(mask_T m, vec_T a, vec_T b) { return (vec_T)((m & (mask_T)a) | (~m & (mask_T)b)); }

#if !F64
/* Stores each lane as 16 bits, rounded like narrowed(). Bits of a NaN may differ. */
TARGET INLINE void store_narrowed_T(uint16_t *p, vec_T x)
{
#if F16 && F16C
    __asm__("vcvtps2ph $0, %1, %0" : "=m"(*(halves_T *)(void *)p) : "v"(x));
#elif F16
    const mask_T given = (mask_T)x, size = given & 0x7fffffff, tiny = (mask_T)((vec_T)size + 0.5f) - (126 << 23),
                 normal = (size - (112 << 23) + 0xfff + (size >> 13 & 1)) >> 13, large = {0},
                 rounded = (mask_T)pick_T((mask_T)(size < 113 << 23), (vec_T)tiny, (vec_T)normal),
                 finite = (mask_T)pick_T((mask_T)(size >= 0x477ff000), (vec_T)(large + 0x7c00), (vec_T)rounded),
                 made = (mask_T)pick_T((mask_T)(x != x), (vec_T)(large + 0x7e00), (vec_T)finite);
    *(halves_T *)(void *)p = __builtin_convertvector(made | (given >> 16 & 0x8000), halves_T);
#else
    const mask_T bits = (mask_T)x, made = (mask_T)pick_T((mask_T)(x != x), (vec_T)(bits | 0x400000),
        (vec_T)(bits + 0x7fff + (bits >> 16 & 1)));
    *(halves_T *)(void *)p = __builtin_convertvector(made >> 16, halves_T);
#endif
}
#endif

static const ints_T lane_T = {IOTA};

/* Returns for each lane k whether `draw` has drawn b for (*a)[k]. */
TARGET INLINE mask_T drawn_T(const struct attn_draw *draw, const ints_T *a, int64_t b)
{
    ints_T found = {0};
    for (int64_t n = draw->first; n <= draw->last; n++)
        if (attn_drawn(draw, n, b)) found |= *a == n;
    return __builtin_convertvector(found, mask_T);
}

/* Returns for each lane k whether `draw` has drawn (*b)[k] for a. */
TARGET INLINE mask_T drawn_for_T(const struct attn_draw *draw, int64_t a, const ints_T *b)
{
    ints_T found = {0};
    const int64_t *const list = draw->list + (a - draw->first) * (draw->count + 1);
    for (int64_t n = 1; n <= list[0]; n++) found |= *b == list[n];
    return __builtin_convertvector(found, mask_T);
}

TARGET INLINE vec_T max_T(vec_T a, vec_T b) { return pick_T((mask_T)(a < b), b, a); }
TARGET INLINE vec_T min_T(vec_T a, vec_T b) { return pick_T((mask_T)(b < a), b, a); }

/* Like max_T and min_T, but return NaN if b is NaN. */
TARGET INLINE vec_T max_nan_T(vec_T a, vec_T b) { return pick_T((mask_T)(b != b), b, max_T(a, b)); }
TARGET INLINE vec_T min_nan_T(vec_T a, vec_T b) { return pick_T((mask_T)(b != b), b, min_T(a, b)); }

/* Returns the leading 12 bits of x. Their product with an integer up to 4096 is exact. */
INLINE float high_part_T(double x)
{
    union {
        float number;
        uint32_t bits;
    } part = {(float)x};
    part.bits &= 0xfffff000u;
    return part.number;
}

TARGET INLINE vec_T abs_T(vec_T x) { return (vec_T)((mask_T)x & MAGNITUDE); }

/* Computes 2^x as 2^n * 2^f, where n is the integer nearest to x. A power series in f approximates 2^f. Adding MAGIC
   rounds x to n. AVX512-DQ has instructions for f and 2^n. */

#if DQ
/* Returns 2^x with a relative error below EXP2_ERROR. It is 0 for x < EXP2_MIN, because subnormal numbers are slow.
   NaN stays NaN. */
#else
/* Returns 2^x with a relative error below EXP2_ERROR. It is 0 for x < EXP2_MIN. NaN stays NaN. */
#endif
TARGET INLINE vec_T exp2_T(vec_T x)
{
#if DQ
    vec_T f, y;
    uint16_t normal;
#if MATRIX_UNITS
    take_not_less(normal, x, splat_T(EXP2_MIN));
    take_remainder(f, x); /* x minus the nearest integer, 0 for infinity */
#elif F64
    /* `normal` gets the lanes in which x is not less than EXP2_MIN. */
    __asm__("vcmppd $0x15, %2, %1, %0" : "=Yk"(normal) : "v"(x), "v"(splat_T(EXP2_MIN)));
    __asm__("vreducepd $0, %1, %0" : "=v"(f) : "v"(x)); /* x minus the nearest integer, 0 for infinity */
#else
    /* `normal` gets the lanes in which x is not less than EXP2_MIN. */
    __asm__("vcmpps $0x15, %2, %1, %0" : "=Yk"(normal) : "v"(x), "v"(splat_T(EXP2_MIN)));
    __asm__("vreduceps $0, %1, %0" : "=v"(f) : "v"(x)); /* x minus the nearest integer, 0 for infinity */
#endif
#else
    x = pick_T((mask_T)(x < EXP2_MIN), splat_T(EXP2_MIN), x);
    x = pick_T((mask_T)(x > EXP2_MAX), splat_T(EXP2_MAX), x);
    const vec_T t = x + MAGIC; /* the nearest integer is in the low bits of t */
    const vec_T f = x - (t - MAGIC);
#endif
#if F64
    vec_T p = f * 2.5729324177362304214e-11 + 4.455817908336064493e-10;
    p = p * f + 7.0548973041554992774e-09;
    p = p * f + 1.0178057087733941105e-07;
    p = p * f + 1.321548680870556279e-06;
    p = p * f + 1.5252733841556772589e-05;
    p = p * f + 0.00015403530393370733411;
    p = p * f + 0.0013333558146406470697;
    p = p * f + 0.0096181291076284794928;
    p = p * f + 0.055504108664821627039;
    p = p * f + 0.24022650695910071233;
    p = p * f + 0.69314718055994530925;
    p = p * f + 1.0;
#else
    vec_T p = f * 0.00015453163f + 0.0013390863f;
    p = p * f + 0.0096180826f;
    p = p * f + 0.055503571f;
    p = p * f + 0.24022651f;
    p = p * f + 0.69314719f;
    p = p * f + 1.0f;
#endif
#if DQ
#if MATRIX_UNITS
    take_scaled(y, p, x - f, normal); /* p * 2^(x - f) */
#elif F64
    __asm__("vscalefpd %2, %1, %0%{%3%}%{z%}" : "=v"(y) : "v"(p), "v"(x - f), "Yk"(normal)); /* p * 2^(x - f) */
#else
    __asm__("vscalefps %2, %1, %0%{%3%}%{z%}" : "=v"(y) : "v"(p), "v"(x - f), "Yk"(normal)); /* p * 2^(x - f) */
#endif
    return y;
#elif F64
    return p * (vec_T)(((mask_T)t + 1023) << 52);
#else
    return p * (vec_T)(((mask_T)t + 127) << 23);
#endif
}

#if BF16_PRODUCTS
/* Returns 2^x with a relative error below 1e-4, for results in bf16. */
TARGET INLINE vec_T exp2_coarse_T(vec_T x)
{
    vec_T f, y;
    uint16_t normal;
#if MATRIX_UNITS
    take_not_less(normal, x, splat_T(EXP2_MIN));
    take_remainder(f, x);
#else
    /* `normal` gets the lanes in which x is not less than EXP2_MIN. */
    __asm__("vcmpps $0x15, %2, %1, %0" : "=Yk"(normal) : "v"(x), "v"(splat_T(EXP2_MIN)));
    __asm__("vreduceps $0, %1, %0" : "=v"(f) : "v"(x));
#endif
    vec_T p = f * 0.0558282f + 0.2426278f;
    p = p * f + 0.6931214f;
    p = p * f + 0.9999251f;
#if MATRIX_UNITS
    take_scaled(y, p, x - f, normal);
#else
    __asm__("vscalefps %2, %1, %0%{%3%}%{z%}" : "=v"(y) : "v"(p), "v"(x - f), "Yk"(normal)); /* p * 2^(x - f) */
#endif
    return y;
}
#endif

/* Returns e^x = 2^n * 2^(r * log2(e)), with r = x - n * ln(2). ln(2) is the sum of two constants, so r is accurate.
   NaN stays NaN. */
TARGET INLINE vec_T exp_T(vec_T x)
{
    x = pick_T((mask_T)(x < -EXP_MAX), splat_T(-EXP_MAX), x);
    x = pick_T((mask_T)(x > EXP_MAX), splat_T(EXP_MAX), x);
    const vec_T t = x * LOG2E + MAGIC, n = t - MAGIC;
    const vec_T r = (x - n * LN2_HIGH) - n * LN2_LOW;
    return exp2_T(r * LOG2E) * exp2_T(n);
}

/* Returns 1 / (1 + e^-x). NaN stays NaN. */
TARGET INLINE vec_T sigmoid_T(vec_T x) { return (REAL)1 / (exp_T(-x) + (REAL)1); }

/* Returns (e^x - 1) / 2 within 4 ulp, for -40 <= x <= EXP_MAX. With x = n * ln(2) + r, the result is 2^(n - 1) *
   (e^r - 1) + (2^(n - 1) - 1/2). This does not cancel near 0. */
TARGET INLINE vec_T half_expm1_T(vec_T x)
{
    const vec_T t = x * LOG2E + MAGIC, n = t - MAGIC;
    const vec_T r = (x - n * LN2_HIGH) - n * LN2_LOW;
#if F64
    vec_T p = r * 2.0914686968086877233e-09 + 2.5105217004720745164e-08;
    p = p * r + 2.7557273643110295328e-07;
    p = p * r + 2.755725540020642443e-06;
    p = p * r + 2.4801587325547741216e-05;
    p = p * r + 0.00019841269874820625271;
    p = p * r + 0.0013888888888883748305;
    p = p * r + 0.0083333333333261351258;
    p = p * r + 0.041666666666669755;
    p = p * r + 0.16666666666666670991;
    p = p * r + 0.5;
    const vec_T half = (vec_T)(((mask_T)t + 1022) << 52);
#else
    vec_T p = r * 0.0013926184f + 0.0083631791f;
    p = p * r + 0.041666555f;
    p = p * r + 0.16666577f;
    p = p * r + 0.5f;
    const vec_T half = (vec_T)(((mask_T)t + 126) << 23);
#endif
    p = p * (r * r) + r;
    return half * p + (half - (REAL)0.5);
}

/* Returns e^x - 1 within 4 ulp. NaN stays NaN. */
TARGET INLINE vec_T expm1_T(vec_T x)
{
    x = pick_T((mask_T)(x < (REAL)-40), splat_T((REAL)-40), x);
    x = pick_T((mask_T)(x > EXP_MAX), splat_T(EXP_MAX), x);
    return half_expm1_T(x) * (REAL)2;
}

/* Returns tanh(x) within 4 ulp: m / (m + 1) with the sign of x, where m = (e^(2|x|) - 1) / 2. */
TARGET INLINE vec_T tanh_T(vec_T x)
{
    vec_T y = abs_T(x) * (REAL)2;
    y = pick_T((mask_T)(y > (REAL)40), splat_T((REAL)40), y); /* tanh(20) rounds to 1 */
    const vec_T m = half_expm1_T(y);
    return (vec_T)((mask_T)(m / (m + (REAL)1)) | ((mask_T)x & ~MAGNITUDE));
}

#if AVX && !F64
/* Like tanh_T, but faster if t = x^2 is less than 1/2 in all lanes. Then tanh(x) is x + x * t * p(t). */
TARGET INLINE vec_T tanh_capped_T(vec_T x)
{
    const vec_T t = x * x;
    vec_T p = t * -0.00508563729f + 0.0200342186f;
    p = p * t - 0.0535374284f;
    p = p * t + 0.133288018f;
    p = p * t - 0.333331763f;
    p = (t * p) * x + x;
#if DQ
    uint16_t far; /* the lanes in which t is not less than 1/2 */
#if MATRIX_UNITS
    take_not_less(far, t, splat_T(0.5f));
#else
    __asm__("vcmpps $0x15, %2, %1, %0" : "=Yk"(far) : "v"(t), "v"(splat_T(0.5f)));
#endif
#else
    int far;
    __asm__("vmovmskps %1, %0" : "=r"(far) : "x"(~(mask_T)(t < 0.5f)));
#endif
    if (__builtin_expect(far == 0, 1)) return p;
    return pick_T((mask_T)(t < 0.5f), p, tanh_T(x));
}
#endif

/* Returns erf(x) within 2 ulp.
   - For |x| < 1, the result is x + x * p(x^2).
   - For other x, the result is 1 - 2^-q(|x|) with the sign of x. q approximates -log2(1 - erf). */
TARGET INLINE vec_T erf_T(vec_T x)
{
    const mask_T sign = (mask_T)x & ~MAGNITUDE;
    vec_T y = (vec_T)((mask_T)x & MAGNITUDE);
#if F64
    y = pick_T((mask_T)(y > 6.0), splat_T(6.0), y);
    const vec_T s = y * y, t = y - 1.0;
    vec_T p = s * -7.779465729549996e-10 + 1.37109789045861e-08;
    p = p * s - 1.6206313408057644e-07;
    p = p * s + 1.6447131524503547e-06;
    p = p * s - 1.4924712298094114e-05;
    p = p * s + 0.00012055293576686918;
    p = p * s - 0.0008548325929306829;
    p = p * s + 0.005223977606118296;
    p = p * s - 0.02686617064311144;
    p = p * s + 0.11283791670944185;
    p = p * s - 0.3761263890318352;
    p = p * s + 0.12837916709551256;
    vec_T q = t * 7.017932032666212e-12 - 1.7213436832314213e-10;
    q = q * t + 1.9029141065939443e-09;
    q = q * t - 1.2289200360401002e-08;
    q = q * t + 4.817067838578864e-08;
    q = q * t - 8.368659830860724e-08;
    q = q * t - 2.954918639395868e-07;
    q = q * t + 3.0757516697930153e-06;
    q = q * t - 1.3952858271120123e-05;
    q = q * t + 3.9239829449897026e-05;
    q = q * t - 3.793758325435241e-05;
    q = q * t - 0.0003423752427016811;
    q = q * t + 0.002853508275233753;
    q = q * t - 0.014475749827047581;
    q = q * t + 0.059959990014682725;
    q = q * t + 1.2163466576872246;
    q = q * t + 3.807225345853586;
    q = q * t + 2.6684166967815997;
    return (vec_T)((mask_T)pick_T((mask_T)(y < 1.0), y + y * p, 1.0 - exp2_T(-q)) | sign);
#else
    y = pick_T((mask_T)(y > 4.0f), splat_T(4.0f), y);
    const vec_T s = y * y, t = y - 1.0f;
    vec_T p = s * 7.8538604e-05f - 0.00080101936f;
    p = p * s + 0.0051883277f;
    p = p * s - 0.026853812f;
    p = p * s + 0.112835852f;
    p = p * s - 0.37612626f;
    p = p * s + 0.12837917f;
    vec_T q = t * -0.00026772573f + 0.002634594f;
    q = q * t - 0.014269538f;
    q = q * t + 0.059872836f;
    q = q * t + 1.2163626f;
    q = q * t + 3.8072243f;
    q = q * t + 2.6684167f;
    return (vec_T)((mask_T)pick_T((mask_T)(y < 1.0f), y + y * p, 1.0f - exp2_T(-q)) | sign);
#endif
}

/* Returns the sine of *x + quarter * pi/2, with an error below 1e-17 for angles up to 10^6. It first subtracts the
   nearest multiple of pi/2. The multiple is a sum of three constants from fdlibm. */
TARGET INLINE vec_T turn_T(const wide_T *x, int64_t quarter)
{
    const wide_T t = *x * 0.63661977236758134308 + 6755399441055744.0; /* its low bits are *x / (pi/2), rounded */
    const wide_T n = t - 6755399441055744.0;
    const wide_T left = ((*x - n * 1.57079632673412561417) - n * 6.07710050630396597660e-11)
        - n * 2.02226624879595063154e-21;
    const ints_T turns = (ints_T)t + quarter;
    const vec_T r = __builtin_convertvector(left, vec_T), z = r * r;
#if F64
    vec_T s = z * -7.5866850700912671596e-13 + 1.6058531414589010757e-10;
    vec_T c = z * -1.1382614868556324576e-11 + 2.0876146024689746601e-09;
    s = s * z - 2.5052106231157905487e-08;
    s = s * z + 2.7557319219335453429e-06;
    s = s * z - 0.00019841269841265060174;
    s = s * z + 0.0083333333333333314899;
    s = s * z - 0.16666666666666666666;
    s = r + r * z * s;
    c = c * z - 2.7557317270560324065e-07;
    c = c * z + 2.4801587298763433164e-05;
    c = c * z - 0.0013888888888887395746;
    c = c * z + 0.041666666666666665387;
    c = 1.0 - z * 0.5 + z * z * c;
#else
    const vec_T s = r + r * z * (z * (z * -0.00019587841f + 0.0083327480f) - 0.16666665f);
    const vec_T c = 1.0f - z * 0.5f + z * z * (z * (z * 2.4547892e-05f - 0.0013888303f) + 0.041666665f);
#endif
    const mask_T odd = __builtin_convertvector(-(turns & 1), mask_T);
    const mask_T negative = __builtin_convertvector((turns & 2), mask_T);
    return (vec_T)((mask_T)pick_T(odd, c, s) ^ (negative << SIGN_SHIFT));
}

TARGET INLINE vec_T sin_T(const wide_T *x) { return turn_T(x, 0); }
TARGET INLINE vec_T cos_T(const wide_T *x) { return turn_T(x, 1); }

/* Without a vector instruction, the C library is called per lane. */

TARGET INLINE vec_T log_T(vec_T x)
{
    vec_T y = x;
    for (int k = 0; k < LANES; k++) y[k] = log_F(x[k]);
    return y;
}

TARGET INLINE vec_T log2_T(vec_T x)
{
    vec_T y = x;
    for (int k = 0; k < LANES; k++) y[k] = log2_F(x[k]);
    return y;
}

TARGET INLINE vec_T log1p_T(vec_T x)
{
    vec_T y = x;
    for (int k = 0; k < LANES; k++) y[k] = log1p_F(x[k]);
    return y;
}

/* Truncates *x to *to, clipped to 2^62 in size. NaN becomes 0. */
TARGET INLINE void truncate_T(ints_T *to, const wide_T *x)
{
    for (int k = 0; k < LANES; k++) (*to)[k] = truncated((*x)[k]);
}

TARGET INLINE vec_T sqrt_T(vec_T x)
{
#if AVX
    vec_T y;
#if MATRIX_UNITS
    take_root(y, x);
#elif F64
    __asm__("vsqrtpd %1, %0" : "=v"(y) : "v"(x));
#else
    __asm__("vsqrtps %1, %0" : "=v"(y) : "v"(x));
#endif
#else
    vec_T y = x;
    for (int k = 0; k < LANES; k++) y[k] = sqrt_F(x[k]);
#endif
    return y;
}

TARGET INLINE vec_T floor_T(vec_T x)
{
    vec_T y = x;
    for (int k = 0; k < LANES; k++) y[k] = floor_F(x[k]);
    return y;
}

TARGET INLINE vec_T ceil_T(vec_T x)
{
    vec_T y = x;
    for (int k = 0; k < LANES; k++) y[k] = ceil_F(x[k]);
    return y;
}

/* Rounds to the nearest integer, and half to even. */
TARGET INLINE vec_T round_T(vec_T x)
{
    vec_T y = x;
    for (int k = 0; k < LANES; k++) y[k] = rint_F(x[k]);
    return y;
}

/* Rounds towards 0. */
TARGET INLINE vec_T whole_T(vec_T x)
{
    vec_T y = x;
    for (int k = 0; k < LANES; k++) y[k] = trunc_F(x[k]);
    return y;
}

TARGET INLINE vec_T pow_T(vec_T x, vec_T y)
{
    vec_T z = x;
    for (int k = 0; k < LANES; k++) z[k] = pow_F(x[k], y[k]);
    return z;
}

/* Returns the sum over the lanes of x. */
TARGET INLINE REAL lane_sum_T(vec_T x)
{
#if LANES > 8
    x += __builtin_shufflevector(x, x, SWAPPED_8);
#endif
#if LANES > 4
    x += __builtin_shufflevector(x, x, SWAPPED_4);
#endif
#if LANES > 2
    x += __builtin_shufflevector(x, x, SWAPPED_2);
#endif
    x += __builtin_shufflevector(x, x, SWAPPED_1);
    return x[0];
}

/* Returns the maximum over the lanes of x. If a lane is NaN, the result may be NaN or a number. */
TARGET INLINE REAL lane_max_T(vec_T x)
{
#if LANES > 8
    x = max_T(x, __builtin_shufflevector(x, x, SWAPPED_8));
#endif
#if LANES > 4
    x = max_T(x, __builtin_shufflevector(x, x, SWAPPED_4));
#endif
#if LANES > 2
    x = max_T(x, __builtin_shufflevector(x, x, SWAPPED_2));
#endif
    x = max_T(x, __builtin_shufflevector(x, x, SWAPPED_1));
    return x[0];
}

/* Returns whether an angle is above 10^6, which needs the C library. */
TARGET INLINE int far_T(const wide_T *x)
{
    const mask_T above = (mask_T)(abs_T(__builtin_convertvector(*x, vec_T)) > (REAL)1e6);
    return lane_max_T((vec_T)(above & (mask_T)splat_T(1))) > 0;
}

/* Like sin_T and cos_T, for angles of any size. */
TARGET INLINE vec_T sin_any_T(const wide_T *x)
{
    vec_T y = sin_T(x);
    if (far_T(x))
        for (int k = 0; k < LANES; k++) y[k] = (REAL)sin((*x)[k]);
    return y;
}

TARGET INLINE vec_T cos_any_T(const wide_T *x)
{
    vec_T y = cos_T(x);
    if (far_T(x))
        for (int k = 0; k < LANES; k++) y[k] = (REAL)cos((*x)[k]);
    return y;
}

/* Returns a vector whose lane r is the sum over the lanes of t[r]. Overwrites t. */
TARGET INLINE vec_T lane_sums_T(vec_T *t)
{
    UNROLL for (int r = 0; r < LANES; r += 2)
        t[r] = __builtin_shufflevector(t[r], t[r + 1], EVEN_1) + __builtin_shufflevector(t[r], t[r + 1], ODD_1);
#if LANES > 2
    UNROLL for (int r = 0; r < LANES; r += 4)
        t[r] = __builtin_shufflevector(t[r], t[r + 2], EVEN_2) + __builtin_shufflevector(t[r], t[r + 2], ODD_2);
#endif
#if LANES > 4
    UNROLL for (int r = 0; r < LANES; r += 8)
        t[r] = __builtin_shufflevector(t[r], t[r + 4], EVEN_4) + __builtin_shufflevector(t[r], t[r + 4], ODD_4);
#endif
#if LANES > 8
    t[0] = __builtin_shufflevector(t[0], t[8], EVEN_8) + __builtin_shufflevector(t[0], t[8], ODD_8);
#endif
    return t[0];
}

/* Transposes LANES vectors in place. Each step swaps one bit of the row and column numbers. */
TARGET INLINE void exchange_T(vec_T *t)
{
    UNROLL for (int r = 0; r < LANES; r++)
        if (!(r & 1)) {
            const vec_T a = t[r], b = t[r + 1];
            t[r] = __builtin_shufflevector(a, b, UPPER_1);
            t[r + 1] = __builtin_shufflevector(a, b, LOWER_1);
        }
#if LANES > 2
    UNROLL for (int r = 0; r < LANES; r++)
        if (!(r & 2)) {
            const vec_T a = t[r], b = t[r + 2];
            t[r] = __builtin_shufflevector(a, b, UPPER_2);
            t[r + 2] = __builtin_shufflevector(a, b, LOWER_2);
        }
#endif
#if LANES > 4
    UNROLL for (int r = 0; r < LANES; r++)
        if (!(r & 4)) {
            const vec_T a = t[r], b = t[r + 4];
            t[r] = __builtin_shufflevector(a, b, UPPER_4);
            t[r + 4] = __builtin_shufflevector(a, b, LOWER_4);
        }
#endif
#if LANES > 8
    UNROLL for (int r = 0; r < LANES; r++)
        if (!(r & 8)) {
            const vec_T a = t[r], b = t[r + 8];
            t[r] = __builtin_shufflevector(a, b, UPPER_8);
            t[r + 8] = __builtin_shufflevector(a, b, LOWER_8);
        }
#endif
}

/* Transposes: to[y][x] = from[x][y]. It works in squares of LANES rows and columns, so that cache lines are written at
   once. Rows are prefetched `ahead` rows early: rows of `to` if `out`, otherwise rows of `from`. */
TARGET INLINE void transpose_some_T(const REAL *from, int64_t from_row, int64_t rows, int64_t columns, REAL *to,
    int64_t to_row, int64_t ahead, const int out)
{
    const int64_t whole = rows - rows % LANES, deep = columns - columns % LANES;
    for (int64_t k = 0; k < whole / LANES * (deep / LANES); k++) {
        const int64_t row = k / (deep / LANES) * LANES, column = k % (deep / LANES) * LANES;
        vec_T t[LANES];
        if (out)
            UNROLL for (int r = 0; r < LANES; r++) __builtin_prefetch(to + (column + r + ahead) * to_row + row, 1, 2);
        else
            UNROLL for (int r = 0; r < LANES; r++)
                __builtin_prefetch(from + (row + r + ahead) * from_row + column, 0, 2);
        UNROLL for (int r = 0; r < LANES; r++) t[r] = load_T(from + (row + r) * from_row + column);
        exchange_T(t);
        UNROLL for (int r = 0; r < LANES; r++) store_T(to + (column + r) * to_row + row, t[r]);
    }
    for (int64_t column = deep; column < columns; column++)
        for (int64_t row = 0; row < whole; row++) to[column * to_row + row] = from[row * from_row + column];
    for (int64_t row = whole; row < rows; row++)
        for (int64_t column = 0; column < columns; column++)
            to[column * to_row + row] = from[row * from_row + column];
}

TARGET APART void transpose_T(const REAL *from, int64_t from_row, int64_t rows, int64_t columns, REAL *to,
    int64_t to_row, int64_t ahead)
{
    transpose_some_T(from, from_row, rows, columns, to, to_row, ahead, 0);
}

/* Like transpose_T, but to[y][x] is 0 from x = rows on, up to a whole vector. Few rows then need no strided stores. */
TARGET APART void transpose_padded_T(const REAL *from, int64_t from_row, int64_t rows, int64_t columns, REAL *to,
    int64_t to_row, int64_t ahead)
{
    const int64_t whole = rows - rows % LANES, deep = columns - columns % LANES, left = rows - whole;
    transpose_some_T(from, from_row, whole, columns, to, to_row, ahead, 0);
    from += whole * from_row;
    to += whole;
    for (int64_t column = 0; column < deep && left > 1; column += LANES) {
        vec_T t[LANES];
        UNROLL for (int r = 0; r < LANES; r++) t[r] = r < left ? load_T(from + r * from_row + column) : (vec_T){0};
        exchange_T(t);
        UNROLL for (int r = 0; r < LANES; r++) store_T(to + (column + r) * to_row, t[r]);
    }
    for (int64_t column = left > 1 ? deep : 0; column < columns && left > 0; column++) {
        store_T(to + column * to_row, (vec_T){from[column]});
        for (int64_t row = 1; row < left; row++) to[column * to_row + row] = from[row * from_row + column];
    }
}

TARGET APART void transpose_out_T(const REAL *from, int64_t from_row, int64_t rows, int64_t columns, REAL *to,
    int64_t to_row, int64_t ahead)
{
    transpose_some_T(from, from_row, rows, columns, to, to_row, ahead, 1);
}

#if !F64
/* Like transpose_T, but rounds to 16-bit elements like narrowed(). */
TARGET APART void transpose_narrowed_T(const REAL *from, int64_t from_row, int64_t rows, int64_t columns, uint16_t *to,
    int64_t to_row, int64_t ahead)
{
    const int64_t whole = rows - rows % LANES, deep = columns - columns % LANES;
    for (int64_t k = 0; k < whole / LANES * (deep / LANES); k++) {
        const int64_t row = k % (whole / LANES) * LANES, column = k / (whole / LANES) * LANES;
        vec_T t[LANES];
        UNROLL for (int r = 0; r < LANES; r++) __builtin_prefetch(to + (column + r + ahead) * to_row + row, 1, 2);
        UNROLL for (int r = 0; r < LANES; r++) t[r] = load_T(from + (row + r) * from_row + column);
        exchange_T(t);
        UNROLL for (int r = 0; r < LANES; r++) store_narrowed_T(to + (column + r) * to_row + row, t[r]);
    }
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = row < whole ? deep : 0; column < columns; column++)
            to[column * to_row + row] = narrowed(from[row * from_row + column]);
}
#endif
/* *sum = *sum * factor + x per lane, with compensated summation (Kahan). *compensation is the rounding error, which
   the next call adds. */
TARGET INLINE void add_T(REAL *sum, REAL *compensation, vec_T x, vec_T factor)
{
    const vec_T old = load_T(sum) * factor, more = load_T(compensation) * factor + x, new = old + more;
    store_T(compensation, more - (new - old));
    store_T(sum, new);
}

typedef int8_t flags_T __attribute__((vector_size(LANES)));
/* Returns the lanes whose flag is not 0. Lane k has flag[k * step]. Lanes from `count` on are not read. */
TARGET INLINE mask_T flags_of_lanes_T(const uint8_t *flag, int64_t step, int64_t count)
{
    flags_T lanes = {0};
    if (step == 1 && count >= LANES)
        __builtin_memcpy(&lanes, flag, sizeof lanes);
    else if (count >= LANES)
        UNROLL for (int lane = 0; lane < LANES; lane++) lanes[lane] = (int8_t)flag[lane * step];
    else
        for (int lane = 0; lane < count; lane++) lanes[lane] = (int8_t)flag[lane * step];
    return __builtin_convertvector(lanes != 0, mask_T);
}

/* Returns the lanes whose real is not -inf. Lane k has x[k * step]. Lanes from `count` on are not read. */
TARGET INLINE mask_T shown_f32_of_lanes_T(const float *x, int64_t step, int64_t count)
{
    typedef float lanes_of_f32 __attribute__((vector_size(LANES * sizeof(float))));
    lanes_of_f32 lanes = {0};
    if (step == 1 && count >= LANES)
        __builtin_memcpy(&lanes, x, sizeof lanes);
    else
        for (int lane = 0; lane < LANES && lane < count; lane++) lanes[lane] = x[lane * step];
    return __builtin_convertvector(lanes != -INFINITY, mask_T);
}
TARGET INLINE mask_T shown_f64_of_lanes_T(const double *x, int64_t step, int64_t count)
{
    typedef double lanes_of_f64 __attribute__((vector_size(LANES * sizeof(double))));
    lanes_of_f64 lanes = {0};
    if (step == 1 && count >= LANES)
        __builtin_memcpy(&lanes, x, sizeof lanes);
    else
        for (int lane = 0; lane < LANES && lane < count; lane++) lanes[lane] = x[lane * step];
    return __builtin_convertvector(lanes != -(double)INFINITY, mask_T);
}
TARGET INLINE mask_T shown_f16_of_lanes_T(const uint16_t *x, int64_t step, int64_t count)
{
    typedef uint16_t lanes_of_f16 __attribute__((vector_size(LANES * sizeof(uint16_t))));
    lanes_of_f16 lanes = {0};
    if (step == 1 && count >= LANES)
        __builtin_memcpy(&lanes, x, sizeof lanes);
    else
        for (int lane = 0; lane < LANES && lane < count; lane++) lanes[lane] = x[lane * step];
    return __builtin_convertvector(lanes != 0xfc00, mask_T);
}
TARGET INLINE mask_T shown_bf16_of_lanes_T(const uint16_t *x, int64_t step, int64_t count)
{
    typedef uint16_t lanes_of_bf16 __attribute__((vector_size(LANES * sizeof(uint16_t))));
    lanes_of_bf16 lanes = {0};
    if (step == 1 && count >= LANES)
        __builtin_memcpy(&lanes, x, sizeof lanes);
    else
        for (int lane = 0; lane < LANES && lane < count; lane++) lanes[lane] = x[lane * step];
    return __builtin_convertvector(lanes != 0xff80, mask_T);
}

/* Copies n flags of each of LANES rows: to[x * LANES + lane] is flag[lane * step + x * column]. Lanes from `count`
   on get 0. */
TARGET INLINE void turn_flags_T(uint8_t *to, const uint8_t *flag, int64_t step, int64_t column, int64_t count, int64_t n)
{
    enum { SIDE = 8, LINE = 64 }; /* SIDE: bytes of a word, which divides LANES; LINE: bytes of a cache line */
    const int64_t turned = count < LANES || column != 1 ? 0 : n / SIDE * SIDE;
    for (int64_t x = 0; x < turned; x += SIDE)
        for (int lane = 0; lane < LANES; lane += SIDE) {
            uint64_t word[SIDE];
            for (int k = 0; k < SIDE && x % LINE == 0; k++) /* prefetch the flags of the next tile */
                __builtin_prefetch(flag + (lane + k) * step + min(x + n, step));
            UNROLL for (int k = 0; k < SIDE; k++) __builtin_memcpy(&word[k], flag + (lane + k) * step + x, SIDE);
            UNROLL for (int k = 0; k < SIDE; k++) { /* exchanges blocks of 1, 2 and 4 bytes across the diagonal */
                const uint64_t change = k & 1 ? 0 : (word[k] >> 8 ^ word[k | 1]) & UINT64_C(0x00ff00ff00ff00ff);
                word[k | 1] ^= change;
                word[k] ^= change << 8;
            }
            UNROLL for (int k = 0; k < SIDE; k++) {
                const uint64_t change = k & 2 ? 0 : (word[k] >> 16 ^ word[k | 2]) & UINT64_C(0x0000ffff0000ffff);
                word[k | 2] ^= change;
                word[k] ^= change << 16;
            }
            UNROLL for (int k = 0; k < SIDE; k++) {
                const uint64_t change = k & 4 ? 0 : (word[k] >> 32 ^ word[k | 4]) & UINT64_C(0x00000000ffffffff);
                word[k | 4] ^= change;
                word[k] ^= change << 32;
            }
            UNROLL for (int k = 0; k < SIDE; k++) __builtin_memcpy(to + (x + k) * LANES + lane, &word[k], SIDE);
        }
    for (int64_t x = turned; x < n; x++)
        for (int lane = 0; lane < LANES; lane++) to[x * LANES + lane] = lane < count ? flag[lane * step + x * column] : 0;
}

#if BF16_PRODUCTS
/* A pair of bf16 in 32 bits, the first element in the lower half. AVX512-BF16 multiplies pairs, and rounds floats to
   pairs. */
typedef int32_t near_T __attribute__((aligned(2), may_alias)); /* a pair in memory, aligned to 2 bytes */
typedef mask_T pairs_T __attribute__((aligned(2), may_alias));
TARGET INLINE int32_t pair_T(const uint16_t *p) { return *(const near_T *)(const void *)p; }
TARGET INLINE void set_pair_T(uint16_t *p, int32_t pair) { *(near_T *)(void *)p = pair; }
TARGET INLINE mask_T load_paired_T(const uint16_t *p) { return *(const pairs_T *)(const void *)p; }
/* Returns sum + a.first * b.first + a.second * b.second per lane. a is one pair. */
TARGET INLINE vec_T multiply_T(vec_T sum, int32_t a, mask_T b)
{
    return (vec_T)_mm512_dpbf16_ps((__m512)sum, (__m512bh)_mm512_set1_epi32(a), (__m512bh)b);
}

/* In lane k, puts element k of the lower half next to element k of the upper half. */
TARGET INLINE mask_T interleaved_T(__m512i both)
{
    const mask_T turns = {INTERLEAVED};
    return (mask_T)_mm512_permutexvar_epi16((__m512i)turns, both);
}

/* Stores the pairs (first[k], second[k]) of LANES elements. If `second` is NULL, the second elements are 0. */
TARGET INLINE void join_T(uint16_t *p, const uint16_t *first, const uint16_t *second)
{
    const halves_T two[2] = {*(const halves_T *)(const void *)first,
        second ? *(const halves_T *)(const void *)second : (halves_T){0}};
    __m512i both;
    __builtin_memcpy(&both, two, sizeof both);
    *(pairs_T *)(void *)p = interleaved_T(both);
}

TARGET INLINE mask_T paired_T(vec_T first, vec_T second) /* rounds to nearest, ties to even */
{
    return interleaved_T((__m512i)_mm512_cvtne2ps_pbh((__m512)second, (__m512)first));
}

TARGET INLINE void store_paired_T(uint16_t *p, vec_T first, vec_T second)
{
    *(pairs_T *)(void *)p = paired_T(first, second);
}

TARGET INLINE void store_rounded_T(uint16_t *p, vec_T x) /* rounds x to bf16 */
{
    const __m512i both = (__m512i)_mm512_cvtne2ps_pbh((__m512)x, (__m512)x);
    __builtin_memcpy(p, &both, sizeof(halves_T));
}
#endif
