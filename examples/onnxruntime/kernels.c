/* Finds kernels: those inside this library, and those that the program attnc finds or compiles. */
#include "provider.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- kernels inside ---- */

#define KERNEL(name, type, size) extern const struct attn_kernel name##_kernel;
#include "kernels.inc"
#undef KERNEL

static const struct {
    int type;
    int64_t size;
    const struct attn_kernel *kernel;
} inside[] = {
#define KERNEL(name, type, size) {type, size, &name##_kernel},
#include "kernels.inc"
#undef KERNEL
    {ORT_UNDEFINED, 0, NULL}};

/* Returns the kernel inside this library for the spec, or NULL. */
static const struct attn_kernel *kernel_inside(const char *spec)
{
    for (size_t n = 0; inside[n].kernel; n++) {
        const struct traits traits = {
            .type = inside[n].type, .head_dim = inside[n].size, .value_dim = inside[n].size, .mode = NO_WEIGHTS};
        char *const text = spec_of(&traits);
        const bool same = text && strcmp(text, spec) == 0;
        free(text);
        if (same) return inside[n].kernel;
    }
    return NULL;
}

/* ---- kernels that attnc builds ---- */

static char own_program[4096], own_environment[2][4200]; /* what attnc_ort_uses says */

/* Used by the Python package: the program attnc, and variables of its environment, such as ATTNC_CC=…, or NULL. */
__attribute__((visibility("default"))) void attnc_ort_uses(const char *program, const char *first, const char *second);
void attnc_ort_uses(const char *program, const char *first, const char *second)
{
    snprintf(own_program, sizeof own_program, "%s", program ? program : "");
    snprintf(own_environment[0], sizeof own_environment[0], "%s", first ? first : "");
    snprintf(own_environment[1], sizeof own_environment[1], "%s", second ? second : "");
}

/* Writes the path of the program attnc. */
static void find_program(const struct settings *settings, char *path, size_t bytes)
{
    const char *const of_user = settings->program && *settings->program ? settings->program : getenv("ATTNC");
    Dl_info info;
    if (of_user && *of_user) {
        snprintf(path, bytes, "%s", of_user);
        return;
    }
    snprintf(path, bytes, "%s", own_program);
    if (*path) return;
    if (dladdr((const void *)&own_program, &info) && info.dli_fname && strrchr(info.dli_fname, '/')) {
        snprintf(path, bytes, "%.*s/attnc", (int)(strrchr(info.dli_fname, '/') - info.dli_fname), info.dli_fname);
        if (access(path, X_OK) == 0) return;
    }
    snprintf(path, bytes, "attnc");
}

/* Starts a program. Its output goes to `out`, its messages to `said`. Returns 0 or an error number. */
static int start(const char *program, char *const *argv, int out, int said, pid_t *process)
{
    char *own[512], **environment = environ;
    size_t count = 0;
    while (environ[count]) count++;
    if (count + 3 < sizeof own / sizeof *own) { /* otherwise there are too many, and ours are left out */
        memcpy(own, environ, count * sizeof *own);
        for (int n = 0; n < 2; n++)
            if (*own_environment[n]) own[count++] = own_environment[n];
        own[count] = NULL;
        environment = own;
    }
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error) return error;
    error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", 0, 0);
    if (!error) error = posix_spawn_file_actions_adddup2(&actions, out, 1);
    if (!error) error = posix_spawn_file_actions_adddup2(&actions, said, 2);
    if (!error) error = posix_spawnp(process, program, &actions, NULL, argv, environment);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Reads a file from its beginning, up to `bytes` - 1 bytes, without the newline at its end. */
static void read_back(FILE *file, char *text, size_t bytes)
{
    rewind(file);
    size_t length = fread(text, 1, bytes - 1, file);
    while (length > 0 && text[length - 1] == '\n') length--;
    text[length] = 0;
}

/* Runs `attnc build` on the spec in a file. Writes the path of the library. Writes the reason if it fails. */
static bool build(const char *program, const char *file, char *path, size_t bytes, char *why, size_t most)
{
    FILE *const out = tmpfile(), *const said = tmpfile();
    bool built = false;
    pid_t process;
    if (!out || !said)
        snprintf(why, most, "no temporary file: %s", strerror(errno));
    else {
        char *const argv[] = {(char *)(uintptr_t)"attnc", (char *)(uintptr_t)"build", (char *)(uintptr_t)"--quiet",
                              (char *)(uintptr_t)file, NULL};
        const int error = start(program, argv, fileno(out), fileno(said), &process);
        int status = -1;
        if (error)
            snprintf(why, most, "%s: %s", program, strerror(error));
        else {
            while (waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
            built = WIFEXITED(status) && WEXITSTATUS(status) == 0;
            read_back(said, why, most);
            if (built) read_back(out, path, bytes);
        }
    }
    if (out) fclose(out);
    if (said) fclose(said);
    return built;
}

/* Writes the spec to a file, builds it, and loads it. */
static const struct attn_kernel *built(const struct settings *settings, const char *spec, char *why, size_t most)
{
    char program[4096], folder[4096], file[4200], path[4200];
    const char *const base = getenv("TMPDIR");
    const struct attn_kernel *kernel = NULL;
    find_program(settings, program, sizeof program);
    snprintf(folder, sizeof folder, "%s/attnc-ort-XXXXXX", base && *base == '/' ? base : "/tmp");
    if (!mkdtemp(folder)) {
        snprintf(why, most, "%s: %s", folder, strerror(errno));
        return NULL;
    }
    snprintf(file, sizeof file, "%s/attention.yaml", folder); /* the kernel has the name of the file */
    FILE *const stream = fopen(file, "w");
    const bool wrote = stream && fputs(spec, stream) >= 0;
    if ((stream && fclose(stream) != 0) || !wrote)
        snprintf(why, most, "%s: %s", file, strerror(errno));
    else if (build(program, file, path, sizeof path, why, most)) {
        void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (library) kernel = dlsym(library, "attention_kernel");
        if (!kernel) snprintf(why, most, "%s", library ? "the library has no kernel" : dlerror());
    }
    unlink(file);
    rmdir(folder);
    return kernel;
}

/* ---- the table of kernels ---- */

/* A spec, and its kernel. */
struct known {
    struct known *next;
    const struct attn_kernel *kernel;
    enum { MAKING, READY, FAILED } state;
    char spec[];
};
static struct known *table; /* entries stay until the process ends */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

/* Returns the entry of a spec. It is a new one if no thread has made or is making its kernel. The lock is held. */
static struct known *entry_of(const char *spec, bool *is_new)
{
    struct known *entry = table;
    while (entry && strcmp(entry->spec, spec) != 0) entry = entry->next;
    while (entry && entry->state == MAKING) pthread_cond_wait(&changed, &lock);
    *is_new = !entry || entry->state == FAILED; /* there may be a compiler by now */
    if (!entry && (entry = malloc(sizeof *entry + strlen(spec) + 1))) {
        *entry = (struct known){.next = table};
        strcpy(entry->spec, spec);
        table = entry;
    }
    if (entry && *is_new) entry->state = MAKING;
    return entry;
}

const struct attn_kernel *kernel_of(const struct settings *settings, const char *spec)
{
    char why[2048] = "out of memory";
    bool is_new;
    pthread_mutex_lock(&lock);
    struct known *const entry = entry_of(spec, &is_new);
    pthread_mutex_unlock(&lock);
    if (!entry) return NULL;
    if (!is_new) return entry->kernel;
    const struct attn_kernel *kernel = kernel_inside(spec);
    if (!kernel) kernel = built(settings, spec, why, sizeof why);
    pthread_mutex_lock(&lock);
    entry->kernel = kernel;
    entry->state = kernel ? READY : FAILED;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (!kernel && settings->logger) {
        struct text text = {0};
        text_add(&text, "attnc leaves a node to other providers: %s", why);
        if (text.data)
            done(ort->Logger_LogMessage(settings->logger, ORT_LOG_WARNING, text.data, __FILE__, __LINE__, __func__));
        text_free(&text);
    }
    return kernel;
}
