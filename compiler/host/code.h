/* Code that is compiled, cached and loaded; only for the files of host/. */
#ifndef ATTNC_HOST_CODE_H
#define ATTNC_HOST_CODE_H

#include "host.h"
#include "../support/support.h"

/* Opens the folder of compiled kernels, and creates it if necessary. Returns false, with the reason in *why, if
   anybody except this user could have put code there. */
bool cache_open(struct arena *arena, struct folder *out, const char **why);
/* seal_file appends the hash of a compiled kernel's bytes to the file; it returns 0, or -1 with errno. sealed_file
   is false if the file was truncated or changed, belongs to another user, or can be written by others. It also marks
   the file as used: the cache keeps the files that were used last. */
int seal_file(const struct folder *f, const char *name);
bool sealed_file(const struct folder *f, const char *name);
/* The content of a sealed file, in the arena; NULL if there is none or it is not sealed. */
const char *sealed_text(struct arena *arena, const struct folder *f, const char *name);
/* Waits until no other process is making this file of the cache. -1: it could not be locked, so others may make it
   too. */
int cache_lock(struct arena *arena, const struct folder *cache, const char *file);
void cache_unlock(struct arena *arena, const struct folder *cache, const char *file, int lock);
/* The size limit of the cache in bytes, from $ATTNC_CACHE_SIZE. If the value is not a size, *bad is the value, else
   NULL. */
int64_t cache_limit(const char **bad);
/* Removes files left by killed processes. Other processes may do the same at the same time, as with cache_trim. */
void cache_clean(const struct folder *cache);
/* Removes the least recently used files until the cache is within the limit. */
void cache_trim(const struct folder *cache, int64_t limit);

extern const char machine_probe_source[], machine_probe_header[];
/* Compiles NAME.c, which may include NAME.h and attnrt.h, or finds it in the cache, and loads it. The address of
   `symbol` is in *out. Reports errors to standard error; returns STATUS_DONE or STATUS_MACHINE. */
enum status code_load(const char *name, const char *source, const char *header, const char *symbol, bool quiet,
                      struct loaded_code *out);
void code_unload(struct loaded_code *code);

#endif
