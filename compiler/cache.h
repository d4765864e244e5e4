/* What cc.c takes from the folder of compiled kernels (cache.c, cache_trim.c). */
#ifndef ATTNC_CACHE_H
#define ATTNC_CACHE_H

#include "compiler.h"

/* A folder that is held open: what is done through `fd` is done there, whoever renames what is above it. */
struct folder {
    int fd; /* -1: there is none */
    const char *path;
};
#define NO_FOLDER ((struct folder){-1, NULL})
void folder_close(struct folder *f);
/* The last part of its path. */
const char *folder_name(const struct folder *f);
/* A descriptor of the folder of that name, which is no link; -1 with errno. */
int folder_open(int parent, const char *name);
/* The folder of compiled kernels, made if it has to be. It is open where nobody but this user can have put code there; else false, and *why says why. */
bool cache_open(struct arena *arena, struct folder *out, const char **why);
/* A new folder that only this user can enter, in `parent` or, where that is none, with the temporary files; false with errno. */
bool private_open(struct arena *arena, const struct folder *parent, struct folder *out);
/* Removes a file, a link, or a folder and what is in it; never what a link leads to. */
void remove_at(int parent, const char *name);
/* Appends to a compiled kernel the hash of its bytes; 0 or -1 with errno. A sealed file that was cut short or changed is no longer sealed, and neither is
   one that is another user's, or that others can write to. To ask is to use it: what was used last is kept longest. */
int seal_file(const struct folder *f, const char *name);
bool sealed_file(const struct folder *f, const char *name);
/* Bytes that the cache may have, from $ATTNC_CACHE_SIZE; *bad is its value where that is no size, else NULL. */
int64_t cache_limit(const char **bad);
/* Removes what was used least recently until the rest is no larger, and what killed processes left. Others may do the same meanwhile. */
void cache_trim(const struct folder *cache, int64_t limit);

#endif
