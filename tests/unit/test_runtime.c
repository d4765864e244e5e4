/* Tests the runtime library: checks of struct attn_problem, descriptions of kernels, memory, and .npy files. */
#include "runtime/attnrt.h"
#include "suite.h"

#include <CUnit/CUnit.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/attnc-test-XXXXXX", path[64], message[256];

/* ---- .npy: files that numpy writes, and files that it would never write ---- */

static void put(const void *bytes, size_t length)
{
    FILE *file = fopen(path, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    if (!file) return;
    CU_ASSERT_EQUAL(fwrite(bytes, 1, length, file), length);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

/* Writes a .npy file of version `major`.0 with this header and data. */
static void put_npy(int major, const char *header, const void *data, size_t bytes)
{
    unsigned char file[4096] = "\x93NUMPY";
    size_t length = strlen(header), at = major == 1 ? 10 : 12;
    file[6] = (unsigned char)major;
    for (size_t k = 8; k < at; k++) file[k] = (unsigned char)(length >> 8 * (k - 8));
    memcpy(file + at, header, length);
    if (bytes) memcpy(file + at + length, data, bytes);
    put(file, at + length + bytes);
}

static struct attn_array array;

static int get(enum attn_dtype dtype)
{
    message[0] = 0;
    return attn_npy_read(path, dtype, &array, message, sizeof message);
}

static void expect_bad(enum attn_dtype dtype, const char *text)
{
    int error = get(dtype);
    CU_ASSERT_EQUAL(error, ATTN_EFORMAT);
    CU_ASSERT_PTR_NULL(array.data);
    if (!strstr(message, text)) printf("\n    message '%s' lacks '%s'\n", message, text);
    CU_ASSERT_PTR_NOT_NULL(strstr(message, text));
    attn_array_free(&array);
}

static void expect_bad_header(const char *header, const char *text)
{
    put_npy(1, header, NULL, 0);
    expect_bad(ATTN_F32, text);
}

static void test_read_versions(void)
{
    const float data[6] = {1, -2, 3.5f, 0, INFINITY, 1e-40f};
    for (int major = 1; major <= 3; major++) {
        put_npy(major, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n", data, sizeof data);
        CU_ASSERT_EQUAL_FATAL(get(ATTN_F32), 0);
        CU_ASSERT_EQUAL(array.dtype, ATTN_F32);
        CU_ASSERT_EQUAL(array.rank, 2);
        CU_ASSERT(array.shape[0] == 2 && array.shape[1] == 3);
        CU_ASSERT_EQUAL(memcmp(array.data, data, sizeof data), 0);
        attn_array_free(&array);
        CU_ASSERT_EQUAL_FATAL(get(ATTN_F64), 0);
        for (int k = 0; k < 6; k++) CU_ASSERT(((const double *)array.data)[k] == (double)data[k]);
        attn_array_free(&array);
    }
    put_npy(1, "{\"shape\":(6L,),'descr':'<f4','fortran_order':True}", data, sizeof data);
    CU_ASSERT_EQUAL(get(ATTN_F32), 0);
    CU_ASSERT(array.rank == 1 && array.shape[0] == 6);
    attn_array_free(&array);
}

/* Reads files in Fortran order, in which the first dimension varies fastest. */
static void test_read_fortran_order(void)
{
    float data[24];
    for (int k = 0; k < 24; k++) data[k] = (float)k;
    static const char *const headers[] = {"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3, 4)}",
                                          "{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2, 3, 1, 4)}"};
    for (int n = 0; n < 2; n++) {
        put_npy(1, headers[n], data, sizeof data);
        for (int wide = 0; wide < 2; wide++) {
            CU_ASSERT_EQUAL_FATAL(get(wide ? ATTN_F64 : ATTN_F32), 0);
            for (int x = 0; x < 2; x++)
                for (int y = 0; y < 3; y++)
                    for (int z = 0; z < 4; z++) {
                        const int at = x * 12 + y * 4 + z;
                        const double got = wide ? ((const double *)array.data)[at]
                                                : (double)((const float *)array.data)[at];
                        CU_ASSERT_EQUAL(got, (double)(x + 2 * y + 6 * z));
                    }
            attn_array_free(&array);
        }
    }
}

static void test_read_conversions(void)
{
    const unsigned char half[] = {0x00, 0x3c, 0x00, 0xc0, 0x01, 0x00, 0xff, 0x7b, 0x00, 0x7c, 0x01, 0x7e},
                        big4[] = {0x3f, 0x80, 0, 0, 0xc0, 0x20, 0, 0}, big8[] = {0x3f, 0xf8, 0, 0, 0, 0, 0, 0},
                        big2[] = {0x3c, 0x00};
    put_npy(1, "{'descr': '<f2', 'fortran_order': False, 'shape': (6,)}", half, sizeof half);
    CU_ASSERT_EQUAL_FATAL(get(ATTN_F32), 0);
    const float *f = array.data;
    CU_ASSERT(f[0] == 1 && f[1] == -2 && f[2] == 0x1p-24f && f[3] == 65504 && isinf(f[4]) && isnan(f[5]));
    attn_array_free(&array);
    put_npy(1, "{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}", big4, sizeof big4);
    CU_ASSERT_EQUAL_FATAL(get(ATTN_F32), 0);
    f = array.data;
    CU_ASSERT(f[0] == 1 && f[1] == -2.5f);
    attn_array_free(&array);
    put_npy(1, "{'descr': '>f8', 'fortran_order': False, 'shape': (1,)}", big8, sizeof big8);
    CU_ASSERT_EQUAL_FATAL(get(ATTN_F64), 0);
    CU_ASSERT(*(const double *)array.data == 1.5);
    attn_array_free(&array);
    put_npy(1, "{'descr': '>f2', 'fortran_order': False, 'shape': ()}", big2, sizeof big2);
    CU_ASSERT_EQUAL_FATAL(get(ATTN_F64), 0);
    CU_ASSERT(array.rank == 0 && *(const double *)array.data == 1);
    attn_array_free(&array);
}

/* Reading f64 as a 16-bit type rounds to nearest even, and only once. */
static void test_read_narrowing(void)
{
    const double from[] = {1,
                           -1,
                           1 + 0x1p-11,
                           1 + 0x1p-11 + 0x1p-40,
                           1 + 3 * 0x1p-11,
                           65519.999,
                           65520,
                           1e300,
                           0x1p-24,
                           0x1p-25,
                           0x1.8p-25,
                           0x1p-26,
                           -0.0,
                           5e-324,
                           NAN,
                           -INFINITY,
                           0x1.ffcp-15,
                           0x1.ffep-15};
    const uint16_t half[] = {0x3c00, 0xbc00, 0x3c00, 0x3c01, 0x3c02, 0x7bff, 0x7c00, 0x7c00, 0x0001,
                             0x0000, 0x0001, 0x0000, 0x8000, 0x0000, 0x7e00, 0xfc00, 0x0400, 0x0400};
    put_npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (18,)}", from, sizeof from);
    CU_ASSERT_EQUAL_FATAL(get(ATTN_F16), 0);
    for (int k = 0; k < 18; k++) {
        uint16_t got = ((const uint16_t *)array.data)[k];
        if (got != half[k]) printf("\n    f16 of %a is %04x, expected %04x\n", from[k], got, half[k]);
        CU_ASSERT_EQUAL(got | (k == 14) << 15, half[k] | (k == 14) << 15);
    }
    attn_array_free(&array);
    const double wide[] = {1, 1 + 0x1p-8, 1 + 0x1p-8 + 0x1p-45, 1 + 3 * 0x1p-8, 0x1.ffp127, 0x1p-133, 0x1p-134, -3.0};
    const uint16_t bf16[] = {0x3f80, 0x3f80, 0x3f81, 0x3f82, 0x7f80, 0x0001, 0x0000, 0xc040};
    put_npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (8,)}", wide, sizeof wide);
    CU_ASSERT_EQUAL_FATAL(get(ATTN_BF16), 0);
    for (int k = 0; k < 8; k++) {
        uint16_t got = ((const uint16_t *)array.data)[k];
        if (got != bf16[k]) printf("\n    bf16 of %a is %04x, expected %04x\n", wide[k], got, bf16[k]);
        CU_ASSERT_EQUAL(got, bf16[k]);
    }
    attn_array_free(&array);
}

/* Every 16-bit number converts to the value of its bits, and rounds to itself. */
static void test_half(void)
{
    int wrong = 0;
    for (uint32_t bits = 0; bits <= 0xffff; bits++) {
        double f16 = attn_f16_value((uint16_t)bits), bf16 = attn_bf16_value((uint16_t)bits);
        wrong += isnan(f16) != ((bits & 0x7fff) > 0x7c00) || isnan(bf16) != ((bits & 0x7fff) > 0x7f80);
        if (!isnan(f16)) wrong += attn_f16(f16) != bits;
        if (!isnan(bf16)) wrong += attn_bf16(bf16) != bits;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT(attn_f16_value(0x3c01) == 1 + 0x1p-10 && attn_f16_value(0x8001) == -0x1p-24 &&
              attn_f16_value(0x7bff) == 65504);
    CU_ASSERT(attn_bf16_value(0x3f81) == 1 + 0x1p-7 && attn_bf16_value(0x0001) == 0x1p-133 &&
              attn_bf16_value(0xff80) == -INFINITY);
}

static void test_read_integers(void)
{
    static const char *const descr[] = {"|i1", "<i2", "<i4", "<i8", ">i4", ">i8"};
    const signed char byte[] = {-7, 100};
    const int16_t two[] = {-7, 100};
    const int32_t four[] = {-7, 100};
    const int64_t eight[] = {-7, 100};
    const unsigned char big4[] = {255, 255, 255, 249, 0, 0, 0, 100},
                        big8[] = {255, 255, 255, 255, 255, 255, 255, 249, 0, 0, 0, 0, 0, 0, 0, 100};
    const void *const data[] = {byte, two, four, eight, big4, big8};
    const size_t size[] = {1, 2, 4, 8, 4, 8};
    for (int k = 0; k < 6; k++) {
        char header[128];
        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (2,)}", descr[k]);
        put_npy(1, header, data[k], 2 * size[k]);
        CU_ASSERT_EQUAL_FATAL(get(ATTN_I32), 0);
        CU_ASSERT(((const int32_t *)array.data)[0] == -7 && ((const int32_t *)array.data)[1] == 100);
        attn_array_free(&array);
    }
    const uint32_t large = 3000000000u;
    put_npy(1, "{'descr': '<u4', 'fortran_order': False, 'shape': (1,)}", &large, sizeof large);
    expect_bad(ATTN_I32, "3000000000");
    const int64_t low = (int64_t)INT32_MIN - 1;
    put_npy(1, "{'descr': '<i8', 'fortran_order': False, 'shape': (1,)}", &low, sizeof low);
    expect_bad(ATTN_I32, "-2147483649");
    const uint64_t huge = UINT64_MAX;
    put_npy(1, "{'descr': '<u8', 'fortran_order': False, 'shape': (1,)}", &huge, sizeof huge);
    expect_bad(ATTN_I32, "18446744073709551615");
    put_npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", &large, sizeof large);
    expect_bad(ATTN_I32, "dtype <f4; expected an integer");
    expect_bad_header("{'descr': '<i8', 'fortran_order': False, 'shape': (0,)}", "dtype <i8; expected a float");
}

static void test_read_empty_and_scalar(void)
{
    put_npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 0, 2)}", NULL, 0);
    CU_ASSERT_EQUAL_FATAL(get(ATTN_F32), 0);
    CU_ASSERT_PTR_NOT_NULL(array.data);
    CU_ASSERT(array.rank == 3 && array.shape[0] == 3 && array.shape[1] == 0 && array.shape[2] == 2);
    attn_array_free(&array);
    const double one = 4;
    put_npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': ()}", &one, sizeof one);
    CU_ASSERT_EQUAL_FATAL(get(ATTN_F32), 0);
    CU_ASSERT(array.rank == 0 && *(const float *)array.data == 4);
    attn_array_free(&array);
}

static void test_read_malformed(void)
{
    const float data[4] = {1, 2, 3, 4};
    put("", 0);
    expect_bad(ATTN_F32, "is empty");
    put("\x93NUM", 4);
    expect_bad(ATTN_F32, "truncated");
    put("PK\x03\x04 not an array", 18);
    expect_bad(ATTN_F32, "not a .npy file");
    put("\x93NUMPY\x04\x00\x10\x00\x00\x00", 12);
    expect_bad(ATTN_F32, "version 4.0");
    put("\x93NUMPY\x01\x00\x10", 9);
    expect_bad(ATTN_F32, "truncated");
    put("\x93NUMPY\x01\x00\xff\xff{'descr'", 18);
    expect_bad(ATTN_F32, "truncated: its header");
    put("\x93NUMPY\x02\x00\xff\xff\xff\xff{'descr'", 20);
    expect_bad(ATTN_F32, "truncated: its header");
    put("\x93NUMPY\x01\x00\x03\x00{\0}", 13);
    expect_bad(ATTN_F32, "zero byte");
    put_npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}", data, sizeof data);
    expect_bad(ATTN_F32, "truncated: it has 16 bytes of data, its shape and dtype need 24");
    put_npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", data, sizeof data);
    expect_bad(ATTN_F32, "4 bytes after the end");
    expect_bad_header("{'descr': '<c16', 'fortran_order': False, 'shape': ()}",
                      "has dtype <c16; expected a float (f2, f4, f8)");
    expect_bad_header("{'descr': '|b1', 'fortran_order': False, 'shape': ()}", "has dtype |b1");
    expect_bad_header("{'descr': '|O', 'fortran_order': False, 'shape': ()}", "has dtype |O");
    expect_bad_header("{'descr': '', 'fortran_order': False, 'shape': ()}", "has dtype ");
    expect_bad_header("{'descr': '<f16', 'fortran_order': False, 'shape': ()}", "has dtype <f16");
    expect_bad_header("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': ()}", "structured");
    expect_bad_header("", "not a dictionary");
    expect_bad_header("{", "not a dictionary");
    expect_bad_header("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)", "not a dictionary");
    expect_bad_header("{'descr': '<f4', 'fortran_order': False, 'shape': (1", "not a tuple");
    expect_bad_header("{'descr': '<f4", "descr is not a string");
    expect_bad_header("{'descr': '<f4' 'shape': ()}", "not a dictionary");
    expect_bad_header("{'descr': '<f4', 'fortran_order': 0, 'shape': ()}", "neither True nor False");
    expect_bad_header("{'descr': '<f4', 'fortran_order': False, 'shape': 3}", "not a tuple");
    expect_bad_header("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "tuple of sizes");
    expect_bad_header("{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}", "tuple of sizes");
    expect_bad_header("{'descr': '<f4', 'fortran_order': False, 'shape': (1,,)}", "tuple of sizes");
    expect_bad_header("{'descr': '<f4', 'fortran_order': False}", "lacks the key 'shape'");
    expect_bad_header("{'descr': '<f4', 'shape': ()}", "lacks the key 'fortran_order'");
    expect_bad_header("{}", "lacks the key 'descr'");
    expect_bad_header("{'descr': '<f4', 'descr': '<f4'}", "'descr' twice");
    expect_bad_header("{'colour': 'red'}", "the key 'colour'");
    expect_bad_header("{'descr': '<f4', 'fortran_order': False, 'shape': ()} x", "follows the dictionary");
    expect_bad_header("{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}", "has 9 dimensions");
    expect_bad_header("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", "too large");
    expect_bad_header("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", "too large");
    expect_bad_header("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4, 0)}", "too large");
    expect_bad_header("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,)}", "truncated");
}

static void test_read_io_errors(void)
{
    snprintf(path, sizeof path, "%s/absent.npy", folder);
    CU_ASSERT_EQUAL(get(ATTN_F32), ATTN_EIO);
    CU_ASSERT_EQUAL(errno, ENOENT);
    CU_ASSERT_STRING_EQUAL(message, strerror(ENOENT));
    CU_ASSERT_EQUAL(attn_npy_read(folder, ATTN_F32, &array, message, sizeof message), ATTN_EIO);
    CU_ASSERT_EQUAL(attn_npy_read(path, ATTN_F32, &array, NULL, 0), ATTN_EIO);
    snprintf(path, sizeof path, "%s/array.npy", folder);
}

static void test_write_round_trips(void)
{
    float f[6] = {1, -2, 3, NAN, INFINITY, 0};
    double d[6] = {1, -2, 1e300, 0.1, 5e-324, 0};
    int32_t i[6] = {1, -2, INT32_MAX, INT32_MIN, 0, 7};
    uint16_t h[6] = {0x3c00, 0xc000, 0x0001, 0x7bff, 0x7c00, 0x8000},
             b[6] = {0x3f80, 0xc000, 0x0001, 0x7f7f, 0x7f80, 0x8000};
    const struct {
        enum attn_dtype dtype;
        void *data;
        size_t size;
    } row[] = {{ATTN_F32, f, 4}, {ATTN_F64, d, 8}, {ATTN_I32, i, 4}, {ATTN_F16, h, 2}, {ATTN_BF16, b, 2}};
    static const int64_t shapes[][3] = {{6}, {2, 3}, {3, 1, 2}};
    for (size_t k = 0; k < sizeof row / sizeof *row; k++)
        for (int rank = 1; rank <= 3; rank++) {
            struct attn_array a = {.dtype = row[k].dtype, .rank = rank, .data = row[k].data};
            memcpy(a.shape, shapes[rank - 1], sizeof shapes[0]);
            CU_ASSERT_EQUAL_FATAL(attn_npy_write(path, &a, message, sizeof message), 0);
            struct stat info;
            CU_ASSERT_EQUAL(stat(path, &info), 0);
            CU_ASSERT_EQUAL(info.st_size, (off_t)(128 + 6 * (row[k].dtype == ATTN_BF16 ? 4 : row[k].size)));
            CU_ASSERT_EQUAL_FATAL(get(row[k].dtype), 0);
            CU_ASSERT_EQUAL(array.rank, rank);
            CU_ASSERT_EQUAL(memcmp(array.shape, a.shape, sizeof shapes[0]), 0);
            CU_ASSERT_EQUAL(memcmp(array.data, row[k].data, 6 * row[k].size), 0);
            attn_array_free(&array);
        }
    struct attn_array scalar = {.dtype = ATTN_F64, .data = d},
                      empty = {.dtype = ATTN_F32, .rank = 2, .shape = {0, 4}, .data = f};
    CU_ASSERT_EQUAL(attn_npy_write(path, &scalar, message, sizeof message), 0);
    CU_ASSERT_EQUAL(get(ATTN_F64), 0);
    CU_ASSERT(array.rank == 0 && *(const double *)array.data == 1);
    attn_array_free(&array);
    CU_ASSERT_EQUAL(attn_npy_write(path, &empty, message, sizeof message), 0);
    CU_ASSERT_EQUAL(get(ATTN_F32), 0);
    CU_ASSERT(array.rank == 2 && array.shape[0] == 0 && array.shape[1] == 4);
    attn_array_free(&array);
}

static void test_write_errors(void)
{
    float data[2] = {1, 2};
    struct attn_array a = {.dtype = ATTN_F32, .rank = 1, .shape = {2}, .data = data};
    char bad[128];
    snprintf(bad, sizeof bad, "%s/absent/array.npy", folder);
    CU_ASSERT_EQUAL(attn_npy_write(bad, &a, message, sizeof message), ATTN_EIO);
    CU_ASSERT_STRING_EQUAL(message, strerror(ENOENT));
    /* A folder has this name, so the temporary file cannot be renamed and must be removed. */
    snprintf(bad, sizeof bad, "%s/taken", folder);
    CU_ASSERT_EQUAL(mkdir(bad, 0700), 0);
    CU_ASSERT_EQUAL(attn_npy_write(bad, &a, message, sizeof message), ATTN_EIO);
    CU_ASSERT_EQUAL(rmdir(bad), 0);
    struct attn_array huge = {.dtype = ATTN_F32, .rank = 2, .shape = {INT64_MAX, 4}, .data = data};
    CU_ASSERT_EQUAL(attn_npy_write(path, &huge, message, sizeof message), ATTN_EIO);
}

/* ---- problems ---- */

static int check(struct attn_problem p)
{
    return attn_problem_check(&p, 64, 32, &p);
}

static struct attn_problem by_default(void)
{
    return (struct attn_problem){.batch = 2, .heads = 6, .kv_heads = 3, .n_q = 10, .n_k = 20};
}

static void test_problem_strides(void)
{
    struct attn_problem p = by_default(), filled;
    CU_ASSERT_EQUAL_FATAL(attn_problem_check(&p, 64, 32, &filled), 0);
    CU_ASSERT(filled.q.row == 64 && filled.q.head == 640 && filled.q.batch == 3840);
    CU_ASSERT(filled.k.row == 64 && filled.k.head == 1280 && filled.k.batch == 3840);
    CU_ASSERT(filled.v.row == 32 && filled.v.head == 640 && filled.v.batch == 1920);
    CU_ASSERT(filled.out.row == 32 && filled.out.head == 320 && filled.out.batch == 1920);
    CU_ASSERT_EQUAL(p.q.row, 0);
    CU_ASSERT_EQUAL(attn_problem_check(&p, 64, 32, &p), 0); /* the result may be the checked struct itself */
    CU_ASSERT_EQUAL(attn_problem_check(&p, 64, 32, &filled), 0);
    CU_ASSERT_EQUAL(memcmp(&p, &filled, sizeof p), 0);
    p = by_default();
    p.heads = p.kv_heads = 6;
    p.key_heads = 2;
    CU_ASSERT_EQUAL(attn_problem_check(&p, 64, 32, &filled), 0);
    CU_ASSERT(filled.q.batch == 1280 && filled.k.batch == 2560 && filled.dq.batch == 1280 && filled.dk.batch == 2560);
    CU_ASSERT(filled.v.batch == 3840 && filled.out.batch == 1920 && filled.dv.batch == 3840);
    p = by_default();
    p.k = (struct attn_strides){.row = 64}; /* all query heads share one key head */
    p.out = (struct attn_strides){.batch = 1920, .head = 32, .row = 192};
    CU_ASSERT_EQUAL(attn_problem_check(&p, 64, 32, &filled), 0);
    CU_ASSERT(filled.k.head == 0 && filled.k.batch == 0 && filled.out.head == 32);
    p.q = (struct attn_strides){.head = 64, .row = 63};
    CU_ASSERT_EQUAL(check(p), ATTN_EPROBLEM);
    p.n_q = 1;
    CU_ASSERT_EQUAL(check(p), 0); /* with one row, the row stride is not used */
    p.q.row = INT64_MAX;          /* the unused stride is not even checked for overflow */
    CU_ASSERT_EQUAL(attn_problem_check(&p, 64, 32, &filled), 0);
    CU_ASSERT(filled.q.row == 64 && filled.q.head == 64 && filled.q.batch == 0);
    p = by_default();
    p.out = (struct attn_strides){.batch = 1920, .head = 0, .row = 32}; /* heads would overlap */
    CU_ASSERT_EQUAL(check(p), ATTN_EPROBLEM);
    p = by_default();
    p.v.head = -1;
    CU_ASSERT_EQUAL(check(p), ATTN_EPROBLEM);
    p.v = (struct attn_strides){.batch = INT64_MAX, .head = 1, .row = 32};
    CU_ASSERT_EQUAL(check(p), ATTN_ESIZE);
}

static void test_problem_sizes(void)
{
    static const struct {
        size_t member;
        int64_t value;
        int result;
    } row[] = {
        {offsetof(struct attn_problem, batch), -1, ATTN_EPROBLEM},
        {offsetof(struct attn_problem, heads), -6, ATTN_EPROBLEM},
        {offsetof(struct attn_problem, kv_heads), -3, ATTN_EPROBLEM},
        {offsetof(struct attn_problem, n_q), -1, ATTN_EPROBLEM},
        {offsetof(struct attn_problem, n_k), INT64_MIN, ATTN_EPROBLEM},
        {offsetof(struct attn_problem, kv_heads), 4, ATTN_EPROBLEM},
        {offsetof(struct attn_problem, kv_heads), 12, ATTN_EPROBLEM},
        {offsetof(struct attn_problem, kv_heads), 0, ATTN_EPROBLEM},
        {offsetof(struct attn_problem, key_heads), -1, ATTN_EPROBLEM},
        {offsetof(struct attn_problem, key_heads), 2, ATTN_EPROBLEM}, /* kv_heads is not heads */
        {offsetof(struct attn_problem, n_q), INT64_MAX, ATTN_ESIZE},
        {offsetof(struct attn_problem, n_k), INT64_MAX / 64, ATTN_ESIZE},
        {offsetof(struct attn_problem, batch), INT64_MAX / 512, ATTN_ESIZE},
        {offsetof(struct attn_problem, n_q), 0, 0},
        {offsetof(struct attn_problem, n_k), 0, 0},
        {offsetof(struct attn_problem, batch), 0, 0},
        {offsetof(struct attn_problem, heads), 0, 0},
    };
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
        struct attn_problem bad = by_default();
        memcpy((char *)&bad + row[k].member, &row[k].value, sizeof row[k].value);
        CU_ASSERT_EQUAL(check(bad), row[k].result);
    }
    struct attn_problem p = by_default();
    p.threads = -1;
    CU_ASSERT_EQUAL(check(p), ATTN_EPROBLEM);
    p = by_default();
    p.heads = p.kv_heads = 0;
    CU_ASSERT_EQUAL(check(p), 0);
    CU_ASSERT_EQUAL(attn_problem_check(NULL, 64, 64, NULL), ATTN_EPROBLEM);
    CU_ASSERT_EQUAL(attn_problem_check(&p, 0, 64, NULL), ATTN_EPROBLEM);
    CU_ASSERT_EQUAL(attn_problem_check(&p, 64, 64, NULL), 0);
}

/* ---- other functions ---- */

static void test_kernel_description(void)
{
    CU_ASSERT(attn_dtype_size(ATTN_F32) == 4 && attn_dtype_size(ATTN_BF16) == 2 && attn_dtype_size(ATTN_F16) == 2);
    CU_ASSERT(attn_dtype_size(ATTN_F64) == 8 && attn_dtype_size(ATTN_I32) == 4);
    const struct attn_param a = {.rank = 4, .shape = {ATTN_BATCH, ATTN_HEADS, ATTN_KV_HEADS, ATTN_N_Q}},
                            b = {.rank = 2, .shape = {ATTN_N_K, 5}};
    struct attn_problem p = by_default();
    int64_t shape[4];
    attn_param_shape(&a, &p, shape);
    CU_ASSERT(shape[0] == 2 && shape[1] == 6 && shape[2] == 3 && shape[3] == 10);
    attn_param_shape(&b, &p, shape);
    CU_ASSERT(shape[0] == 20 && shape[1] == 5);
}

static void test_memory_and_time(void)
{
    for (size_t bytes = 0; bytes < 300; bytes++) {
        unsigned char *memory = attn_alloc(bytes);
        CU_ASSERT_PTR_NOT_NULL_FATAL(memory);
        CU_ASSERT_EQUAL((uintptr_t)memory % 64, 0);
        for (size_t k = 0; k < bytes; k++) CU_ASSERT_EQUAL(memory[k], 0);
        if (bytes) memset(memory, 255, bytes);
        attn_free(memory);
    }
    attn_free(NULL);
    CU_ASSERT_PTR_NULL(attn_alloc(SIZE_MAX));
    double before = attn_seconds();
    CU_ASSERT(before > 0 && attn_seconds() >= before);
}

/* attn_x86_64_level agrees with __builtin_cpu_supports. */
static void test_processor(void)
{
    const int level = attn_x86_64_level();
    CU_ASSERT(level >= 1 && level <= 4);
    CU_ASSERT_EQUAL(attn_x86_64_level(), level);
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("sse2")) return;
    CU_ASSERT_EQUAL(level >= 2, __builtin_cpu_supports("sse4.2") != 0);
    CU_ASSERT_EQUAL(level >= 3, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
    CU_ASSERT_EQUAL(level >= 4, __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"));
    CU_ASSERT_EQUAL(attn_avx512_bf16(), __builtin_cpu_supports("avx512bf16") != 0);
    CU_ASSERT_EQUAL(attn_avx512_vnni(), __builtin_cpu_supports("avx512vnni") != 0);
    CU_ASSERT_EQUAL(attn_is_intel(), __builtin_cpu_is("intel") != 0);
#else
    CU_ASSERT(level == 1 && !attn_avx512_bf16() && !attn_avx512_vnni() && !attn_is_intel());
#endif
}

static void test_error_sentences(void)
{
    for (int error = -20; error <= 5; error++) {
        CU_ASSERT_PTR_NOT_NULL_FATAL(attn_strerror(error));
        bool known = error <= 0 && error >= ATTN_EVERSION;
        CU_ASSERT_EQUAL(strcmp(attn_strerror(error), "unknown error") != 0, known);
    }
}

int main(void)
{
    if (!mkdtemp(folder)) {
        perror(folder);
        return 3;
    }
    snprintf(path, sizeof path, "%s/array.npy", folder);
#define TEST(name) {#name, test_##name}
    static const struct unit_test tests[] = {TEST(read_versions),
                                             TEST(read_fortran_order),
                                             TEST(read_conversions),
                                             TEST(read_narrowing),
                                             TEST(read_integers),
                                             TEST(read_empty_and_scalar),
                                             TEST(read_malformed),
                                             TEST(read_io_errors),
                                             TEST(write_round_trips),
                                             TEST(write_errors),
                                             TEST(problem_strides),
                                             TEST(problem_sizes),
                                             TEST(kernel_description),
                                             TEST(memory_and_time),
                                             TEST(processor),
                                             TEST(error_sentences),
                                             TEST(half)};
    int result = unit_tests_run("runtime", tests, sizeof tests / sizeof *tests);
    unlink(path);
    if (rmdir(folder) != 0) { /* a temporary file was left */
        perror(folder);
        result = 1;
    }
    return result;
}
