/* Prints messages. Control characters in names of files and in other texts become `?`. */
#include "support.h"

#include <string.h>

void print_plain(FILE *out, const char *text)
{
    struct text plain = {0};
    text_plain(&plain, text, strlen(text), PLAIN_LINES, "?");
    fputs(plain.data ? plain.data : "", out);
    text_free(&plain);
}

void print_plain_line(FILE *out, const char *format, va_list arguments)
{
    struct arena *arena = arena_new();
    struct text plain = {0};
    const char *text = arena_vprintf(arena, format, arguments);
    text_plain(&plain, text, strlen(text), PLAIN_LINE, "?");
    text_add(&plain, "\n");
    fputs(plain.data, out);
    text_free(&plain);
    arena_free(arena);
}

void console_error_list(const struct console *c, const char *format, va_list arguments)
{
    fprintf(stderr, c->color ? "\033[1mattnc:\033[0m \033[1;31merror:\033[0m " : "attnc: error: ");
    print_plain_line(stderr, format, arguments);
}

void console_error(const struct console *c, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    console_error_list(c, format, arguments);
    va_end(arguments);
}

void console_mention(const struct console *c, const char *kind, const char *format, ...)
{
    if (c->quiet) return;
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, *kind ? "attnc: %s: " : "attnc: ", kind);
    print_plain_line(stderr, format, arguments);
    va_end(arguments);
}
