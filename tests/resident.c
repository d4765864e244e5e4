/* Keeps a compiler in memory for tests. A fifth of the time of a small compilation is loading clang: the dynamic linker
   changes 14 MiB of addresses in its libraries.
   - As a shared library (-DSERVER), it is preloaded into the compiler, with the name of a socket in $RESIDENT_SOCKET.
   Instead of main, the compiler waits for requests. Each one has the arguments, the environment, the folder and the
   standard streams of a compilation. A child of the compiler takes them and calls main. The compiler ends with its
   standard input.
   - As a program: resident SOCKET COMPILER ARGUMENT…. Without a server, it starts the compiler. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STREAMS = 3, DESCRIPTORS = 4 }; /* the standard streams, and the folder */

/* The beginning of a request. The arguments and the environment follow as strings. */
struct head {
    uint32_t bytes, arguments, variables;
};

union control {
    char room[CMSG_SPACE(DESCRIPTORS * sizeof(int))];
    struct cmsghdr aligned;
};

static struct sockaddr_un address_of(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    return address;
}

static void give_up(const char *what)
{
    fprintf(stderr, "resident: %s: %s\n", what, strerror(errno));
    _exit(71);
}

#ifdef SERVER
static bool read_all(int from, void *to, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = read(from, (char *)to + done, bytes - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        done += (size_t)n;
    }
    return true;
}

static void report(int status, void *connection)
{
    if (write((int)(intptr_t)connection, &status, sizeof status) < 0) _exit(72);
}

/* Makes this process the compilation of a request, and returns its arguments. */
static char **become(int connection, int *arguments)
{
    struct head head;
    int descriptor[DESCRIPTORS];
    union control control;
    struct iovec part = {&head, sizeof head};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    if (recvmsg(connection, &message, MSG_WAITALL) != sizeof head || !CMSG_FIRSTHDR(&message)) give_up("recvmsg");
    memcpy(descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof descriptor);
    char *text = malloc(head.bytes + 1), **word = calloc(head.arguments + head.variables + 2, sizeof *word);
    if (!text || !word || !read_all(connection, text, head.bytes)) give_up("request");
    environ = word + head.arguments + 1; /* a NULL follows the arguments, and one the environment */
    for (uint32_t n = 0; n < head.arguments + head.variables; n++, text += strlen(text) + 1)
        word[n < head.arguments ? n : n + 1] = text;
    if (fchdir(descriptor[STREAMS])) give_up("fchdir");
    for (int n = 0; n < STREAMS; n++)
        if (dup2(descriptor[n], n) < 0) give_up("dup2");
    for (int n = 0; n < DESCRIPTORS; n++) close(descriptor[n]);
    *arguments = (int)head.arguments;
    return word;
}

static void child_ended(int number)
{
    (void)number;
}

static int (*compile)(int, char **, char **);

static int serve(int argc, char **argv, char **environment)
{
    (void)argc, (void)argv, (void)environment;
    const char *path = getenv("RESIDENT_SOCKET");
    if (!path) return compile(argc, argv, environment);
    struct sockaddr_un address = address_of(path);
    int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (server < 0 || bind(server, (struct sockaddr *)&address, sizeof address) || listen(server, 64)) give_up(path);
    sigaction(SIGCHLD, &(struct sigaction){.sa_handler = child_ended}, NULL); /* poll ends */
    if (write(STDOUT_FILENO, "\n", 1) != 1) give_up("write");                 /* requests can come */
    for (;;) {
        struct pollfd wait[] = {{server, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
        int ready = poll(wait, 2, -1);
        while (waitpid(-1, NULL, WNOHANG) > 0) continue;
        if (ready <= 0) continue;
        if (wait[1].revents) break;
        int connection = accept4(server, NULL, NULL, SOCK_CLOEXEC);
        if (connection < 0) continue;
        if (fork() == 0) {
            signal(SIGCHLD, SIG_DFL);
            close(server);
            char **word = become(connection, &argc);
            on_exit(report, (void *)(intptr_t)connection);
            /* If the client is killed, so is this process. */
            fcntl(connection, F_SETOWN, getpid());
            fcntl(connection, F_SETSIG, SIGTERM);
            fcntl(connection, F_SETFL, O_ASYNC);
            return compile(argc, word, environ);
        }
        close(connection);
    }
    while (wait(NULL) > 0 || errno == EINTR) continue; /* so that their time is counted */
    _exit(0);
}

int __libc_start_main(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void),
                      void *);

/* libc's start of a program, which is called with another main. */
int __libc_start_main(int (*real)(int, char **, char **), int argc, char **argv, void (*start)(void), void (*end)(void),
                      void (*end_linker)(void), void *stack)
{
    compile = real;
    unsetenv("LD_PRELOAD");
    return ((__typeof__(&__libc_start_main))dlsym(RTLD_NEXT, "__libc_start_main"))(serve, argc, argv, start, end,
                                                                                   end_linker, stack);
}
#else
static size_t room_of(char **word, uint32_t *count)
{
    size_t bytes = 0;
    for (*count = 0; word[*count]; ++*count) bytes += strlen(word[*count]) + 1;
    return bytes;
}

static char *put(char *at, char **word)
{
    for (; *word; word++) at = stpcpy(at, *word) + 1;
    return at;
}

int main(int argc, char **argv)
{
    if (argc < 3) return fprintf(stderr, "usage: resident SOCKET COMPILER ARGUMENT…\n"), 2;
    struct sockaddr_un address = address_of(argv[1]);
    argv += 2;
    int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), status;
    if (server < 0 || connect(server, (struct sockaddr *)&address, sizeof address)) {
        execvp(argv[0], argv);
        give_up(argv[0]);
    }
    struct head head;
    head.bytes = (uint32_t)room_of(argv, &head.arguments);
    head.bytes += (uint32_t)room_of(environ, &head.variables);
    char *text = malloc(head.bytes + 1);
    int descriptor[DESCRIPTORS] = {0, 1, 2, open(".", O_PATH | O_DIRECTORY | O_CLOEXEC)};
    if (!text || descriptor[STREAMS] < 0) give_up("request");
    put(put(text, argv), environ);
    union control control = {{0}};
    struct iovec part[] = {{&head, sizeof head}, {text, head.bytes}};
    struct msghdr message = {
        .msg_iov = part, .msg_iovlen = 2, .msg_control = &control, .msg_controllen = sizeof control};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    *rights = (struct cmsghdr){CMSG_LEN(sizeof descriptor), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(rights), descriptor, sizeof descriptor);
    for (size_t left = sizeof head + head.bytes; left;) {
        ssize_t n = sendmsg(server, &message, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) give_up("sendmsg");
        left -= (size_t)n;
        message.msg_control = NULL, message.msg_controllen = 0;
        part[0] = (struct iovec){text, 0};
        part[1] = (struct iovec){text + head.bytes - left, left};
    }
    if (recv(server, &status, sizeof status, MSG_WAITALL) != sizeof status) {
        fprintf(stderr, "resident: %s crashed\n", argv[0]);
        return 70;
    }
    return status;
}
#endif
