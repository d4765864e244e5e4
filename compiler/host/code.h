/* Shared by the files of host/: the cache of compiled kernels, and the loading of code.
   - cache: a folder with compiled kernels, sources that did not compile, and notes.
   - note: a file that maps a key to a compiled kernel (kernel_recall).
   - sealed file: a file that ends with the hash of its contents. */
#ifndef ATTNC_HOST_CODE_H
#define ATTNC_HOST_CODE_H

#include "host.h"
#include "../support/support.h"

/* Opens the cache, and creates it if necessary. Returns false with the reason in *why if this fails, or if another user
   could have put code there. */
bool cache_open(struct arena *arena, struct folder *out, const char **why);
/* Appends the hash of the file's contents to the file, and makes it writable only for this user. Returns 0, or -1 with
   errno. */
int seal_file(const struct folder *f, const char *name);
/* Whether a file is sealed and unchanged, belongs to this user, and cannot be written by others. If so, sets the file's
   time of last use to now. */
bool sealed_file(const struct folder *f, const char *name);
/* Returns the contents of a sealed file without the hash, in the arena. Returns NULL if sealed_file would be false. */
const char *sealed_text(struct arena *arena, const struct folder *f, const char *name);
/* Locks a file of the cache before this process makes the file. Waits while another process has the lock. Returns the
   lock; -1: locking failed, so another process may make the file, too. */
int cache_lock(struct arena *arena, const struct folder *cache, const char *file);
/* Releases a lock of cache_lock; does nothing for -1. */
void cache_unlock(struct arena *arena, const struct folder *cache, const char *file, int lock);
/* Returns the maximum size of the cache in bytes, from $ATTNC_CACHE_SIZE or the default. If the value of
   $ATTNC_CACHE_SIZE is not a size, *bad is this value; otherwise *bad is NULL. */
int64_t cache_limit(const char **bad);
/* Removes files that killed processes have left. Several processes may call this and cache_trim at the same time. */
void cache_clean(const struct folder *cache);
/* Removes the least recently used kernels, notes and sources that did not compile, until the cache is not larger than
   `limit` bytes. */
void cache_trim(const struct folder *cache, int64_t limit);

extern const char machine_probe_source[], machine_probe_header[]; /* the texts of probe.c and probe.h */
/* Loads the shared object of NAME.c, which may include NAME.h and attnrt.h. Compiles it first, unless it is in the
   cache. Sets *out; out->symbol is the address of `symbol`. Reports errors to standard error; returns STATUS_DONE or
   STATUS_MACHINE. */
enum status code_load(const char *name, const char *source, const char *header, const char *symbol, bool quiet,
                      struct loaded_code *out);
void code_unload(struct loaded_code *code);

#endif
