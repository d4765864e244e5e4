/* Shared by the files of host/: the cache, and the loading of code.
   - cache: a folder with compiled kernels, sources that did not compile, and notes
   - note: a file that maps a key to a compiled kernel (kernel_recall)
   - sealed file: a file that ends with the hash of its contents */
#ifndef ATTNC_HOST_CODE_H
#define ATTNC_HOST_CODE_H

#include "host.h"
#include "../support/support.h"

/* Opens the cache, and creates it if necessary. Returns false with the reason in *why. One reason is that another
   user could have put code there. */
bool cache_open(struct arena *arena, struct folder *out, const char **why);
/* Appends the hash of the file's contents to it. Only this user can write to it then. Returns 0, or -1 with errno. */
int seal_file(const struct folder *f, const char *name);
/* Returns true if a file is sealed and unchanged, belongs to this user, and nobody else can write to it. If so, sets
   its time of last use to now. */
bool sealed_file(const struct folder *f, const char *name);
/* Returns the contents of a sealed file without the hash, in the arena. NULL: sealed_file is false. */
const char *sealed_text(struct arena *arena, const struct folder *f, const char *name);
/* Locks a file of the cache, which this process is about to make. Waits for other processes. Returns the lock, or -1
   if locking failed. */
int cache_lock(struct arena *arena, const struct folder *cache, const char *file);
/* Releases a lock of cache_lock; does nothing for -1. */
void cache_unlock(struct arena *arena, const struct folder *cache, const char *file, int lock);
/* Returns the maximum size of the cache in bytes, from $ATTNC_CACHE_SIZE or the default. If the variable's value is
   not a size, sets *bad to it; otherwise to NULL. */
int64_t cache_limit(const char **bad);
/* Removes files of killed processes. Several processes may call this and cache_trim at the same time. */
void cache_clean(const struct folder *cache);
/* Removes the least recently used files, until the cache has at most `limit` bytes. */
void cache_trim(const struct folder *cache, int64_t limit);

extern const char machine_probe_source[], machine_probe_header[]; /* the texts of probe.c and probe.h */
/* Loads the shared object of NAME.c, which may include NAME.h and attnrt.h. If the cache does not have it, compiles
   it first. Sets out->symbol to the address of `symbol`. Returns STATUS_DONE, or STATUS_MACHINE after a message. */
enum status code_load(const char *name, const char *source, const char *header, const char *symbol, bool quiet,
                      struct loaded_code *out);
void code_unload(struct loaded_code *code);

#endif
