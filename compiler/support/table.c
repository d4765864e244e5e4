/* Prints tables for a screen and as CSV, and reports errors of standard output. */
#include "support.h"

#include <errno.h>
#include <string.h>

/* A UTF-8 character takes one column. A byte that is not UTF-8 also takes one column. */
int table_width(const char *text)
{
    int width = 0;
    for (size_t left = strlen(text), n; left; text += n, left -= n, width++)
        if ((n = utf8_character(text, left)) == 0) n = 1;
    return width;
}

void table_cell(struct text *out, const char *text, int width, bool left, bool last)
{
    const int pad = width - table_width(text);
    if (!left) text_add(out, "%*s", pad, "");
    text_plain(out, text, strlen(text), PLAIN_LINE, "?");
    if (left && !last) text_add(out, "%*s", pad, "");
}

static int refused; /* errno of the first failed write to standard output, or 0 */

static void note_failure(bool failed)
{
    if (failed && !refused) refused = errno;
}

void output_flush(void)
{
    note_failure(fflush(stdout) != 0);
}

enum status table_put(const struct options *o, const struct text *text)
{
    note_failure(text->length && fwrite(text->data, 1, text->length, stdout) < text->length);
    return output_finish(o);
}

enum status output_finish(const struct options *o)
{
    output_flush();
    if (!refused && !ferror(stdout)) return STATUS_DONE;
    return complain_as(o, STATUS_MACHINE, "cannot write to standard output%s%s", refused ? ": " : "",
                       refused ? strerror(refused) : "");
}

const char *table_seconds(double seconds, char *text, size_t size)
{
    static const struct {
        double unit;
        const char *name;
    } units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}};
    int k = seconds >= 0.9995 ? 0 : seconds >= 0.9995e-3 ? 1 : 2;
    double value = seconds / units[k].unit;
    snprintf(text, size, "%.*f %s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, units[k].name);
    return text;
}

const char *table_bytes(double bytes, char *text, size_t size)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int k = 0;
    for (; k < 4 && bytes >= 999.5; k++) bytes /= 1024;
    snprintf(text, size, "%.*f %s", k == 0 || bytes >= 99.95 ? 0 : bytes < 9.995 ? 2 : 1, bytes, names[k]);
    return text;
}
