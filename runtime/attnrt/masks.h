/* ---- tables of the tiles of masks (mask.c) ---- */

/* Some kernels have a mask as a parameter. A call reads the whole mask to find the tiles that the mask hides. A caller
   that passes the same mask to several calls can make the table of the tiles once. The table is the member MASK_tiles
   of struct NAME_params, where MASK is the name of the mask. If the member is NULL, the call makes the table. The table
   must be made again after a change of the mask: a kernel does not compute tiles that the table says are hidden. */
/* Returns the bytes of the table of a mask with `rank` axes of these sizes. attn_param_shape writes the sizes. Returns
   0 if a size is negative, the rank is not 2 to 4, or a product of sizes overflows. */
size_t attn_tiles_bytes(int rank, const int64_t *shape);
/* Makes the table of the tiles of a mask.
   - mask: [shape[0], …, rows, columns]. A byte of 0 is false. Any other byte is true.
   - strides: [rank], as in struct NAME_strides. NULL means that the mask is contiguous.
   - table: the caller's memory of `bytes` bytes, aligned to 8
   Returns 0, or one of
   - ATTN_EPROBLEM: the rank is not 2 to 4, or a size or stride is negative
   - ATTN_ESIZE: a product of sizes overflows
   - ATTN_EPOINTER: shape, table or mask is NULL
   - ATTN_EALIGN: the table is not aligned to 8
   - ATTN_EWORKSPACE: `bytes` is smaller than attn_tiles_bytes() */
int attn_tiles_of_mask(const uint8_t *mask, int rank, const int64_t *shape, const int64_t *strides,
                       struct attn_mask_tiles *table, size_t bytes);
/* Used by kernels. Returns 0 if the table is for a mask of this shape, else ATTN_ETILES, or an error of the arguments
   as above. */
int attn_tiles_check(const struct attn_mask_tiles *table, int rank, const int64_t *shape);
/* Used by kernels. Makes the tiles of one strip, which has `rows` rows. `row` and `column` are strides. */
void attn_tiles_of_strip(const uint8_t *mask, int64_t rows, int64_t columns, int64_t row, int64_t column,
                         uint8_t *tile);
/* Used by kernels. The same for reals of type F32, F64, F16 or BF16 from element `at` on, of which -inf hides a pair.
 */
void attn_tiles_of_reals(enum attn_dtype dtype, const void *reals, int64_t at, int64_t rows, int64_t columns,
                         int64_t row, int64_t column, uint8_t *tile);

/* Says which tokens of a tree are on the path to each token, for a mask of drafts such as
   j < base[b] || ancestors[b][row][j - base[b]].
   - parents: [tokens]: the number of each token's parent, which is a smaller number, or -1
   - ancestors: [tokens, row]: row t gets 1 for t and its ancestors, and 0 for others. `row` is at least `tokens`
   - depths: [tokens], or NULL: gets the number of the ancestors of each token
   Returns 0, or one of
   - ATTN_EPROBLEM: `row` or `tokens` is too small, or a parent does not have a smaller number
   - ATTN_EPOINTER: parents or ancestors is NULL */
int attn_ancestors(int64_t tokens, const int32_t *parents, uint8_t *ancestors, int64_t row, int32_t *depths);

/* ---- masks as ranges of keys (ranges.c), and random blocks (draw.c) ---- */

/* The arguments of functions that emitted code calls. */
#ifndef ATTNRT_ARGUMENTS
#define ATTNRT_ARGUMENTS
struct attn_range {
    int64_t from, to; /* from <= x < to */
};
/* A random draw of `count` different numbers for each a from `first` to `last`.
   - The numbers are from 0 … n - 1. n is `among`, or a + 1 with `upto`. If n <= count, all are drawn.
   - Candidates are splitmix64(splitmix64(splitmix64(seed) ^ a) ^ t) modulo n for t = 0, 1, …, without repetitions. */
struct attn_draw {
    uint64_t seed;
    int64_t count, among, first, last;
    int upto;
    int64_t *list; /* [last - first + 1, count + 1]: for each a, the number of drawn numbers, then the drawn numbers
                      in ascending order */
};
/* where the norms of attn_orthogonal_f64 begin in its stream */
#define ATTN_NORMS (UINT64_C(1) << 63)
#endif /* ATTNRT_ARGUMENTS */

/* Replaces the ranges by their union, clipped to from <= x < to. The ranges of a union are sorted and do not touch.
   Returns the number of ranges. */
int64_t attn_union(struct attn_range *range, int64_t count, int64_t from, int64_t to);
/* Returns true if a union of attn_union contains every x with from <= x < to. */
int attn_covers(const struct attn_range *range, int64_t count, int64_t from, int64_t to);

void attn_draw(struct attn_draw *draw); /* fills `list` */
/* Fills `list` from the caller's numbers, without negative numbers and repetitions. `number` has `count` numbers for
   each a, beginning with `first`. */
void attn_draw_listed(struct attn_draw *draw, const int32_t *number);
int attn_drawn(const struct attn_draw *draw, int64_t a, int64_t b); /* returns 1 if b was drawn for a */
/* Writes the range b * block <= x < (b + 1) * block for some b. If `every` is 0, these are the b drawn for at least
   one a. Otherwise they are the b drawn for all a. The ranges are clipped to from <= x < to. Returns the number of
   ranges, at most `count` for each a. */
int64_t attn_drawn_ranges(const struct attn_draw *draw, int64_t block, int64_t from, int64_t to, int every,
                          struct attn_range *range);
