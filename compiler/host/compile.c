/* The way from emitted C to a kernel that can be called: find the C compiler, compile in a private folder, keep the
   result in the cache, load it. */
#include "code.h"
#include "host.h"
#include "../support/support.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_WORDS = 64, MAX_ARGUMENTS = 2 * MAX_WORDS + 16, MAX_LOG = 1 << 16 };

struct words {
    int count;
    const char *word[MAX_WORDS];
};

/* One load, from the search for a compiler to the symbol. */
struct job {
    struct arena *arena;
    struct console console;
    const char *name, *source, *header, *symbol;
    struct words compiler, flags;
    struct folder cache; /* may be none */
    struct folder build; /* the private folder that is compiled in */
    int64_t limit;       /* bytes that the cache may have */
    bool openmp;
    const char *kept;     /* the file of the cache that was loaded; NULL: it is not there */
    const sigset_t *mask; /* of signals, as it was before the guard */
};

/* ---- signals: while the private folder exists, they only interrupt the wait for the compiler ---- */

static const int guarded[] = {SIGINT, SIGTERM, SIGHUP};
enum { GUARDED = sizeof guarded / sizeof *guarded };
static volatile sig_atomic_t caught;

struct guard {
    sigset_t mask;
    struct sigaction action[GUARDED], child;
};

static void catch_signal(int number)
{
    caught = number;
}

static void ignore_signal(int number)
{
    (void)number;
}

static void guard_begin(struct guard *g)
{
    sigset_t block;
    sigemptyset(&block);
    caught = 0;
    for (int k = 0; k < GUARDED; k++) sigaddset(&block, guarded[k]);
    sigprocmask(SIG_BLOCK, &block, &g->mask);
    struct sigaction action = {.sa_handler = catch_signal}, child = {.sa_handler = ignore_signal};
    sigemptyset(&action.sa_mask);
    sigemptyset(&child.sa_mask);
    for (int k = 0; k < GUARDED; k++) {
        sigaction(guarded[k], NULL, &g->action[k]);
        if (g->action[k].sa_handler != SIG_IGN) sigaction(guarded[k], &action, NULL);
    }
    /* A parent that ignores SIGCHLD would take the compiler's exit status from us. */
    sigaction(SIGCHLD, &child, &g->child);
}

/* Signals that came meanwhile now have their usual effect. */
static void guard_end(const struct guard *g)
{
    int number = caught;
    for (int k = 0; k < GUARDED; k++) sigaction(guarded[k], &g->action[k], NULL);
    sigaction(SIGCHLD, &g->child, NULL);
    if (number) raise(number);
    sigprocmask(SIG_SETMASK, &g->mask, NULL);
}

/* ---- the compiler ---- */

static void split(struct arena *arena, const char *text, struct words *out)
{
    for (const char *at = text; at && *at;) {
        at += strspn(at, " \t\n");
        size_t length = strcspn(at, " \t\n");
        if (length > 0 && out->count < MAX_WORDS)
            out->word[out->count++] = arena_printf(arena, "%.*s", (int)length, at);
        at += length;
    }
}

static bool is_program(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

/* Where programs are looked for if PATH is not set; compilers, which look for linkers, are told so. */
static const char usual_path[] = "/usr/local/bin:/usr/bin:/bin";

/* The file that a shell would run, or NULL. */
static const char *find_program(struct arena *arena, const char *name)
{
    if (strchr(name, '/')) return is_program(name) ? name : NULL;
    const char *path = getenv("PATH");
    for (const char *at = path ? path : usual_path; *name;) {
        size_t length = strcspn(at, ":");
        const char *file = length ? arena_printf(arena, "%.*s/%s", (int)length, at, name)
                                  : arena_printf(arena, "./%s", name);
        if (is_program(file)) return file;
        if (!at[length]) break;
        at += length + 1;
    }
    return NULL;
}

/* $ATTNC_CC, else clang of any version, else $CC, else cc. */
static bool find_compiler(struct job *j)
{
    static const char *const clangs[] = {"clang",    "clang-19", "clang-18", "clang-17",
                                         "clang-16", "clang-15", "clang-14"};
    const char *own = getenv("ATTNC_CC"), *usual = getenv("CC");
    struct words *c = &j->compiler;
    split(j->arena, own, c);
    if (c->count > 0) {
        const char *file = find_program(j->arena, c->word[0]);
        if (!file)
            console_error(&j->console, "no C compiler found: $ATTNC_CC is '%s', and there is no such program", own);
        c->word[0] = file;
        return file != NULL;
    }
    for (size_t k = 0; k < sizeof clangs / sizeof *clangs; k++)
        if ((c->word[0] = find_program(j->arena, clangs[k]))) {
            c->count = 1;
            return true;
        }
    split(j->arena, usual, c);
    if (c->count > 0 && (c->word[0] = find_program(j->arena, c->word[0]))) return true;
    c->count = 1;
    if ((c->word[0] = find_program(j->arena, "cc"))) return true;
    console_error(&j->console,
                  "no C compiler found: tried $ATTNC_CC (not set), clang, clang-19 to clang-14, $CC (%s%s%s) and cc; "
                  "install clang or gcc, or name a compiler in $ATTNC_CC",
                  usual && *usual ? "'" : "", usual && *usual ? usual : "not set", usual && *usual ? "'" : "");
    return false;
}

/* Runs a program to its end, gathering what it prints. Returns its wait status, or -1 with errno when it could not be
   run. */
static int run_program(const struct job *j, const char *const *argument, struct text *log)
{
    int pipes[2], variables = 0, result = 0;
    if (pipe2(pipes, O_CLOEXEC) != 0) return -1;
    /* What the compiler leaves behind when it is killed then lies in the private folder. */
    while (environ[variables]) variables++;
    const char **variable = arena_alloc(j->arena, sizeof *variable * ((size_t)variables + 3));
    int kept = 0;
    for (int k = 0; k < variables; k++)
        if (strncmp(environ[k], "TMPDIR=", 7) != 0) variable[kept++] = environ[k];
    variable[kept++] = arena_printf(j->arena, "TMPDIR=%s", j->build.path);
    if (!getenv("PATH")) variable[kept] = arena_printf(j->arena, "PATH=%s", usual_path);

    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&files);
    if (!error && (error = posix_spawnattr_init(&attributes))) posix_spawn_file_actions_destroy(&files);
    if (error) {
        close(pipes[0]);
        close(pipes[1]);
        errno = error;
        return -1;
    }
    pid_t child;
    error = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    if (!error) error = posix_spawn_file_actions_adddup2(&files, pipes[1], 1);
    if (!error) error = posix_spawn_file_actions_adddup2(&files, pipes[1], 2);
    if (!error) error = posix_spawnattr_setsigmask(&attributes, j->mask);
    if (!error) error = posix_spawnattr_setpgroup(&attributes, 0); /* so that one kill reaches the linker too */
    if (!error) error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    if (!error)
        error = posix_spawn(&child, argument[0], &files, &attributes, (char *const *)(uintptr_t)argument,
                            (char *const *)(uintptr_t)variable);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    close(pipes[1]);
    if (error) {
        close(pipes[0]);
        errno = error;
        return -1;
    }
    /* Signals are let in by ppoll alone: none is lost between a test and a wait. */
    for (;;) {
        struct pollfd wait = {.fd = pipes[0], .events = POLLIN};
        int ready = ppoll(&wait, 1, NULL, j->mask);
        if (ready < 0 && errno != EINTR) break;
        if (caught) {
            kill(-child, SIGKILL);
            break;
        }
        if (ready < 1) continue;
        char bytes[4096];
        ssize_t got = read(pipes[0], bytes, sizeof bytes);
        if (got == 0 || (got < 0 && errno != EINTR)) break;
        if (got > 0 && log->length < MAX_LOG) text_append(log, bytes, (size_t)got);
    }
    close(pipes[0]);
    while (waitpid(child, &result, 0) < 0)
        if (errno != EINTR) return -1;
    return result;
}

/* Compiles file.c of the build folder to file.so. */
static int compile(const struct job *j, const char *file, bool openmp, struct text *log, const char **command)
{
    /* a kernel calls its own functions, whatever the program that loads it has of their names */
    static const char *const usual[] = {"-O2", "-std=gnu11", "-fPIC", "-shared", "-Wl,-Bsymbolic"};
    const char *argument[MAX_ARGUMENTS];
    int n = 0;
    for (int k = 0; k < j->compiler.count; k++) argument[n++] = j->compiler.word[k];
    for (size_t k = 0; k < sizeof usual / sizeof *usual; k++) argument[n++] = usual[k];
    if (openmp) argument[n++] = "-fopenmp";
    for (int k = 0; k < j->flags.count; k++) argument[n++] = j->flags.word[k];
    argument[n++] = "-I";
    argument[n++] = j->build.path;
    argument[n++] = "-o";
    argument[n++] = arena_printf(j->arena, "%s/%s.so", j->build.path, file);
    argument[n++] = arena_printf(j->arena, "%s/%s.c", j->build.path, file);
    argument[n++] = "-lm";
    argument[n] = NULL;
    struct text line = {0};
    for (int k = 0; k < n; k++) text_add(&line, "%s%s", k ? " " : "", argument[k]);
    if (command) *command = arena_copy(j->arena, line.data);
    text_free(&line);
    return run_program(j, argument, log);
}

/* ---- the cache ---- */

static void add_part(struct text *key, const char *part)
{
    text_add(key, "%zu:", strlen(part));
    text_append(key, part, strlen(part));
}

/* A program's version, for the price of a stat. */
static void add_program(struct text *key, const char *path)
{
    struct stat info;
    if (path && stat(path, &info) == 0)
        text_add(key, "%lld:%lld:%ld;", (long long)info.st_size, (long long)info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

/* Adds the C compiler to a key, whose hash it then is. */
static const char *key_hash(const struct job *j, struct text *key)
{
    for (int k = 0; k < j->compiler.count; k++) {
        add_part(key, j->compiler.word[k]);
        /* `ccache gcc` names two programs */
        if (*j->compiler.word[k] != '-') add_program(key, find_program(j->arena, j->compiler.word[k]));
    }
    for (int k = 0; k < j->flags.count; k++) add_part(key, j->flags.word[k]);
    const char *hash = hash_text(j->arena, key->data, key->length);
    text_free(key);
    return hash;
}

/* The compiled kernel's name: its own and the hash of everything that went into it. */
static const char *kernel_file(const struct job *j, bool openmp)
{
    struct text key = {0};
    const char *const parts[] = {ATTNC_VERSION, j->name,       j->source,
                                 j->header,     attnrt_header, openmp ? "openmp" : "one thread"};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) add_part(&key, parts[k]);
    return arena_printf(j->arena, "%s-%.32s.so", j->name, key_hash(j, &key));
}

/* The file that says which kernel was made of a key: its name, a line, and its description. */
static const char *note_file(const struct job *j, const char *key_text)
{
    struct text key = {0};
    add_part(&key, ATTNC_VERSION);
    add_program(&key, "/proc/self/exe");
    add_part(&key, key_text);
    return arena_printf(j->arena, "spec-%.32s.note", key_hash(j, &key));
}

/* NULL on success, else what is wrong. The file is found by the folder's descriptor, so that it is in the folder that
   was checked; by its path only where there is no /proc. The loader takes files of one name for the same, and two of
   one kernel_file are. */
static const char *load(const struct job *j, const struct folder *folder, const char *file, struct loaded_code *out)
{
    const char *path = arena_printf(j->arena, "/proc/self/fd/%d/%s", folder->fd, file);
    if (access("/proc/self/fd", X_OK) != 0) path = arena_printf(j->arena, "%s/%s", folder->path, file);
    /* NODELETE: the threads that OpenMP keeps waiting live in a library that unloading the kernel would unmap. */
    out->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const char *error = out->handle ? NULL : dlerror();
    if (error) { /* with the folder's own name in place of its descriptor's */
        const bool named = strncmp(error, path, strlen(path)) == 0;
        return named ? arena_printf(j->arena, "%s/%s%s", folder->path, file, error + strlen(path))
                     : arena_copy(j->arena, error);
    }
    out->symbol = dlsym(out->handle, j->symbol);
    if (out->symbol) return NULL;
    code_unload(out);
    return arena_printf(j->arena, "%s lacks the symbol %s", file, j->symbol);
}

static bool load_cached(struct job *j, bool openmp, struct loaded_code *out)
{
    const char *file = j->cache.fd >= 0 ? kernel_file(j, openmp) : NULL;
    if (!file || !sealed_file(&j->cache, file) || load(j, &j->cache, file, out)) return false;
    j->kept = file;
    return true;
}

void code_unload(struct loaded_code *code)
{
    if (code->handle) dlclose(code->handle);
    *code = (struct loaded_code){0};
}

/* ---- all together ---- */

static bool put_file(const struct job *j, const char *file, const char *suffix, const char *text)
{
    const char *name = arena_printf(j->arena, "%s%s", file, suffix);
    const int made = openat(j->build.fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    FILE *out = made >= 0 ? fdopen(made, "w") : NULL;
    bool written = out && fputs(text, out) >= 0;
    int saved = errno;
    if (out && fclose(out) != 0 && written) {
        written = false;
        saved = errno;
    }
    if (!out && made >= 0) close(made);
    if (!written) console_error(&j->console, "%s/%s: %s", j->build.path, name, strerror(saved));
    return written;
}

static bool open_build(struct job *j)
{
    if (j->cache.fd >= 0 && !private_open(j->arena, &j->cache, &j->build)) {
        console_mention(&j->console, "note", "compiled kernels are not kept: %s: %s", j->cache.path, strerror(errno));
        folder_close(&j->cache);
    }
    if (j->build.fd >= 0 || private_open(j->arena, &NO_FOLDER, &j->build)) return true;
    const char *where = getenv("TMPDIR");
    console_error(&j->console, "no folder to compile in: %s: %s", where && *where ? where : "/tmp", strerror(errno));
    return false;
}

/* No spec has such a name, so its source stays what it is. */
#define PROBE "compiler-probe"
#define OPENMP_PROBE "openmp-probe"

/* Whether this compiler has an OpenMP that links, or compiles at all: asked of a program so small that only OpenMP or
   the compiler can be at fault, or the disk. */
static bool probe(const struct job *j, bool openmp)
{
    struct text log = {0};
    const char *program = openmp ? "#include <omp.h>\nint attnc_probe(void);\nint attnc_probe(void) { return "
                                   "omp_get_max_threads(); }\n"
                                 : "#include <stdint.h>\nint attnc_probe(void);\nint attnc_probe(void) { return 0; }\n";
    const char *name = openmp ? OPENMP_PROBE : PROBE;
    bool works = put_file(j, name, ".c", program) &&
                 (compile(j, name, openmp, &log, NULL) == 0 || (log.data && strstr(log.data, strerror(ENOSPC))));
    text_free(&log);
    return works;
}

/* The build folder stays, under a name that says what it is; the source and the headers are all that is left in it. */
static void keep_source(struct job *j, int status, const char *command, const struct text *log)
{
    const char *log_text = log->data ? log->data : "", *reason;
    if (WIFSIGNALED(status))
        reason = arena_printf(j->arena, "was killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        reason = arena_printf(j->arena, "ended with status %d", WEXITSTATUS(status));
    if (WIFSIGNALED(status) || strstr(log_text, strerror(ENOSPC))) {
        console_error(&j->console, "cannot compile '%s': %s %s", j->name, j->compiler.word[0], reason);
    } else if (!probe(j, false)) {
        console_error(
            &j->console,
            "cannot compile '%s': %s %s, and compiles nothing else either; name another compiler in $ATTNC_CC", j->name,
            j->compiler.word[0], reason);
    } else {
        const char *name = arena_printf(j->arena, "failed-%s", j->name), *place = j->build.path;
        static const char *const extra[] = {PROBE ".c", PROBE ".so", OPENMP_PROBE ".c", OPENMP_PROBE ".so"};
        for (size_t k = 0; k < sizeof extra / sizeof *extra; k++) unlinkat(j->build.fd, extra[k], 0);
        if (j->cache.fd >= 0) {
            remove_at(j->cache.fd, name);
            if (renameat(j->cache.fd, folder_name(&j->build), j->cache.fd, name) == 0)
                place = arena_printf(j->arena, "%s/%s", j->cache.path, name);
        }
        console_error(&j->console,
                      "the C that attnc emitted for '%s' does not compile: %s %s; the source is kept in %s/%s.c",
                      j->name, j->compiler.word[0], reason, place, j->name);
        folder_close(&j->build);
    }
    print_plain(stderr, arena_printf(j->arena, "%s\n%s%s", command, log_text,
                                     log->length && log_text[log->length - 1] != '\n' ? "\n" : ""));
}

static enum status build_and_load(struct job *j, struct loaded_code *out)
{
    if (!put_file(j, j->name, ".c", j->source) || !put_file(j, j->name, ".h", j->header) ||
        !put_file(j, "attnrt", ".h", attnrt_header))
        return STATUS_MACHINE;
    struct text log = {0};
    const char *command;
    int status = 0;
    /* Asked only in doubt: where a kernel was once kept without OpenMP, or one does not compile with it. */
    bool doubt = j->cache.fd >= 0 && faccessat(j->cache.fd, kernel_file(j, false), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    j->openmp = !doubt || probe(j, true);
    if (!j->console.quiet && j->openmp && !caught) fprintf(stderr, "compiling %s … (first time)\n", j->name);
    if (j->openmp && !caught) {
        status = compile(j, j->name, true, &log, &command);
        if (status > 0 && !caught) j->openmp = probe(j, true);
    }
    if (!j->openmp && !caught) {
        console_mention(&j->console, "note",
                        "%s has no OpenMP that works, so the kernel runs on one thread (for clang, install libomp-dev; "
                        "or set ATTNC_CC=gcc)",
                        j->compiler.word[0]);
        text_free(&log);
        if (load_cached(j, false, out)) return STATUS_DONE;
        if (!j->console.quiet && doubt) fprintf(stderr, "compiling %s … (first time)\n", j->name);
        status = compile(j, j->name, false, &log, &command);
    }
    if (status == -1 && !caught) console_error(&j->console, "cannot run %s: %s", j->compiler.word[0], strerror(errno));
    if (status > 0 && !caught) keep_source(j, status, command, &log);
    text_free(&log);
    if (status != 0 || caught) return STATUS_MACHINE;

    const char *built = arena_printf(j->arena, "%s.so", j->name), *file = kernel_file(j, j->openmp);
    const bool sealed = renameat(j->build.fd, built, j->build.fd, file) == 0 && seal_file(&j->build, file) == 0;
    const int unsealed = errno;
    const char *error = load(j, &j->build, file, out);
    if (error) {
        console_error(&j->console, "cannot load the compiled kernel: %s", error);
        return STATUS_MACHINE;
    }
    /* kept once it is loaded: whoever trims the cache then takes nothing from us */
    if (j->cache.fd >= 0 && sealed && renameat(j->build.fd, file, j->cache.fd, file) == 0)
        j->kept = file;
    else if (j->cache.fd >= 0)
        console_mention(&j->console, "note", "the compiled kernel is not kept: %s/%s: %s", j->cache.path, file,
                        strerror(sealed ? errno : unsealed));
    if (j->cache.fd >= 0) cache_trim(&j->cache, j->limit);
    return STATUS_DONE;
}

/* Finds the C compiler and opens the cache; false after a message. *why: why there is none to keep kernels in, *bad: a
   size of it that is none; or NULL. */
static bool job_open(struct job *j, const char **why, const char **bad)
{
    j->cache = j->build = NO_FOLDER;
    *why = NULL;
    if (!find_compiler(j)) return false;
    split(j->arena, getenv("ATTNC_CFLAGS"), &j->flags);
    j->limit = cache_limit(bad);
    if (j->limit > 0) cache_open(j->arena, &j->cache, why);
    return true;
}

/* What the lock keeps others from making; it is given back before a signal may end the process. */
static enum status compile_and_load(struct job *j, const char *file, int lock, struct loaded_code *out)
{
    enum status status = STATUS_MACHINE;
    struct guard guard;
    guard_begin(&guard);
    j->mask = &guard.mask;
    if (open_build(j)) status = build_and_load(j, out);
    if (j->build.fd >= 0)
        remove_at(j->cache.fd >= 0 ? j->cache.fd : AT_FDCWD, j->cache.fd >= 0 ? folder_name(&j->build) : j->build.path);
    cache_unlock(j->arena, &j->cache, file, lock);
    guard_end(&guard);
    j->mask = NULL;
    return status;
}

static enum status job_load(struct job *j, struct loaded_code *out)
{
    const char *why, *bad;
    enum status status = STATUS_DONE;
    *out = (struct loaded_code){0};
    if (!job_open(j, &why, &bad)) return STATUS_MACHINE;
    if (!load_cached(j, true, out)) {
        const char *const file = j->cache.fd >= 0 ? kernel_file(j, true) : NULL;
        if (why) console_mention(&j->console, "note", "compiled kernels are not kept: %s", why);
        if (bad)
            console_mention(&j->console, "note",
                            "ATTNC_CACHE_SIZE is '%s', which is no size like 500M or 2G: 1G is taken", bad);
        const int lock = file ? cache_lock(j->arena, &j->cache, file) : -1;
        if (lock >= 0 && load_cached(j, true, out)) /* whom it was waited for has made it */
            cache_unlock(j->arena, &j->cache, file, lock);
        else
            status = compile_and_load(j, file, lock, out);
    }
    folder_close(&j->build);
    return status;
}

enum status code_load(const char *name, const char *source, const char *header, const char *symbol, bool quiet,
                      struct loaded_code *out)
{
    struct job job = {.arena = arena_new(),
                      .console = {.quiet = quiet},
                      .name = name,
                      .source = source,
                      .header = header,
                      .symbol = symbol};
    const enum status status = job_load(&job, out);
    folder_close(&job.cache);
    arena_free(job.arena);
    return status;
}

static void write_note(struct job *j, const char *key, const char *description)
{
    const char *const file = note_file(j, key), *const text = arena_printf(j->arena, "%s\n%s", j->kept, description);
    if (private_open(j->arena, &j->cache, &j->build)) {
        if (put_file(j, file, "", text) && seal_file(&j->build, file) == 0)
            (void)renameat(j->build.fd, file, j->cache.fd, file);
        remove_at(j->cache.fd, folder_name(&j->build));
    }
    folder_close(&j->build);
}

enum status kernel_build(struct arena *arena, const char *name, const char *source, const char *header, const char *key,
                         bool quiet, struct built_kernel *built)
{
    struct job job = {.arena = arena,
                      .console = {.quiet = quiet},
                      .name = name,
                      .source = source,
                      .header = header,
                      .symbol = arena_printf(arena, "%s_kernel", name)};
    struct loaded_code code;
    enum status status = job_load(&job, &code);
    code_unload(&code);
    if (status == STATUS_DONE && job.kept) {
        built->path = arena_printf(arena, "%s/%s", job.cache.path, job.kept);
        if (key) write_note(&job, key, built->description);
    } else if (status == STATUS_DONE) {
        console_error(&job.console,
                      "there is no cache to keep the library of '%s' in; XDG_CACHE_HOME names a folder "
                      "for it, and ATTNC_CACHE_SIZE=0 allows none",
                      name);
        status = STATUS_MACHINE;
    }
    folder_close(&job.cache);
    return status;
}

bool kernel_recall(struct arena *arena, const char *key, bool quiet, struct built_kernel *built)
{
    struct job job = {.arena = arena, .console = {.quiet = quiet}};
    const char *why, *bad, *text = NULL, *file = NULL;
    job.cache = NO_FOLDER;
    if (job_open(&job, &why, &bad) && job.cache.fd >= 0) text = sealed_text(arena, &job.cache, note_file(&job, key));
    const char *const end = text ? strchr(text, '\n') : NULL;
    if (end) file = arena_printf(arena, "%.*s", (int)(end - text), text);
    const bool there = file && !strchr(file, '/') && sealed_file(&job.cache, file);
    if (there) {
        built->path = arena_printf(arena, "%s/%s", job.cache.path, file);
        built->description = end + 1;
    }
    folder_close(&job.cache);
    return there;
}

const char *compiler_version(struct arena *arena, const struct console *c)
{
    struct job job = {.arena = arena, .console = *c}, *j = &job;
    if (!find_compiler(j)) return NULL;
    const char *argument[MAX_ARGUMENTS];
    int n = 0;
    for (int k = 0; k < j->compiler.count; k++) argument[n++] = j->compiler.word[k];
    argument[n++] = "--version";
    argument[n] = NULL;
    struct text log = {0};
    struct guard guard;
    guard_begin(&guard);
    j->mask = &guard.mask;
    int status = run_program(j, argument, &log);
    guard_end(&guard);
    const char *line = NULL;
    if (status == 0 && log.length > 0)
        line = arena_printf(arena, "%.*s", (int)strcspn(log.data, "\n"), log.data);
    else
        console_error(c, "%s --version says nothing", argument[0]);
    text_free(&log);
    return line;
}

enum status kernel_load(const char *name, const char *source, const char *header, bool quiet, struct loaded_kernel *out)
{
    struct text symbol = {0};
    text_add(&symbol, "%s_kernel", name);
    enum status status = code_load(name, source, header, symbol.data, quiet, &out->code);
    out->kernel = out->code.symbol;
    text_free(&symbol);
    return status;
}

void kernel_unload(struct loaded_kernel *k)
{
    code_unload(&k->code);
    k->kernel = NULL;
}

int kernel_threads(const struct loaded_kernel *k, int asked)
{
    int (*max)(void);
    void *symbol = dlsym(k->code.handle, "omp_get_max_threads");
    if (!symbol) return 1;
    memcpy(&max, &symbol, sizeof max);
    return asked > 0 ? asked : max();
}
