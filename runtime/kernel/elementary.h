/* A target's elementary functions. A kernel includes this header after vector.h. */

#if F64
#define SIGN_SHIFT 62
#define MAGIC 6755399441055744.0
#define EXP2_MAX 1024.0
#define EXP_MAX 710.0
#define LOG2E 1.4426950408889634074
#define LN2_HIGH 0.693147180369123816490
#define LN2_LOW 1.90821492927058770002e-10
#else
#define SIGN_SHIFT 30
#define MAGIC 12582912.0f
#define EXP2_MAX 128.0f
#define EXP_MAX 89.0f
#define LOG2E 1.44269504f
#define LN2_HIGH 0.693145751953125f
#define LN2_LOW 1.4286068203094172e-06f
#endif
#if DQ
#define EXP2_MIN (F64 ? (REAL)-1022 : (REAL)-126)
#else
#define EXP2_MIN (F64 ? (REAL)-1023 : (REAL)-127)
#endif

/* Instructions of AVX and AVX512-DQ, on vectors of REAL:
   - NOT_LESS: `lanes` gets the lanes in which x is not less than `least`
   - REMAINDER: f = x minus the nearest integer, 0 for infinity
   - SCALED: y = p * 2^n in these lanes, otherwise 0 */
#if MATRIX_UNITS && defined ATTN_EMULATE_TILES
#define NOT_LESS take_not_less
#define REMAINDER take_remainder
#define SCALED take_scaled
#define ROOT take_root
#else
#if F64
#define INSTRUCTION(name) name "pd"
#else
#define INSTRUCTION(name) name "ps"
#endif
#define NOT_LESS(lanes, x, least) __asm__(INSTRUCTION("vcmp") " $0x15, %2, %1, %0" : "=Yk"(lanes) : "v"(x), "v"(least))
#define REMAINDER(f, x) __asm__(INSTRUCTION("vreduce") " $0, %1, %0" : "=v"(f) : "v"(x))
#define SCALED(y, p, n, lanes) \
    __asm__(INSTRUCTION("vscalef") " %2, %1, %0%{%3%}%{z%}" : "=v"(y) : "v"(p), "v"(n), "Yk"(lanes))
#define ROOT(y, x) __asm__(INSTRUCTION("vsqrt") " %1, %0" : "=v"(y) : "v"(x))
#endif

/* Returns a polynomial of x with these coefficients, the highest power first. */
TARGET INLINE T(vec) T(polynomial)(T(vec) x, const int coefficients, const REAL *c)
{
    T(vec) y = x * c[0] + c[1];
    UNROLL for (int k = 2; k < coefficients; k++) y = y * x + c[k];
    return y;
}
#define POLYNOMIAL(x, c) T(polynomial)(x, sizeof(c) / sizeof *(c), c)

/* Returns the leading 12 bits of x. Their product with an integer up to 4096 is exact. */
INLINE float T(high_part)(double x)
{
    union {
        float number;
        uint32_t bits;
    } part = {(float)x};
    part.bits &= 0xfffff000u;
    return part.number;
}

/* Computes 2^x as 2^n * 2^f, where n is the integer nearest to x. A power series in f approximates 2^f. Adding MAGIC
   rounds x to n. AVX512-DQ has instructions for f and 2^n. */

/* Returns 2^x with a relative error below 1e-8, or 2e-19 in f64. It is 0 for x < EXP2_MIN, because subnormal numbers
   are slow. NaN stays NaN. */
TARGET INLINE T(vec) T(exp2)(T(vec) x)
{
#if DQ
    T(vec) f, y;
    uint16_t normal;
    NOT_LESS(normal, x, T(splat)(EXP2_MIN));
    REMAINDER(f, x);
#else
    x = T(pick)((T(mask))(x < EXP2_MIN), T(splat)(EXP2_MIN), x);
    x = T(pick)((T(mask))(x > EXP2_MAX), T(splat)(EXP2_MAX), x);
    const T(vec) t = x + MAGIC; /* the nearest integer is in the low bits of t */
    const T(vec) f = x - (t - MAGIC);
#endif
#if F64
    static const REAL p_terms[] = {2.5729324177362304214e-11, 4.455817908336064493e-10, 7.0548973041554992774e-09,
        1.0178057087733941105e-07, 1.321548680870556279e-06, 1.5252733841556772589e-05, 0.00015403530393370733411,
        0.0013333558146406470697, 0.0096181291076284794928, 0.055504108664821627039, 0.24022650695910071233,
        0.69314718055994530925, 1.0};
#else
    static const REAL p_terms[] = {0.00015453163f, 0.0013390863f, 0.0096180826f, 0.055503571f, 0.24022651f, 0.69314719f,
        1.0f};
#endif
    const T(vec) p = POLYNOMIAL(f, p_terms);
#if DQ
    SCALED(y, p, x - f, normal);
    return y;
#elif F64
    return p * (T(vec))(((T(mask))t + 1023) << 52);
#else
    return p * (T(vec))(((T(mask))t + 127) << 23);
#endif
}

#if BF16_PRODUCTS
/* Returns 2^x with a relative error below 1e-4, for results in bf16. */
TARGET INLINE T(vec) T(exp2_coarse)(T(vec) x)
{
    T(vec) f, y;
    uint16_t normal;
    NOT_LESS(normal, x, T(splat)(EXP2_MIN));
    REMAINDER(f, x);
    static const REAL p_terms[] = {0.0558282f, 0.2426278f, 0.6931214f, 0.9999251f};
    const T(vec) p = POLYNOMIAL(f, p_terms);
    SCALED(y, p, x - f, normal);
    return y;
}
#endif

/* Returns e^x = 2^n * 2^(r * log2(e)), with r = x - n * ln(2). ln(2) is the sum of two constants, so r is accurate.
   NaN stays NaN. */
TARGET INLINE T(vec) T(exp)(T(vec) x)
{
    x = T(pick)((T(mask))(x < -EXP_MAX), T(splat)(-EXP_MAX), x);
    x = T(pick)((T(mask))(x > EXP_MAX), T(splat)(EXP_MAX), x);
    const T(vec) t = x * LOG2E + MAGIC, n = t - MAGIC;
    const T(vec) r = (x - n * LN2_HIGH) - n * LN2_LOW;
    return T(exp2)(r * LOG2E) * T(exp2)(n);
}

/* Returns 1 / (1 + e^-x). NaN stays NaN. */
TARGET INLINE T(vec) T(sigmoid)(T(vec) x) { return (REAL)1 / (T(exp)(-x) + (REAL)1); }

/* Returns (e^x - 1) / 2 within 4 ulp, for -40 <= x <= EXP_MAX. With x = n * ln(2) + r, the result is 2^(n - 1) *
   (e^r - 1) + (2^(n - 1) - 1/2). This does not cancel near 0. */
TARGET INLINE T(vec) T(half_expm1)(T(vec) x)
{
    const T(vec) t = x * LOG2E + MAGIC, n = t - MAGIC;
    const T(vec) r = (x - n * LN2_HIGH) - n * LN2_LOW;
#if F64
    static const REAL p_terms[] = {2.0914686968086877233e-09, 2.5105217004720745164e-08, 2.7557273643110295328e-07,
        2.755725540020642443e-06, 2.4801587325547741216e-05, 0.00019841269874820625271, 0.0013888888888883748305,
        0.0083333333333261351258, 0.041666666666669755, 0.16666666666666670991, 0.5};
    const T(vec) half = (T(vec))(((T(mask))t + 1022) << 52);
#else
    static const REAL p_terms[] = {0.0013926184f, 0.0083631791f, 0.041666555f, 0.16666577f, 0.5f};
    const T(vec) half = (T(vec))(((T(mask))t + 126) << 23);
#endif
    const T(vec) p = POLYNOMIAL(r, p_terms) * (r * r) + r;
    return half * p + (half - (REAL)0.5);
}

/* Returns e^x - 1 within 4 ulp. NaN stays NaN. */
TARGET INLINE T(vec) T(expm1)(T(vec) x)
{
    x = T(pick)((T(mask))(x < (REAL)-40), T(splat)((REAL)-40), x);
    x = T(pick)((T(mask))(x > EXP_MAX), T(splat)(EXP_MAX), x);
    return T(half_expm1)(x) * (REAL)2;
}

/* Returns tanh(x) within 4 ulp: m / (m + 1) with the sign of x, where m = (e^(2|x|) - 1) / 2. */
TARGET INLINE T(vec) T(tanh)(T(vec) x)
{
    T(vec) y = T(abs)(x) * (REAL)2;
    y = T(pick)((T(mask))(y > (REAL)40), T(splat)((REAL)40), y); /* tanh(20) rounds to 1 */
    const T(vec) m = T(half_expm1)(y);
    return (T(vec))((T(mask))(m / (m + (REAL)1)) | ((T(mask))x & ~MAGNITUDE));
}

#if AVX && !F64
/* Like tanh, but faster if t = x^2 is less than 1/2 in all lanes. Then tanh(x) is x + x * t * p(t). */
TARGET INLINE T(vec) T(tanh_capped)(T(vec) x)
{
    const T(vec) t = x * x;
    static const REAL p_terms[] = {-0.00508563729f, 0.0200342186f, -0.0535374284f, 0.133288018f, -0.333331763f};
    const T(vec) p = (t * POLYNOMIAL(t, p_terms)) * x + x;
#if DQ
    uint16_t far; /* the lanes in which t is not less than 1/2 */
    NOT_LESS(far, t, T(splat)(0.5f));
#else
    int far;
    __asm__("vmovmskps %1, %0" : "=r"(far) : "x"(~(T(mask))(t < 0.5f)));
#endif
    if (__builtin_expect(far == 0, 1)) return p;
    return T(pick)((T(mask))(t < 0.5f), p, T(tanh)(x));
}
#endif

/* Returns erf(x) within 2 ulp.
   - For |x| < 1, the result is x + x * p(x^2).
   - For other x, the result is 1 - 2^-q(|x|) with the sign of x. q approximates -log2(1 - erf). */
TARGET INLINE T(vec) T(erf)(T(vec) x)
{
    const T(mask) sign = (T(mask))x & ~MAGNITUDE;
    T(vec) y = (T(vec))((T(mask))x & MAGNITUDE);
#if F64
    static const REAL p_terms[] = {-7.779465729549996e-10, 1.37109789045861e-08, -1.6206313408057644e-07,
        1.6447131524503547e-06, -1.4924712298094114e-05, 0.00012055293576686918, -0.0008548325929306829,
        0.005223977606118296, -0.02686617064311144, 0.11283791670944185, -0.3761263890318352, 0.12837916709551256};
    static const REAL q_terms[] = {7.017932032666212e-12, -1.7213436832314213e-10, 1.9029141065939443e-09,
        -1.2289200360401002e-08, 4.817067838578864e-08, -8.368659830860724e-08, -2.954918639395868e-07,
        3.0757516697930153e-06, -1.3952858271120123e-05, 3.9239829449897026e-05, -3.793758325435241e-05,
        -0.0003423752427016811, 0.002853508275233753, -0.014475749827047581, 0.059959990014682725, 1.2163466576872246,
        3.807225345853586, 2.6684166967815997};
#else
    static const REAL p_terms[] = {7.8538604e-05f, -0.00080101936f, 0.0051883277f, -0.026853812f, 0.112835852f,
        -0.37612626f, 0.12837917f};
    static const REAL q_terms[] = {-0.00026772573f, 0.002634594f, -0.014269538f, 0.059872836f, 1.2163626f, 3.8072243f,
        2.6684167f};
#endif
    const REAL most = F64 ? 6 : 4;
    y = T(pick)((T(mask))(y > most), T(splat)(most), y);
    const T(vec) s = y * y, t = y - (REAL)1, p = POLYNOMIAL(s, p_terms), q = POLYNOMIAL(t, q_terms);
    return (T(vec))((T(mask))T(pick)((T(mask))(y < (REAL)1), y + y * p, (REAL)1 - T(exp2)(-q)) | sign);
}

/* Returns the sine of *x + quarter * pi/2, with an error below 1e-17 for angles up to 10^6. It first subtracts the
   nearest multiple of pi/2. The multiple is a sum of three constants from fdlibm. */
TARGET INLINE T(vec) T(turn)(const T(wide) *x, int64_t quarter)
{
    const T(wide) t = *x * 0.63661977236758134308 + 6755399441055744.0; /* its low bits are *x / (pi/2), rounded */
    const T(wide) n = t - 6755399441055744.0;
    const T(wide) left = ((*x - n * 1.57079632673412561417) - n * 6.07710050630396597660e-11)
        - n * 2.02226624879595063154e-21;
    const T(ints) turns = (T(ints))t + quarter;
    const T(vec) r = __builtin_convertvector(left, T(vec)), z = r * r;
#if F64
    static const REAL s_terms[] = {-7.5866850700912671596e-13, 1.6058531414589010757e-10, -2.5052106231157905487e-08,
        2.7557319219335453429e-06, -0.00019841269841265060174, 0.0083333333333333314899, -0.16666666666666666666};
    static const REAL c_terms[] = {-1.1382614868556324576e-11, 2.0876146024689746601e-09, -2.7557317270560324065e-07,
        2.4801587298763433164e-05, -0.0013888888888887395746, 0.041666666666666665387};
    const T(vec) s = r + r * z * POLYNOMIAL(z, s_terms);
    const T(vec) c = 1.0 - z * 0.5 + z * z * POLYNOMIAL(z, c_terms);
#else
    const T(vec) s = r + r * z * (z * (z * -0.00019587841f + 0.0083327480f) - 0.16666665f);
    const T(vec) c = 1.0f - z * 0.5f + z * z * (z * (z * 2.4547892e-05f - 0.0013888303f) + 0.041666665f);
#endif
    const T(mask) odd = __builtin_convertvector(-(turns & 1), T(mask));
    const T(mask) negative = __builtin_convertvector((turns & 2), T(mask));
    return (T(vec))((T(mask))T(pick)(odd, c, s) ^ (negative << SIGN_SHIFT));
}

TARGET INLINE T(vec) T(sin)(const T(wide) *x) { return T(turn)(x, 0); }
TARGET INLINE T(vec) T(cos)(const T(wide) *x) { return T(turn)(x, 1); }

/* Returns log(1 + x) within 2 ulp. With u = 1 + x = 2^n * (1 + f) and s = f / (2 + f), log(1 + f) is f - s * (f - a
   power series in s^2). The rounding error of u, divided by u, is added. */
TARGET INLINE T(vec) T(log1p)(T(vec) x)
{
#if F64
    enum { FRACTION = 52, BIAS = 1023 };
    const BITS root = 0x3fe6a09e667f3bcd; /* sqrt(1/2) */
    static const REAL p_terms[] = {0.1479819860511658591, 0.1531383769920937332, 0.1818357216161805012,
        0.2222219843214978396, 0.2857142874366239149, 0.3999999999940941908, 0.6666666666666735130};
#else
    enum { FRACTION = 23, BIAS = 127 };
    const BITS root = 0x3f3504f3;
    static const REAL p_terms[] = {0.24279078841f, 0.28498786688f, 0.40000972152f, 0.66666662693f};
#endif
    const T(vec) u = x + (REAL)1;
    const T(mask) bits = (T(mask))u + (((BITS)BIAS << FRACTION) - root);
    const T(mask) exponent = (bits >> FRACTION) - BIAS;
    const T(vec) n = __builtin_convertvector(exponent, T(vec)), scale = (T(vec))((BIAS - exponent) << FRACTION),
                 f = (T(vec))((bits & (((BITS)1 << FRACTION) - 1)) + root) - (REAL)1;
    const T(vec) s = f / (f + (REAL)2), z = s * s, half = f * f * (REAL)0.5;
    const T(vec) lost = T(pick)((T(mask))(x > (REAL)1), (REAL)1 - (u - x), x - (u - (REAL)1)) * scale *
        ((REAL)1 - f + f * f);
    T(vec) y = s * (half + z * POLYNOMIAL(z, p_terms)) + (n * LN2_LOW + lost) - half + f + n * LN2_HIGH;
    y = T(pick)((T(mask))(x == T(splat)(-1)), T(splat)(-INFINITY), y);
    y = T(pick)((T(mask))(x < T(splat)(-1)), T(splat)(NAN), y);
    return T(pick)((T(mask))(x < T(splat)(INFINITY)), y, x);
}

/* Without a vector instruction, the C library is called per lane. */

#define BY_LANE(name, function) \
    TARGET INLINE T(vec) T(name)(T(vec) x) \
    { \
        for (int k = 0; k < LANES; k++) x[k] = F(function)(x[k]); \
        return x; \
    }
BY_LANE(log, log)
BY_LANE(log2, log2)
BY_LANE(floor, floor)
BY_LANE(ceil, ceil)
BY_LANE(round, rint) /* to the nearest integer, and half to even */
BY_LANE(whole, trunc) /* towards 0 */
#undef BY_LANE

/* Truncates *x to *to, clipped to 2^62 in size. NaN becomes 0. */
TARGET INLINE void T(truncate)(T(ints) *to, const T(wide) *x)
{
    for (int k = 0; k < LANES; k++) (*to)[k] = truncated((*x)[k]);
}

TARGET INLINE T(vec) T(sqrt)(T(vec) x)
{
#if AVX
    T(vec) y;
    ROOT(y, x);
#else
    T(vec) y = x;
    for (int k = 0; k < LANES; k++) y[k] = F(sqrt)(x[k]);
#endif
    return y;
}

TARGET INLINE T(vec) T(pow)(T(vec) x, T(vec) y)
{
    T(vec) z = x;
    for (int k = 0; k < LANES; k++) z[k] = F(pow)(x[k], y[k]);
    return z;
}

/* Returns whether an angle is above 10^6, which needs the C library. */
TARGET INLINE int T(far)(const T(wide) *x)
{
    const T(mask) above = (T(mask))(T(abs)(__builtin_convertvector(*x, T(vec))) > (REAL)1e6);
    return T(lane_max)((T(vec))(above & (T(mask))T(splat)(1))) > 0;
}

/* Like sin and cos, for angles of any size. */
TARGET INLINE T(vec) T(sin_any)(const T(wide) *x)
{
    T(vec) y = T(sin)(x);
    if (T(far)(x))
        for (int k = 0; k < LANES; k++) y[k] = (REAL)sin((*x)[k]);
    return y;
}

TARGET INLINE T(vec) T(cos_any)(const T(wide) *x)
{
    T(vec) y = T(cos)(x);
    if (T(far)(x))
        for (int k = 0; k < LANES; k++) y[k] = (REAL)cos((*x)[k]);
    return y;
}

