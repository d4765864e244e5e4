/* Declarations that the files of host/ share, for the cache and for loading code. Terms:
   - cache: a folder with compiled kernels, sources that did not compile, and notes
   - note: a file that maps a key to a compiled kernel (kernel_recall)
   - sealed file: a file that ends with the hash of its contents */
#ifndef ATTNC_HOST_CODE_H
#define ATTNC_HOST_CODE_H

#include "host.h"
#include "../support/support.h"

/* Opens the cache folder, and creates it if necessary. If this fails, returns false and sets *why to the reason. It
   fails, for example, if other users can write to the folder. */
bool cache_open(struct arena *arena, struct folder *out, const char **why);
/* Opens the cache for temporary use, a private folder in $TMPDIR or /tmp. If this fails, returns false and adds the
   reason to *why. */
bool cache_open_temporary(struct arena *arena, struct folder *out, const char **why);
/* Returns the reason why this process cannot write to the cache, or NULL. */
const char *cache_read_only(struct arena *arena, const struct folder *cache);
/* Appends a hash of its contents to the file. Makes the file writable by this user only. Returns 0, or -1 with
   errno. */
int seal_file(const struct folder *f, const char *name);
/* Returns true if a file is sealed and unchanged, belongs to this user or root, and nobody else can write to it. If so,
   sets its time of last use to now. */
bool sealed_file(const struct folder *f, const char *name);
/* Returns the contents of a sealed file without its hash, in the arena. Returns NULL if sealed_file returns false. */
const char *sealed_text(struct arena *arena, const struct folder *f, const char *name);
/* Locks the name of a cache file that this process is about to make. Waits while another process has the lock.
   Returns the lock, or -1 if locking failed. */
int cache_lock(struct arena *arena, const struct folder *cache, const char *file);
/* Releases a lock from cache_lock. Does nothing if `lock` is -1. */
void cache_unlock(struct arena *arena, const struct folder *cache, const char *file, int lock);
/* Returns the maximum size of the cache in bytes, from $ATTNC_CACHE_SIZE or the default. Sets *bad to the variable's
   value if the value is not a size, and to NULL otherwise. */
int64_t cache_limit(const char **bad);
/* Removes files of killed processes. Several processes may call this and cache_trim at the same time. */
void cache_clean(const struct folder *cache);
/* Removes the least recently used files, until the cache has at most `limit` bytes. */
void cache_trim(const struct folder *cache, int64_t limit);

extern const char machine_probe_source[], machine_probe_header[]; /* the texts of probe.c and probe.h */
/* Loads the shared object of NAME.c, which may include NAME.h and attnrt.h. If the cache does not have it, compiles
   it first. Sets out->symbol to the address of `symbol`. Returns STATUS_DONE. On failure, prints a message and
   returns STATUS_MACHINE. */
enum status code_load(const char *name, const char *source, const char *header, const char *symbol, bool quiet,
                      struct loaded_code *out);
void code_unload(struct loaded_code *code);

#endif
