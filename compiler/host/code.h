/* Code that is compiled, kept in a cache and loaded, for the files of host/ only. */
#ifndef ATTNC_HOST_CODE_H
#define ATTNC_HOST_CODE_H

#include "host.h"
#include "../support/support.h"

/* The folder of compiled kernels, made if it has to be. It is open where nobody but this user can have put code there;
   else false, and *why says why. */
bool cache_open(struct arena *arena, struct folder *out, const char **why);
/* Appends to a compiled kernel the hash of its bytes; 0 or -1 with errno. A sealed file that was cut short or changed
   is no longer sealed, and neither is one that is another user's, or that others can write to. To ask is to use it:
   what was used last is kept longest. */
int seal_file(const struct folder *f, const char *name);
bool sealed_file(const struct folder *f, const char *name);
/* A sealed file's content, in the arena; NULL where there is none that is sealed. */
const char *sealed_text(struct arena *arena, const struct folder *f, const char *name);
/* Waits until no other process makes this file of the cache; -1: nothing keeps others from making it as well. */
int cache_lock(struct arena *arena, const struct folder *cache, const char *file);
void cache_unlock(struct arena *arena, const struct folder *cache, const char *file, int lock);
/* Bytes that the cache may have, from $ATTNC_CACHE_SIZE; *bad is its value where that is no size, else NULL. */
int64_t cache_limit(const char **bad);
/* Removes what was used least recently until the rest is no larger, and what killed processes left. Others may do the
   same meanwhile. */
void cache_trim(const struct folder *cache, int64_t limit);

extern const char machine_probe_source[], machine_probe_header[];
/* Compiles (or finds in the cache) NAME.c, which may include NAME.h and attnrt.h, and loads it; then `symbol` is the
   address of the symbol of that name. Reports to standard error; returns STATUS_DONE or STATUS_MACHINE. */
enum status code_load(const char *name, const char *source, const char *header, const char *symbol, bool quiet,
                      struct loaded_code *out);
void code_unload(struct loaded_code *code);

#endif
