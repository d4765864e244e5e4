/* Tests strategies of the form pipe:COMMAND: correct commands, commands that violate the protocol, and early ends. */
#include "compiler/support/support.h"
#include "compiler/tune/result.h"
#include "compiler/tune/search/search.h"
#include "compiler/tune/space.h"
#include "suite.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char complaint[4000];
static int complaints;

void complain(const struct options *o, const char *format, ...)
{
    va_list arguments;
    (void)o;
    va_start(arguments, format);
    vsnprintf(complaint, sizeof complaint, format, arguments);
    va_end(arguments);
    complaints++;
}

static const struct options options;
static const struct tune_space space = {
    2,
    {{.name = "tile_q", .values = 3, .default_at = 1, .value = {16, 32, 64}},
     {.name = "tile_k", .values = 4, .default_at = 2, .value = {64, 128, 288, 512}}}};

/* The requests of a command. `points` has one line per request. The answer to a request is the ratio 1 + its number
 * / 10. */
struct outcome {
    int asked;
    bool failed;
    struct text points;
};

static struct outcome drive(const char *command, int64_t trials, uint64_t seed)
{
    struct outcome out = {0};
    struct text name = {0};
    text_add(&name, "pipe:%s", command);
    const struct search_request request = {.space = &space, .seed = seed, .trials = trials};
    complaints = 0;
    struct search *s = search_open(name.data, &request, &options);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    struct tune_point p;
    int samples;
    while (search_next(s, &p, &samples, &out.failed)) {
        struct tune_sample sample[3];
        for (int k = 0; k < 3; k++) sample[k] = (struct tune_sample){1 + 0.1 * (double)point_number(&space, &p), 1};
        struct tune_result result = {.status = TUNE_MEASURED, .samples = 3, .sample = sample};
        if (p.at[1] == 3) result = (struct tune_result){.status = TUNE_CRASHED, .why = "signal \"11\" \xE2\x80"};
        point_text(&space, &p, &out.points);
        text_add(&out.points, " %d\n", samples);
        out.asked++;
        search_tell(s, &p, &result);
    }
    search_close(s);
    text_free(&name);
    /* No child process is left, neither running nor as a zombie. */
    CU_ASSERT(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
    CU_ASSERT_EQUAL(complaints, out.failed);
    return out;
}

static void expect_points(const char *command, int64_t trials, const char *points)
{
    struct outcome out = drive(command, trials, 1);
    CU_ASSERT_FALSE(out.failed);
    CU_ASSERT_STRING_EQUAL(out.points.data ? out.points.data : "", points);
    text_free(&out.points);
}

/* ---- commands that obey the protocol ---- */

/* A Python program that checks each line it reads. If a line is wrong, the program's last requests differ. */
static const char conversation[] =
    "python3 -c '\n"
    "import json, sys\n"
    "def say(x): print(json.dumps(x), flush=True)\n"
    "def hear(): return json.loads(sys.stdin.readline())\n"
    "space = hear()\n"
    "good = space == {\"space\": [{\"name\": \"tile_q\", \"values\": [16, 32, 64], \"usual\": 32},\n"
    "    {\"name\": \"tile_k\", \"values\": [64, 128, 288, 512], \"usual\": 288}], \"seed\": 18446744073709551615, "
    "\"trials\": 3}\n"
    "say({\"point\": {\"tile_q\": 64, \"tile_k\": 64}, \"samples\": 3})\n"
    "heard = hear()\n"
    "good = good and abs(heard.pop(\"seconds\") - 1.8) < 1e-6 and all(abs(heard.pop(k) - 1.8) < 1e-6 for k in "
    "(\"ratio\", \"low\", \"high\"))\n"
    "good = good and heard == {\"point\": {\"tile_q\": 64, \"tile_k\": 64}, \"status\": \"measured\", \"samples\": 3}\n"
    "say({\"point\": {\"tile_k\": 512}})\n"
    "heard = hear()\n"
    "good = good and heard.pop(\"why\").startswith(\"signal \\\"11\\\" \")\n"
    "good = good and heard == {\"point\": {\"tile_q\": 32, \"tile_k\": 512}, \"status\": \"crashed\"}\n"
    "say({\"point\": {\"tile_q\": 16 if good else 32}, \"samples\": 10000})\n"
    "hear()\n"
    "say({\"done\": True})'";

static void test_conversation(void)
{
    struct outcome out = drive(conversation, 3, UINT64_MAX);
    CU_ASSERT_FALSE(out.failed);
    CU_ASSERT_STRING_EQUAL(out.points.data,
                           "tile_q=64 tile_k=64 3\ntile_q=32 tile_k=512 7\ntile_q=16 tile_k=288 10000\n");
    text_free(&out.points);
}

/* Tests commands that never read results, and a command that asks for no point. */
static void test_lists(void)
{
    expect_points("printf '{\"point\": {\"tile_q\": 16}}\\n {\"samples\":2,\"point\":{}} \\r\\n{\"done\":true}\\n'", 2,
                  "tile_q=16 tile_k=288 7\ntile_q=32 tile_k=288 2\n");
    expect_points("exec <&-; for q in 16 64 16; do echo '{\"point\": {\"tile_q\": '$q'}}'; sleep 0.1; done; echo "
                  "'{\"done\": true}'",
                  0, "tile_q=16 tile_k=288 7\ntile_q=64 tile_k=288 7\ntile_q=16 tile_k=288 7\n");
    expect_points("echo '{\"done\": true}'", 5, "");
    expect_points("echo '{\"done\": true}'; echo nonsense; exit 3", 5, ""); /* output after "done" is ignored */
    /* This command writes more than both pipes can hold, and reads afterwards. */
    struct outcome out = drive("i=0; while [ $i -lt 4000 ]; do echo '{\"point\": {\"tile_q\": 64}, \"samples\": 20}'; "
                               "i=$((i + 1)); done; echo '{\"done\": true}'; cat > /dev/null",
                               4000, 1);
    CU_ASSERT_EQUAL(out.asked, 4000);
    CU_ASSERT_FALSE(out.failed);
    text_free(&out.points);
}

/* ---- commands that violate the protocol ---- */

static void test_bad_commands(void)
{
    static const struct {
        const char *command, *says;
        int asked;
    } bad[] = {
        {"exit 0", "the strategy's command ended with status 0 before it wrote {\"done\": true}", 0},
        {"exit 3", "ended with status 3 before", 0},
        {"/no/such/command 2> /dev/null", "ended with status 127 before", 0},
        {"kill -SEGV $$", "was killed by signal 11 (Segmentation fault) before", 0},
        {"exec >&-; exec sleep 20", "closed its output before it wrote", 0},
        {"sleep 3 & exit 4", "ended with status 4 before", 0},
        {"printf '{\"done\": true}'", "ended with status 0 in the middle of a line, '{\"done\": true}' before", 0},
        {"echo '{\"point\": {}}'; read space; read answer; exit 5", "ended with status 5 before", 1},
        {"echo hello", "the strategy's command wrote 'hello': this is not JSON", 0},
        {"echo", "wrote '': this is not JSON", 0},
        {"printf '{\"point\": \\001}\\n'", "wrote '{\"point\": \\x01}': this is not JSON", 0},
        {"printf '\\377\\376\\n'", "this is not JSON", 0},
        {"printf '{\"point\"\\000: {}}\\n'", "wrote '{\"point\"\\x00: {}}': this is not JSON", 0},
        {"echo '[1]'", "wrote '[1]': a line must be a JSON object", 0},
        {"echo '{\"samples\": 5}'", "\"point\" must be an object with values of knobs", 0},
        {"echo '{}'", "\"point\" must be an object with values of knobs", 0},
        {"echo '{\"point\": [1, 2]}'", "\"point\" must be an object with values of knobs", 0},
        {"echo '{\"point\": {}, \"sample\": 5}'", "'sample' is unknown; expected point, samples or done", 0},
        {"echo '{\"point\": {}, \"samples\": 0}'", "\"samples\" must be an integer from 1 to 10000", 0},
        {"echo '{\"point\": {}, \"samples\": 2.5}'", "\"samples\" must be an integer from 1 to 10000", 0},
        {"echo '{\"point\": {}, \"samples\": 10001}'", "\"samples\" must be an integer from 1 to 10000", 0},
        {"echo '{\"point\": {}, \"done\": true}'", "the last line must be {\"done\": true}", 0},
        {"echo '{\"done\": false}'", "the last line must be {\"done\": true}", 0},
        {"echo '{\"point\": {\"tile\": 64}}'", "wrote '{\"point\": {\"tile\": 64}}': no knob is called 'tile'", 0},
        {"echo '{\"point\": {\"tileq\": 64}}'", "no knob is called 'tileq': did you mean 'tile_q'?", 0},
        {"echo '{\"point\": {\"tile_q\": 48}}'", "wrote '{\"point\": {\"tile_q\": 48}}': tile_q must be 16, 32 or 64",
         0},
        {"echo '{\"point\": {\"tile_k\": \"64\"}}'", "tile_k must be 64, 128, 288 or 512", 0},
        {"echo '{\"point\": {\"tile_k\": 64.0}}'", "tile_k must be 64, 128, 288 or 512", 0},
        {"echo '{\"point\": {\"tile_k\": 64, \"tile_k\": 128}}'", "this is not JSON (duplicate object key", 0},
        {"while echo '{\"point\": {}}'; do :; done", "the command has already asked for all of its 4 trials", 4},
        {"yes | tr -d '\\n'", "a line may have at most 65536 bytes", 0},
        {"echo '{\"point\": {}}'; head -c 70000 /dev/zero", "a line may have at most 65536 bytes", 1},
        {"echo '{\"point\": {}}'; echo oops; sleep 20", "wrote 'oops'", 1},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        struct outcome out = drive(bad[k].command, 4, 1);
        const bool right = out.failed && out.asked == bad[k].asked && strstr(complaint, bad[k].says);
        if (!right) printf("%s: asked %d, %s\n", bad[k].command, out.asked, complaint);
        CU_ASSERT_TRUE(right);
        text_free(&out.points);
    }
    /* Messages quote only the beginning of a long line. */
    struct outcome out = drive("head -c 1000 /dev/zero | tr '\\000' o; echo", 4, 1);
    CU_ASSERT(strlen(complaint) < 300 && strstr(complaint, "ooo…'"));
    text_free(&out.points);

    const struct search_request request = {.space = &space, .trials = 4};
    CU_ASSERT_PTR_NULL(search_open("pipe:", &request, &options));
    CU_ASSERT_STRING_EQUAL(complaint, "--strategy=pipe:COMMAND lacks the command");
    CU_ASSERT_PTR_NULL(search_open("pipe: \n", &request, &options));
}

/* ---- searches that end before the command ---- */

static bool stop_now(void *user)
{
    int *asked = user;
    return ++*asked > 3;
}

/* A search can be stopped even if the command does not answer and ignores signals. */
static void test_stop(void)
{
    int asked = 0;
    const struct search_request request = {.space = &space, .user = &asked, .stop = stop_now};
    complaints = 0;
    struct search *s = search_open("pipe:trap '' TERM INT HUP PIPE; while :; do sleep 1; done", &request, &options);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    struct tune_point p;
    int samples;
    bool failed = true;
    CU_ASSERT_FALSE(search_next(s, &p, &samples, &failed));
    CU_ASSERT_FALSE(failed);
    CU_ASSERT(asked > 3);
    search_close(s);
    CU_ASSERT(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
    CU_ASSERT_EQUAL(complaints, 0);
}

/* If the search is closed early, the command reads the end of its input and has time to finish. */
static void test_early_close(void)
{
    char file[] = "/tmp/attnc-search-XXXXXX";
    const int made = mkstemp(file);
    CU_ASSERT_FATAL(made >= 0);
    struct text command = {0};
    text_add(&command, "pipe:echo '{\"point\": {}}'; cat > /dev/null; echo input ended > %s", file);
    const struct search_request request = {.space = &space};
    struct search *s = search_open(command.data, &request, &options);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    struct tune_point p;
    int samples;
    bool failed;
    CU_ASSERT_TRUE(search_next(s, &p, &samples, &failed));
    search_close(s);
    char said[32] = "";
    const ssize_t got = read(made, said, sizeof said - 1);
    CU_ASSERT(got > 0 && strcmp(said, "input ended\n") == 0);
    close(made);
    unlink(file);
    text_free(&command);
}

/* A search does not change the caller's signal handlers and signal mask. A pending signal stays pending. */
static void test_signals(void)
{
    sigset_t block, before, pending;
    sigemptyset(&block);
    sigaddset(&block, SIGPIPE);
    sigprocmask(SIG_BLOCK, &block, &before);
    raise(SIGPIPE);
    expect_points(
        "exec <&-; for q in 16 64; do echo '{\"point\": {\"tile_q\": '$q'}}'; sleep 0.1; done; echo '{\"done\": true}'",
        0, "tile_q=16 tile_k=288 7\ntile_q=64 tile_k=288 7\n");
    sigpending(&pending);
    CU_ASSERT_TRUE(sigismember(&pending, SIGPIPE));
    const struct timespec now = {0, 0};
    CU_ASSERT_EQUAL(sigtimedwait(&block, NULL, &now), SIGPIPE);
    sigprocmask(SIG_SETMASK, &before, NULL);

    /* If the caller ignores SIGCHLD, the exit status is lost. */
    struct sigaction ignore = {.sa_handler = SIG_IGN}, old;
    sigaction(SIGCHLD, &ignore, &old);
    struct outcome out = drive("exit 3", 4, 1);
    CU_ASSERT(out.failed && strstr(complaint, "the strategy's command ended before"));
    sigaction(SIGCHLD, &old, NULL);
    text_free(&out.points);
}

/* The help text names every word of the protocol. */
static void test_help(void)
{
    static const char *const words[] = {"\"space\"",   "\"name\"",  "\"values\"",  "\"usual\"",  "\"seed\"",
                                        "\"trials\"",  "\"point\"", "\"samples\"", "\"status\"", "\"ratio\"",
                                        "\"low\"",     "\"high\"",  "\"seconds\"", "\"why\"",    "\"wrong\"",
                                        "\"crashed\"", "\"late\"",  "\"refused\"", "\"done\""};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) CU_ASSERT_PTR_NOT_NULL(strstr(pipe_help, words[k]));
}

int main(void)
{
    alarm(110); /* a search that hangs must fail */
    static const struct unit_test tests[] = {{"pipe_conversation", test_conversation},
                                             {"pipe_lists", test_lists},
                                             {"pipe_bad_commands", test_bad_commands},
                                             {"pipe_stop", test_stop},
                                             {"pipe_early_close", test_early_close},
                                             {"pipe_signals", test_signals},
                                             {"pipe_help", test_help}};
    return unit_tests_run("search_pipe", tests, sizeof tests / sizeof *tests);
}
