/* ---- .npy files, format versions 1 to 3 (npy.c) ---- */

struct attn_array {
    enum attn_dtype dtype;
    int rank;
    int64_t shape[8];
    void *data; /* contiguous, C order; free with attn_array_free */
};
/* Reads a .npy file into new memory, in C order.
   - The file may have either byte order, and C or Fortran order.
   - For a `dtype` of floats, the file must have floats (f2, f4, f8). They are converted to `dtype` and rounded once.
   - For I32, the file must have integers. A value that does not fit gives ATTN_EFORMAT.
   - For U8, the file must have truth values or integers. An integer that is not 0 is true.
   Returns 0, ATTN_EIO, ATTN_EMEMORY or ATTN_EFORMAT. After an error, `message` says what is wrong with the file. */
int attn_npy_read(const char *path, enum attn_dtype dtype, struct attn_array *array, char *message,
                  size_t message_bytes);
/* Writes a .npy file. An error leaves an existing file unchanged. BF16 is written as f4. Returns 0, or ATTN_EIO or
   ATTN_EMEMORY with a message. */
int attn_npy_write(const char *path, const struct attn_array *array, char *message, size_t message_bytes);
void attn_array_free(struct attn_array *array);
