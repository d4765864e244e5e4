/* The strategy pipe:COMMAND. The user's command exchanges lines of JSON with attnc through pipes (see pipe_help). attnc
   never blocks on the command. The command may
   - ask for several points before it reads a result, or never read results;
   - take any time, or end at any time. */
#include "search.h"
#include "strategy.h"
#include "../../schedule/schedule.h"
#include "../../support/support.h"
#include "../result.h"
#include "../space.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

const char pipe_help[] =
    "--strategy='pipe:COMMAND' asks a command of yours, run by /bin/sh, for the schedules to try. Each message is one "
    "line of JSON.\n"
    "It first gets the space on standard input:\n"
    "  {\"space\": [{\"name\": \"tile_q\", \"values\": [16, 32, 64], \"usual\": 32}, ...], \"seed\": 1, \"trials\": "
    "200}\n"
    "`usual` is the default value; the default schedule is measured with every candidate. `trials` is how many points "
    "it "
    "may ask for, 0 for no limit.\n"
    "Then it writes to standard output, and must flush, the points to measure, one per line:\n"
    "  {\"point\": {\"tile_q\": 64, \"tile_k\": 288}, \"samples\": 5}\n"
    "A knob that is left out has its default value; `samples` is from 1 to 10000, 7 if left out, and includes samples "
    "that the "
    "point already has.\n"
    "For each it gets a line back:\n"
    "  {\"point\": {\"tile_q\": 64, \"tile_k\": 288}, \"status\": \"measured\", \"samples\": 5, \"ratio\": 0.91, "
    "\"low\": 0.89, \"high\": 0.93, \"seconds\": 0.0123}\n"
    "`ratio` is its time divided by the time of the default schedule, from `low` to `high` with 95% confidence: less "
    "is better. "
    "`status` may also be\n"
    "\"wrong\", \"crashed\", \"late\" or \"refused\", with a \"why\" in place of the numbers. When it has seen enough "
    "it writes\n"
    "  {\"done\": true}\n"
    "and ends. Its standard error is shown. If the time is over before that, its standard input is "
    "closed, and "
    "it is killed a second later.\n"
    "A command that ends without this line, writes anything else, or asks for more than `trials` points is an error.\n";

enum { MAX_LINE = 1 << 16, TICK_MS = 50, GRACE_MS = 1000 };

struct pipe_search {
    struct search_request request;
    const struct options *o;
    /* The command's shell, which leads a process group. 0 if it has ended. */
    pid_t child;
    int status;  /* the wait status of the child, or -1 if it is unknown */
    int in, out; /* pipes to and from the child, or -1 if they are closed */
    struct text unsent, unread;
    int64_t asked;
};

/* ---- the process of the user's command ---- */

static void shut(int *file)
{
    if (*file >= 0) close(*file);
    *file = -1;
}

static bool start(struct pipe_search *x, const char *command)
{
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0) return false;
    if (pipe2(out, O_CLOEXEC) != 0) {
        const int saved = errno;
        close(in[0]);
        close(in[1]);
        errno = saved;
        return false;
    }
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t mask, by_default;
    sigemptyset(&mask);
    sigemptyset(&by_default);
    sigaddset(&by_default, SIGPIPE);
    sigaddset(&by_default, SIGCHLD);
    char *const argument[] = {(char *)(uintptr_t)"sh", (char *)(uintptr_t)"-c", (char *)(uintptr_t)command, NULL};
    int error = posix_spawn_file_actions_init(&files);
    if (!error && (error = posix_spawnattr_init(&attributes))) posix_spawn_file_actions_destroy(&files);
    if (!error) {
        error = posix_spawn_file_actions_adddup2(&files, in[0], 0);
        if (!error) error = posix_spawn_file_actions_adddup2(&files, out[1], 1);
        if (!error) error = posix_spawnattr_setsigmask(&attributes, &mask);
        if (!error) error = posix_spawnattr_setsigdefault(&attributes, &by_default);
        if (!error) /* The shell gets a new process group, so that one kill reaches all processes that it starts. */
            error = posix_spawnattr_setpgroup(&attributes, 0);
        if (!error)
            error = posix_spawnattr_setflags(&attributes,
                                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        if (!error) error = posix_spawn(&x->child, "/bin/sh", &files, &attributes, argument, environ);
        posix_spawn_file_actions_destroy(&files);
        posix_spawnattr_destroy(&attributes);
    }
    close(in[0]);
    close(out[1]);
    x->in = in[1];
    x->out = out[0];
    if (!error && (fcntl(x->in, F_SETFL, O_NONBLOCK) != 0 || fcntl(x->out, F_SETFL, O_NONBLOCK) != 0)) error = errno;
    errno = error;
    return error == 0;
}

/* Returns true if the child has ended. Reaps it. */
static bool ended(struct pipe_search *x)
{
    if (x->child == 0) return true;
    const pid_t got = waitpid(x->child, &x->status, WNOHANG);
    if (got == 0 || (got < 0 && errno == EINTR)) return false;
    if (got < 0) x->status = -1; /* SIGCHLD is ignored, so the status is lost */
    x->child = 0;
    return true;
}

static void wait_ms(long ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

/* Writes as much of `unsent` as the pipe takes. A command may close its standard input if it needs no results. */
static void send_some(struct pipe_search *x)
{
    sigset_t pipe_signal, before, pending;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    size_t sent = 0;
    while (x->in >= 0 && sent < x->unsent.length) {
        const ssize_t wrote = write(x->in, x->unsent.data + sent, x->unsent.length - sent);
        if (wrote > 0)
            sent += (size_t)wrote;
        else if (wrote < 0 && errno == EAGAIN)
            break;
        else if (wrote < 0 && errno != EINTR)
            shut(&x->in);
    }
    /* A write to a closed pipe makes a SIGPIPE pending. Remove it, unless one was pending before. */
    const struct timespec now = {0, 0};
    if (x->in < 0 && !sigismember(&pending, SIGPIPE))
        while (sigtimedwait(&pipe_signal, NULL, &now) < 0 && errno == EINTR) {
        }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    struct text rest = {0};
    if (x->in >= 0 && sent < x->unsent.length) text_append(&rest, x->unsent.data + sent, x->unsent.length - sent);
    text_free(&x->unsent);
    x->unsent = rest;
}

/* ---- lines from the command ---- */

/* Appends the line in quotes, with control characters escaped, and shortened to 160 bytes. */
static void quote(const char *line, size_t length, struct text *out)
{
    enum { SHOWN = 160 };
    text_add(out, "'");
    for (size_t k = 0; k < length && k < SHOWN; k++) {
        const unsigned char c = (unsigned char)line[k];
        if (c < 32 || c == 127)
            text_add(out, "\\x%02x", c);
        else
            text_append(out, line + k, 1);
    }
    text_add(out, length > SHOWN ? "…'" : "'");
}

IR_PRINTF(4, 5)
static bool refuse(const struct pipe_search *x, const char *line, size_t length, const char *format, ...)
{
    va_list arguments;
    char why[300];
    struct text quoted = {0};
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    quote(line, length, &quoted);
    complain(x->o, "the strategy's command wrote %s: %s", quoted.data, why);
    text_free(&quoted);
    return false;
}

static bool refuse_end(struct pipe_search *x)
{
    struct text what = {0};
    /* the pipe closes shortly before the exit status is available */
    for (int k = 0; k < GRACE_MS / TICK_MS && !ended(x); k++) wait_ms(TICK_MS);
    if (x->child)
        text_add(&what, "closed its output");
    else if (x->status == -1)
        text_add(&what, "ended");
    else if (WIFSIGNALED(x->status))
        text_add(&what, "was killed by signal %d (%s)", WTERMSIG(x->status), strsignal(WTERMSIG(x->status)));
    else
        text_add(&what, "ended with status %d", WEXITSTATUS(x->status));
    if (x->unread.length > 0) {
        text_add(&what, " in the middle of a line, ");
        quote(x->unread.data, x->unread.length, &what);
    }
    complain(x->o, "the strategy's command %s before it wrote {\"done\": true}", what.data);
    text_free(&what);
    return false;
}

/* Reads the available bytes. Returns false if no more will come. */
static bool receive_some(struct pipe_search *x)
{
    char bytes[4096];
    for (;;) {
        const ssize_t got = read(x->out, bytes, sizeof bytes);
        if (got > 0) text_append(&x->unread, bytes, (size_t)got);
        if (got > 0 && x->unread.length <= MAX_LINE) continue;
        if (got < 0 && errno == EINTR) continue;
        return got > 0 || (got < 0 && errno == EAGAIN);
    }
}

/* Waits for the next line of the command and returns it, allocated with malloc. *length does not count the newline.
   If the search should end, sets *over and returns NULL. After an error, prints a message and returns NULL. */
static char *next_line(struct pipe_search *x, size_t *length, bool *over)
{
    bool last = false;
    *over = false;
    for (;;) {
        const char *end = x->unread.length ? memchr(x->unread.data, '\n', x->unread.length) : NULL;
        if (end) {
            struct text line = {0}, rest = {0};
            *length = (size_t)(end - x->unread.data);
            text_append(&line, x->unread.data, *length + 1);
            text_append(&rest, end + 1, x->unread.length - *length - 1);
            text_free(&x->unread);
            x->unread = rest;
            return line.data;
        }
        if (x->unread.length > MAX_LINE) {
            refuse(x, x->unread.data, x->unread.length, "a line may have at most %d bytes", MAX_LINE);
            return NULL;
        }
        if (last || x->out < 0) {
            refuse_end(x);
            return NULL;
        }
        if (x->request.stop && x->request.stop(x->request.user)) {
            *over = true;
            return NULL;
        }
        send_some(x);
        struct pollfd wait[2] = {{.fd = x->out, .events = POLLIN},
                                 {.fd = x->unsent.length ? x->in : -1, .events = POLLOUT}};
        /* A background process of the command may keep the pipe open. So if the command has ended, do not wait for
           more bytes. */
        const bool dead = ended(x);
        if (poll(wait, 2, dead ? 0 : TICK_MS) < 0 && errno != EINTR) {
            complain(x->o, "cannot wait for the strategy's command: %s", strerror(errno));
            return NULL;
        }
        last = !receive_some(x) || dead;
    }
}

/* Returns the index of a JSON value in the knob's list of values. On failure, prints a message and returns -1. */
static int value_index(const struct pipe_search *x, const char *line, size_t length, const struct tune_knob *knob,
                       const json_t *value)
{
    struct text all = {0};
    for (int k = 0; k < knob->values; k++) {
        if (json_is_integer(value) && json_integer_value(value) == knob->value[k]) {
            text_free(&all);
            return k;
        }
        text_add(&all, "%s%" PRId64, k == 0 ? "" : k + 1 < knob->values ? ", " : " or ", knob->value[k]);
    }
    refuse(x, line, length, "%s must be %s", knob->name, all.data);
    text_free(&all);
    return -1;
}

static bool read_point(const struct pipe_search *x, const char *line, size_t length, json_t *given,
                       struct tune_point *point)
{
    const struct tune_space *space = x->request.space;
    const char *name;
    json_t *value;
    *point = point_default(space);
    json_object_foreach(given, name, value)
    {
        const char *names[MAX_KNOBS + 1] = {NULL};
        int at = -1;
        for (int k = 0; k < space->knobs; k++) {
            names[k] = space->knob[k].name;
            if (strcmp(name, names[k]) == 0) at = k;
        }
        const char *near = at < 0 ? nearest_word(name, names) : NULL;
        if (at < 0 && near) return refuse(x, line, length, "no knob is called '%.60s': did you mean '%s'?", name, near);
        if (at < 0) return refuse(x, line, length, "no knob is called '%.60s'", name);
        point->at[at] = value_index(x, line, length, &space->knob[at], value);
        if (point->at[at] < 0) return false;
    }
    return true;
}

/* Parses one line of the command.
   - Returns true if the line asks for a point.
   - If the line ends the search, sets *done to true and returns false.
   - After an error, prints a message, sets *done to false and returns false. */
static bool read_request(const struct pipe_search *x, const char *line, size_t length, struct tune_point *point,
                         int *samples, bool *done)
{
    json_error_t error;
    json_t *top = json_loadb(line, length, JSON_REJECT_DUPLICATES, &error);
    const char *name;
    json_t *value, *given = json_object_get(top, "point"), *many = json_object_get(top, "samples"),
                   *said = json_object_get(top, "done");
    bool good = true;
    if (!top)
        good = refuse(x, line, length, "this is not JSON (%s)", error.text);
    else if (!json_is_object(top))
        good = refuse(x, line, length, "a line must be a JSON object");
    json_object_foreach(top, name, value)
    {
        static const char *const keys[] = {"point", "samples", "done", NULL};
        bool key = false;
        for (int k = 0; keys[k]; k++) key |= strcmp(name, keys[k]) == 0;
        if (good && !key) good = refuse(x, line, length, "'%.60s' is unknown; expected point, samples or done", name);
    }
    if (good && said && !(json_is_true(said) && json_object_size(top) == 1))
        good = refuse(x, line, length, "the last line must be {\"done\": true}");
    *done = good && said;
    if (good && !said) {
        if (!json_is_object(given))
            good = refuse(x, line, length, "\"point\" must be an object with values of knobs");
        else if (many &&
                 !(json_is_integer(many) && json_integer_value(many) >= 1 && json_integer_value(many) <= MAX_SAMPLES))
            good = refuse(x, line, length, "\"samples\" must be an integer from 1 to %d", MAX_SAMPLES);
        else if (x->request.trials > 0 && x->asked >= x->request.trials)
            good = refuse(x, line, length, "the command has already asked for all of its %" PRId64 " trials",
                          x->request.trials);
        else
            good = read_point(x, line, length, given, point);
        *samples = many ? (int)json_integer_value(many) : TRIAL_SAMPLES;
    }
    json_decref(top);
    return good && !said;
}

/* ---- lines to the command ---- */

/* Adds the object as a line and frees it. */
static void add_line(struct pipe_search *x, json_t *object)
{
    char *line = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(9));
    if (line) text_add(&x->unsent, "%s\n", line);
    free(line);
    json_decref(object);
}

static void add_space(struct pipe_search *x)
{
    json_t *top = json_object(), *knobs = json_array();
    for (int k = 0; k < x->request.space->knobs; k++) {
        const struct tune_knob *knob = &x->request.space->knob[k];
        json_t *values = json_array();
        for (int v = 0; v < knob->values; v++) json_array_append_new(values, json_integer(knob->value[v]));
        json_array_append_new(knobs, json_pack("{s:s, s:o, s:I}", "name", knob->name, "values", values, "usual",
                                               (json_int_t)knob->value[knob->default_at]));
    }
    json_object_set_new(top, "space", knobs);
    /* Jansson's integers are signed and cannot hold seeds above INT64_MAX, so the seed is written here */
    char *text = json_dumps(top, JSON_COMPACT);
    if (text)
        text_add(&x->unsent, "%.*s,\"seed\":%" PRIu64 ",\"trials\":%" PRId64 "}\n", (int)strlen(text) - 1, text,
                 x->request.seed, x->request.trials);
    free(text);
    json_decref(top);
}

static void add_number(json_t *object, const char *name, double value)
{
    if (isfinite(value)) json_object_set_new(object, name, json_real(value));
}

static void pipe_tell(void *state, const struct tune_point *point, const struct tune_result *result)
{
    struct pipe_search *x = state;
    json_t *top = json_object(), *values = json_object();
    for (int k = 0; k < x->request.space->knobs; k++)
        json_object_set_new(values, x->request.space->knob[k].name,
                            json_integer(x->request.space->knob[k].value[point->at[k]]));
    json_object_set_new(top, "point", values);
    json_object_set_new(top, "status", json_string(tune_status_name[result->status]));
    if (result->status == TUNE_MEASURED) {
        const struct tune_gain gain = tune_gain(result);
        json_object_set_new(top, "samples", json_integer(result->samples));
        add_number(top, "ratio", gain.ratio);
        add_number(top, "low", gain.low);
        add_number(top, "high", gain.high);
        add_number(top, "seconds", tune_seconds(result));
    } else {
        /* A truncated message may end inside a UTF-8 character. If it does, every non-ASCII byte becomes '?'. */
        char why[sizeof result->why];
        memcpy(why, result->why, sizeof why);
        json_t *word = json_string(why);
        for (char *c = why; !word && *c; c++)
            if ((unsigned char)*c > 126) *c = '?';
        json_object_set_new(top, "why", word ? word : json_string(why));
    }
    add_line(x, top);
    send_some(x);
}

/* ---- the strategy ---- */

static void pipe_close(void *state)
{
    struct pipe_search *x = state;
    const pid_t group = x->child;
    shut(&x->in);
    shut(&x->out);
    for (int k = 0; k < GRACE_MS / TICK_MS && !ended(x); k++) wait_ms(TICK_MS);
    if (x->child) {
        kill(-group, SIGKILL);
        while (waitpid(x->child, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    text_free(&x->unsent);
    text_free(&x->unread);
}

static void *pipe_open(struct arena *arena, const struct search_request *request, const char *argument,
                       const struct options *o)
{
    if (argument[strspn(argument, " \t\n")] == 0) {
        complain(o, "--strategy=pipe:COMMAND lacks the command");
        return NULL;
    }
    struct pipe_search *x = arena_alloc(arena, sizeof *x);
    *x = (struct pipe_search){.request = *request, .o = o, .in = -1, .out = -1};
    if (!start(x, argument)) {
        complain(o, "cannot run the strategy's command '%s': %s", argument, strerror(errno));
        pipe_close(x);
        return NULL;
    }
    add_space(x);
    return x;
}

static enum search_answer pipe_next(void *state, struct tune_point *point, int *samples)
{
    struct pipe_search *x = state;
    size_t length = 0;
    bool over, done = false;
    char *line = next_line(x, &length, &over);
    const bool good = line && read_request(x, line, length, point, samples, &done);
    free(line);
    x->asked += good;
    return good ? SEARCH_POINT : done || over ? SEARCH_OVER : SEARCH_FAILED;
}

const struct strategy search_pipe = {"pipe", pipe_open, pipe_next, pipe_tell, pipe_close};
