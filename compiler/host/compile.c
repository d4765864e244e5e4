/* Makes a loaded kernel from emitted C. A kernel that the cache lacks is compiled in a private folder and moved to
   the cache. */
#include "code.h"
#include "host.h"
#include "../support/support.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_WORDS = 64, MAX_ARGUMENTS = 2 * MAX_WORDS + 16, MAX_LOG = 1 << 16 };

/* The library of calls and the functions of attnrt, as an object file. Kernels are linked with it. */
extern const char attnrt_object[];
extern const unsigned long attnrt_object_bytes;

struct words {
    int count;
    const char *word[MAX_WORDS];
};

/* The work of compiling and loading one kernel. */
struct job {
    struct arena *arena;
    struct console console;
    const char *name, *source, *header, *symbol;
    /* `compiler` is the command of the C compiler with its own arguments. `flags` are additional flags. */
    struct words compiler, flags;
    struct folder cache;  /* the cache, or NO_FOLDER if there is none */
    struct folder build;  /* the private folder to compile in, or NO_FOLDER if it is not open */
    int64_t limit;        /* the maximum size of the cache in bytes */
    bool quick;           /* compile in less time, without optimisation of what a first call does not need */
    bool openmp;          /* false if a test has shown that OpenMP does not work */
    const char *kept;     /* the kernel's file name in the cache, or NULL */
    const sigset_t *mask; /* the signal mask before guard_begin */
};

/* ---- signals ---- */

/* While the private folder exists, these signals only end the wait for the compiler. guard_end raises a caught
   signal again, after the folder was removed. */
static const int guarded[] = {SIGINT, SIGTERM, SIGHUP};
enum { GUARDED = sizeof guarded / sizeof *guarded };
static volatile sig_atomic_t caught; /* the last caught signal, or 0 */

/* The signal mask and actions before guard_begin. */
struct guard {
    sigset_t mask;
    struct sigaction action[GUARDED], child;
};

static void catch_signal(int number)
{
    caught = number;
}

static void guard_begin(struct guard *g)
{
    sigset_t block;
    sigemptyset(&block);
    caught = 0;
    for (int k = 0; k < GUARDED; k++) sigaddset(&block, guarded[k]);
    sigprocmask(SIG_BLOCK, &block, &g->mask);
    struct sigaction action = {.sa_handler = catch_signal}, child = {.sa_handler = SIG_DFL};
    sigemptyset(&action.sa_mask);
    sigemptyset(&child.sa_mask);
    for (int k = 0; k < GUARDED; k++) {
        sigaction(guarded[k], NULL, &g->action[k]);
        if (g->action[k].sa_handler != SIG_IGN) sigaction(guarded[k], &action, NULL);
    }
    /* If SIGCHLD is ignored, as a parent process may have set it, waitpid does not report the status. */
    sigaction(SIGCHLD, &child, &g->child);
}

/* Restores the signal handling. A caught signal takes effect now. */
static void guard_end(const struct guard *g)
{
    int number = caught;
    for (int k = 0; k < GUARDED; k++) sigaction(guarded[k], &g->action[k], NULL);
    sigaction(SIGCHLD, &g->child, NULL);
    if (number) raise(number);
    sigprocmask(SIG_SETMASK, &g->mask, NULL);
}

/* ---- the compiler ---- */

/* Returns the next word at *at and advances *at. Returns NULL at the end of the text. Quotes and backslashes work as
   in a shell. */
static const char *next_word(struct arena *arena, const char **at)
{
    static const char blanks[] = " \t\n";
    const char *from = *at + strspn(*at, blanks);
    char *word = arena_alloc(arena, strlen(from) + 1), *to = word, quote = 0;
    *at = from;
    for (; **at && (quote || !strchr(blanks, **at)); ++*at) {
        if (quote ? **at == quote : **at == '\'' || **at == '"') {
            quote = quote ? 0 : **at;
            continue;
        }
        if (**at == '\\' && quote != '\'' && (*at)[1]) ++*at;
        *to++ = **at;
    }
    *to = 0;
    return *at > from ? word : NULL;
}

static void split(struct arena *arena, const char *text, struct words *out)
{
    for (const char *word; text && out->count < MAX_WORDS && (word = next_word(arena, &text));)
        out->word[out->count++] = word;
}

static bool is_program(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

/* The search path if PATH is not set. Compilers get it, too, to find the linker. */
static const char default_path[] = "/usr/local/bin:/usr/bin:/bin";

/* Returns the file that a shell would execute for `name`, or NULL. */
static const char *find_program(struct arena *arena, const char *name)
{
    if (strchr(name, '/')) return is_program(name) ? name : NULL;
    const char *path = getenv("PATH");
    for (const char *at = path ? path : default_path; *name;) {
        size_t length = strcspn(at, ":");
        const char *file = length ? arena_printf(arena, "%.*s/%s", (int)length, at, name)
                                  : arena_printf(arena, "./%s", name);
        if (is_program(file)) return file;
        if (!at[length]) break;
        at += length + 1;
    }
    return NULL;
}

/* Sets j->compiler to $ATTNC_CC. If that variable is not set, takes the first program that exists of clang, clang-19
   to clang-14, $CC and cc. Returns false if there is no compiler. Then it also prints a message, unless `silent` is
   true. */
static bool find_compiler(struct job *j, bool silent)
{
    static const char *const clangs[] = {"clang",    "clang-19", "clang-18", "clang-17",
                                         "clang-16", "clang-15", "clang-14"};
    const char *own = getenv("ATTNC_CC"), *cc = getenv("CC");
    struct words *c = &j->compiler;
    split(j->arena, own, c);
    if (c->count > 0) {
        const char *file = find_program(j->arena, c->word[0]);
        if (!file && !silent)
            console_error(&j->console, "no C compiler found: $ATTNC_CC is '%s', which does not exist", own);
        c->word[0] = file;
        return file != NULL;
    }
    for (size_t k = 0; k < sizeof clangs / sizeof *clangs; k++)
        if ((c->word[0] = find_program(j->arena, clangs[k]))) {
            c->count = 1;
            return true;
        }
    split(j->arena, cc, c);
    if (c->count > 0 && (c->word[0] = find_program(j->arena, c->word[0]))) return true;
    c->count = 1;
    if ((c->word[0] = find_program(j->arena, "cc"))) return true;
    if (!silent)
        console_error(&j->console,
                      "no C compiler found: tried $ATTNC_CC (not set), clang, clang-19 to clang-14, $CC (%s%s%s) and "
                      "cc; install clang or gcc, or for Python: pip install 'attnc[compiler]'; or name a compiler in "
                      "$ATTNC_CC",
                      cc && *cc ? "'" : "", cc && *cc ? cc : "not set", cc && *cc ? "'" : "");
    return false;
}

/* Runs a program and appends all its output to *log. Returns the status of waitpid, or -1 with errno. A guarded
   signal kills the program. */
static int run_program(const struct job *j, const char *const *argument, struct text *log)
{
    int pipes[2], variables = 0, result = 0;
    if (pipe2(pipes, O_CLOEXEC) != 0) return -1;
    /* TMPDIR is the private folder. So temporary files of a killed compiler are removed with this folder. */
    while (environ[variables]) variables++;
    const char **variable = arena_alloc(j->arena, sizeof *variable * ((size_t)variables + 3));
    int kept = 0;
    for (int k = 0; k < variables; k++)
        if (strncmp(environ[k], "TMPDIR=", 7) != 0) variable[kept++] = environ[k];
    variable[kept++] = arena_printf(j->arena, "TMPDIR=%s", j->build.path);
    if (!getenv("PATH")) variable[kept] = arena_printf(j->arena, "PATH=%s", default_path);

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
    if (!error) /* The compiler gets a new process group, so that killing the group also ends the linker. */
        error = posix_spawnattr_setpgroup(&attributes, 0);
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
    /* Guarded signals are blocked except in ppoll. So none is lost between the test of `caught` and the wait. */
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

/* Compiles FILE.c to FILE.so in the build folder. Returns the status of run_program. Sets *command to the command
   line. */
static int compile(const struct job *j, const char *file, bool openmp, struct text *log, const char **command)
{
    /* With -Bsymbolic, a kernel calls its own functions, not functions of attnc with equal names. */
    static const char *const default_flags[] = {"-O2", "-std=gnu11", "-fPIC", "-shared", "-Wl,-Bsymbolic"};
    const char *argument[MAX_ARGUMENTS];
    int n = 0;
    for (int k = 0; k < j->compiler.count; k++) argument[n++] = j->compiler.word[k];
    for (size_t k = 0; k < sizeof default_flags / sizeof *default_flags; k++) argument[n++] = default_flags[k];
    if (openmp) argument[n++] = "-fopenmp";
    if (j->quick) argument[n++] = "-DQUICK=1";
    /* gcc contracts a * b + c only with -O2, so only clang computes the same bits with -O1 */
    if (j->quick && strstr(j->compiler.word[0], "clang")) argument[n++] = "-O1";
    for (int k = 0; k < j->flags.count; k++) argument[n++] = j->flags.word[k];
    argument[n++] = "-I";
    argument[n++] = j->build.path;
    argument[n++] = "-o";
    argument[n++] = arena_printf(j->arena, "%s/%s.so", j->build.path, file);
    argument[n++] = arena_printf(j->arena, "%s/%s.c", j->build.path, file);
    if (strcmp(file, j->name) == 0) argument[n++] = arena_printf(j->arena, "%s/attnrt.o", j->build.path);
    argument[n++] = "-lm";
    argument[n] = NULL;
    struct text line = {0};
    for (int k = 0; k < n; k++) text_add(&line, "%s%s", k ? " " : "", argument[k]);
    if (command) *command = arena_copy(j->arena, line.data);
    text_free(&line);
    return run_program(j, argument, log);
}

/* ---- the cache ---- */

/* Adds a string to the key, after its length. So different lists of strings make different keys. */
static void add_part(struct text *key, const char *part)
{
    text_add(key, "%zu:", strlen(part));
    text_append(key, part, strlen(part));
}

/* Adds the size and time of a program's file to the key. A new version of the program changes them. */
static void add_program(struct text *key, const char *path)
{
    struct stat info;
    if (path && stat(path, &info) == 0)
        text_add(key, "%lld:%lld:%ld;", (long long)info.st_size, (long long)info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

/* Adds the C compiler and its flags to the key. Returns the key's hash and frees the key. */
static const char *key_hash(const struct job *j, struct text *key)
{
    for (int k = 0; k < j->compiler.count; k++) {
        add_part(key, j->compiler.word[k]);
        /* `ccache gcc` has two programs, so add every word that may be one */
        if (*j->compiler.word[k] != '-') add_program(key, find_program(j->arena, j->compiler.word[k]));
    }
    for (int k = 0; k < j->flags.count; k++) add_part(key, j->flags.word[k]);
    const char *hash = hash_text(j->arena, key->data, key->length);
    text_free(key);
    return hash;
}

/* Returns whether the file is a header that kernels include. */
static bool is_header(const struct runtime_file *f)
{
    return strncmp(f->name, "kernel/", 7) == 0 && strstr(f->name, ".h");
}

/* Returns the kernel's file name in the cache, NAME-HASH.so. The hash covers everything that the kernel is made
   from. */
static const char *kernel_file(const struct job *j, bool openmp)
{
    struct text key = {0};
    const char *const library = hash_text(j->arena, attnrt_object, (size_t)attnrt_object_bytes);
    const char *const parts[] = {
        ATTNC_VERSION,          j->name, j->source, j->header, library, openmp ? "openmp" : "one thread",
        j->quick ? "quick" : ""};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) add_part(&key, parts[k]);
    for (const struct runtime_file *f = runtime_files; f->name; f++)
        if (is_header(f)) add_part(&key, f->text);
    return arena_printf(j->arena, "%s-%.32s.so", j->name, key_hash(j, &key));
}

/* Returns the file name of the note for a key, spec-HASH.note. A note has a line with the kernel's file name, then
   the kernel's description. */
static const char *note_file(const struct job *j, const char *key_text)
{
    struct text key = {0};
    add_part(&key, ATTNC_VERSION);
    add_program(&key, "/proc/self/exe");
    add_part(&key, key_text);
    return arena_printf(j->arena, "spec-%.32s.note", key_hash(j, &key));
}

/* Removes a value of OMP_NUM_THREADS that is no list of numbers from 1 to 2^16. LLVM's OpenMP library ends the process
   if it is empty, and counts threads wrongly if it is another text. */
static void check_openmp(const struct console *c)
{
    static const char name[] = "OMP_NUM_THREADS";
    enum { most = 1 << 16 };
    const char *const text = getenv(name), *at = text;
    bool good = text != NULL;
    while (good) {
        char *end;
        at += strspn(at, " \t");
        const long number = *at >= '0' && *at <= '9' ? strtol(at, &end, 10) : 0;
        good = number > 0 && number <= most;
        if (!good) break;
        at = end + strspn(end, " \t");
        if (*at != ',') break;
        at++;
    }
    if (text == NULL || (good && *at == 0)) return;
    if (*text)
        console_mention(c, "note", "%s is '%s', which is ignored; expected a number of threads, 1 to %d", name, text,
                        most);
    unsetenv(name);
}

/* Loads a shared object of the folder. Returns NULL, or the reason for the failure.
   - The path contains the folder's descriptor. So the file comes from the folder that was checked. Without /proc,
     the path contains the name of the folder.
   - dlopen may return a library that it loaded earlier from an equal path. This is harmless, because the file name
     has a hash of the source. */
static const char *load(const struct job *j, const struct folder *folder, const char *file, struct loaded_code *out)
{
    const char *path = arena_printf(j->arena, "/proc/self/fd/%d/%s", folder->fd, file);
    if (access("/proc/self/fd", X_OK) != 0) path = arena_printf(j->arena, "%s/%s", folder->path, file);
    check_openmp(&j->console);
    /* RTLD_NODELETE is set because dlclose must not unmap the OpenMP library, whose idle threads still run. */
    out->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const char *error = out->handle ? NULL : dlerror();
    if (error) { /* the message has the name of the folder, not its descriptor */
        const bool named = strncmp(error, path, strlen(path)) == 0;
        return named ? arena_printf(j->arena, "%s/%s%s", folder->path, file, error + strlen(path))
                     : arena_copy(j->arena, error);
    }
    out->symbol = dlsym(out->handle, j->symbol);
    if (out->symbol) return NULL;
    code_unload(out);
    return arena_printf(j->arena, "%s lacks the symbol %s", file, j->symbol);
}

/* Loads the kernel from the cache. Returns false if it must be compiled. */
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

/* ---- compiling, loading and storing a kernel ---- */

/* Writes the text to the new file FILE SUFFIX of the build folder. On failure, prints a message and returns false. */
static bool put_bytes(const struct job *j, const char *file, const char *suffix, const char *bytes, size_t count)
{
    const char *name = arena_printf(j->arena, "%s%s", file, suffix);
    const int made = openat(j->build.fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    FILE *out = made >= 0 ? fdopen(made, "w") : NULL;
    bool written = out && fwrite(bytes, 1, count, out) == count;
    int saved = errno;
    if (out && fclose(out) != 0 && written) {
        written = false;
        saved = errno;
    }
    if (!out && made >= 0) close(made);
    if (!written) console_error(&j->console, "%s/%s: %s", j->build.path, name, strerror(saved));
    return written;
}

static bool put_file(const struct job *j, const char *file, const char *suffix, const char *text)
{
    return put_bytes(j, file, suffix, text, strlen(text));
}

/* Opens a private folder to compile in, inside the cache, or without a cache in $TMPDIR or /tmp. On failure, prints
   a message and returns false. */
static bool open_build(struct job *j)
{
    if (j->cache.fd >= 0 && !private_open(j->arena, &j->cache, &j->build)) {
        console_mention(&j->console, "note", "compiled kernels are not cached: %s: %s", j->cache.path, strerror(errno));
        folder_close(&j->cache);
    }
    if (j->build.fd >= 0 || private_open(j->arena, &NO_FOLDER, &j->build)) return true;
    const char *where = getenv("TMPDIR");
    console_error(&j->console, "no folder to compile in: %s: %s", where && *where ? where : "/tmp", strerror(errno));
    return false;
}

/* The names of the sources that `probe` compiles. No kernel has a hyphen in its name. */
#define PROBE "compiler-probe"
#define OPENMP_PROBE "openmp-probe"

/* Returns true if the compiler can compile a minimal program. If it cannot, the source of the kernel is not the
   cause of an error. A failure because of a full disk also returns true. */
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

/* Reports that the compiler failed with `status`. If `probe` succeeds, the emitted C is at fault. In this case the
   build folder is kept in the cache as failed-NAME. */
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
                      "the C that attnc emitted for '%s' does not compile: %s %s; the source is in %s/%s.c", j->name,
                      j->compiler.word[0], reason, place, j->name);
        folder_close(&j->build);
    }
    print_plain(stderr, arena_printf(j->arena, "%s\n%s%s", command, log_text,
                                     log->length && log_text[log->length - 1] != '\n' ? "\n" : ""));
}

/* Writes what the kernel is compiled from: its files, the headers of the runtime, and the object that has its library.
 */
static bool put_sources(const struct job *j)
{
    bool written = put_file(j, j->name, ".c", j->source) && put_file(j, j->name, ".h", j->header) &&
                   put_file(j, "attnrt", ".h", attnrt_header) &&
                   put_bytes(j, "attnrt", ".o", attnrt_object, (size_t)attnrt_object_bytes);
    if (mkdirat(j->build.fd, "attnrt", 0700) != 0 || mkdirat(j->build.fd, "attnrt/kernel", 0700) != 0) {
        console_error(&j->console, "%s/attnrt: %s", j->build.path, strerror(errno));
        return false;
    }
    for (const struct runtime_file *f = runtime_files; f->name && written; f++)
        if (is_header(f)) written = put_file(j, "attnrt/", f->name, f->text);
    return written;
}

/* Compiles the kernel, with OpenMP if that works, and loads it. Then seals the file and moves it to the cache. */
static enum status build_and_load(struct job *j, struct loaded_code *out)
{
    if (!put_sources(j)) return STATUS_MACHINE;
    struct text log = {0};
    const char *command;
    int status = 0;
    /* OpenMP is tested only if the cache has a build of this kernel without OpenMP, or if compiling with OpenMP
       fails. */
    bool doubt = j->cache.fd >= 0 && faccessat(j->cache.fd, kernel_file(j, false), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    j->openmp = !doubt || probe(j, true);
    if (!j->console.quiet && j->openmp && !caught) fprintf(stderr, "compiling %s … (first time)\n", j->name);
    if (j->openmp && !caught) {
        status = compile(j, j->name, true, &log, &command);
        if (status > 0 && !caught) j->openmp = probe(j, true);
    }
    if (!j->openmp && !caught) {
        text_free(&log);
        const bool there = load_cached(j, false, out);
        if (!there) {
            if (!j->console.quiet && doubt) fprintf(stderr, "compiling %s … (first time)\n", j->name);
            status = compile(j, j->name, false, &log, &command);
        }
        if (there || status == 0) /* no note if compiling without OpenMP fails, too */
            console_mention(&j->console, "note",
                            "OpenMP does not work with %s, so the kernel runs on one thread (for clang, install "
                            "libomp-dev; or set ATTNC_CC=gcc)",
                            j->compiler.word[0]);
        if (there) return STATUS_DONE;
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
    /* The kernel is loaded before it is moved to the cache, because another process may trim the cache at any time. */
    if (j->cache.fd >= 0 && sealed && renameat(j->build.fd, file, j->cache.fd, file) == 0)
        j->kept = file;
    else if (j->cache.fd >= 0)
        console_mention(&j->console, "note", "the compiled kernel is not cached: %s/%s: %s", j->cache.path, file,
                        strerror(sealed ? errno : unsealed));
    if (j->cache.fd >= 0) cache_trim(&j->cache, j->limit);
    return STATUS_DONE;
}

/* Continues with the cache for temporary use, for the reason *why. */
static void use_temporary(struct job *j, const char **why)
{
    folder_close(&j->cache);
    if (cache_open_temporary(j->arena, &j->cache, why)) cache_clean(&j->cache);
}

/* Finds the C compiler and opens the cache. Returns false if there is no compiler. Then it also prints a message,
   unless `silent` is true.
   - *why is set to the reason why the user's cache cannot be opened, or NULL.
   - *bad is set to the value of $ATTNC_CACHE_SIZE if it is not a size, or NULL. */
static bool job_open(struct job *j, bool silent, const char **why, const char **bad)
{
    j->cache = j->build = NO_FOLDER;
    *why = NULL;
    if (!find_compiler(j, silent)) return false;
    split(j->arena, getenv("ATTNC_CFLAGS"), &j->flags);
    j->limit = cache_limit(bad);
    if (j->limit <= 0) return true;
    if (cache_open(j->arena, &j->cache, why))
        cache_clean(&j->cache);
    else
        use_temporary(j, why);
    return true;
}

/* Compiles and loads the kernel with signals guarded. The caller holds the lock of `file`. A caught signal takes
   effect after the build folder and the lock are gone. */
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

/* Loads the kernel from the cache. If it is not there and the cache is read-only, continues with the one for temporary
   use. */
static bool load_known(struct job *j, struct loaded_code *out, const char **why)
{
    if (load_cached(j, true, out)) return true;
    const char *const reason = *why || j->cache.fd < 0 ? NULL : cache_read_only(j->arena, &j->cache);
    if (!reason) return false;
    *why = reason;
    use_temporary(j, why);
    return load_cached(j, true, out);
}

/* Says where compiled kernels are stored if it is not the user's cache. */
static void say_why(const struct job *j, const char *why)
{
    if (j->cache.fd >= 0)
        console_mention(&j->console, "note", "compiled kernels are stored in %s, because the cache cannot be used: %s",
                        j->cache.path, why);
    else
        console_mention(&j->console, "note", "compiled kernels are not cached: %s", why);
}

/* Loads the kernel from the cache, or compiles it. */
static enum status job_load(struct job *j, struct loaded_code *out)
{
    const char *why, *bad;
    enum status status = STATUS_DONE;
    *out = (struct loaded_code){0};
    if (!job_open(j, false, &why, &bad)) return STATUS_MACHINE;
    if (!load_known(j, out, &why)) {
        const char *const file = j->cache.fd >= 0 ? kernel_file(j, true) : NULL;
        if (why) say_why(j, why);
        if (bad)
            console_mention(&j->console, "note", "ATTNC_CACHE_SIZE takes a size such as 500M or 2G, not '%s'; using 1G",
                            bad);
        const int lock = file ? cache_lock(j->arena, &j->cache, file) : -1;
        /* Another process may have compiled the kernel meanwhile. */
        if (lock >= 0 && load_cached(j, true, out))
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

/* Writes the note for the key and ignores errors. Without a note, the next call emits the source again. */
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
                         bool quick, bool quiet, struct built_kernel *built)
{
    struct job job = {.arena = arena,
                      .console = {.quiet = quiet},
                      .quick = quick,
                      .name = name,
                      .source = source,
                      .header = header,
                      .symbol = arena_printf(arena, "%s_kernel", name)};
    struct loaded_code code;
    enum status status = job_load(&job, &code);
    code_unload(&code);
    if (status == STATUS_DONE && job.kept) {
        built->path = arena_printf(arena, "%s/%s", job.cache.path, job.kept);
        if (key && !quick) write_note(&job, key, built->description);
    } else if (status == STATUS_DONE) {
        console_error(&job.console,
                      "cannot store the library of '%s', because there is no cache; set XDG_CACHE_HOME to a "
                      "folder, and ATTNC_CACHE_SIZE to more than 0",
                      name);
        status = STATUS_MACHINE;
    }
    folder_close(&job.cache);
    return status;
}

void run_in_background(void)
{
    enum { LESS = 10 };
    if (nice(LESS) == -1) errno = 0; /* it may be the lowest priority already */
#ifdef PR_SET_PDEATHSIG
    prctl(PR_SET_PDEATHSIG, SIGTERM);
#endif
}

bool kernel_recall(struct arena *arena, const char *key, bool quiet, struct built_kernel *built)
{
    struct job job = {.arena = arena, .console = {.quiet = quiet}};
    const char *why, *bad, *text = NULL, *file = NULL;
    job.cache = NO_FOLDER;
    if (job_open(&job, true, &why, &bad) && job.cache.fd >= 0) {
        text = sealed_text(arena, &job.cache, note_file(&job, key));
        if (!text && !why && (why = cache_read_only(arena, &job.cache))) {
            use_temporary(&job, &why);
            if (job.cache.fd >= 0) text = sealed_text(arena, &job.cache, note_file(&job, key));
        }
    }
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

const char *kernel_ready(struct arena *arena, const char *hash, unsigned emit, unsigned *has)
{
    enum { ALL = 15 };
    const char *folder = getenv("ATTNC_KERNELS");
    if (!folder) {
        char self[4096];
        const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
        self[length > 0 ? length : 0] = 0;
        char *const slash = strrchr(self, '/');
        if (!slash) return NULL;
        folder = arena_printf(arena, "%.*s/attnc-kernels", (int)(slash - self), self);
    }
    for (*has = emit; *folder && *has <= ALL; ++*has) {
        const char *const path = arena_printf(arena, "%s/%.32s-%x.so", folder, hash, *has);
        if ((*has & emit) == emit && access(path, R_OK) == 0) return path;
    }
    return NULL;
}

const char *compiler_version(struct arena *arena, const struct console *c)
{
    struct job job = {.arena = arena, .console = *c}, *j = &job;
    if (!find_compiler(j, false)) return NULL;
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
        console_error(c, "%s --version prints nothing", argument[0]);
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
