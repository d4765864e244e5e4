/* Fills in the pieces of emit/embedded/task.c. */
#include "task.h"

#include <ctype.h>
#include <string.h>

extern const char kernel_task[]; /* the text of emit/embedded/task.c */

static bool word_character(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static const struct piece_word *find(const struct piece_word *w, const char *word, size_t length)
{
    while (w->word && (strlen(w->word) != length || memcmp(w->word, word, length) != 0)) w++;
    return w->word ? w : NULL;
}

/* Adds a line in which words are replaced. */
static void fill_line(const struct piece_word *words, const char *line, const char *end, struct text *out)
{
    for (size_t n; line < end; line += n) {
        for (n = 0; line + n < end && word_character(line[n]);) n++;
        const struct piece_word *const w = n ? find(words, line, n) : NULL;
        n += !n;
        if (!w)
            text_append(out, line, n);
        else if (w->text)
            text_add(out, "%s", w->text);
        else
            text_add(out, "%lld", (long long)w->number);
    }
    text_append(out, "\n", 1);
}

void task_piece(const char *piece, const struct piece_word *words, struct text *out)
{
    char head[48];
    bool taken = true, inside = false; /* inside: within an #if of the piece */
    snprintf(head, sizeof head, "#if PIECE_%s\n", piece);
    for (const char *line = strstr(kernel_task, head) + strlen(head), *end; inside || *line != '#' || line[1] != 'e';
         line = end + 1) {
        end = strchr(line, '\n');
        if (strncmp(line, "#if ", 4) == 0) {
            taken = find(words, line + 4, (size_t)(end - line - 4))->number != 0;
            inside = true;
        } else if (strncmp(line, "#else", 5) == 0)
            taken = !taken;
        else if (strncmp(line, "#endif", 6) == 0) {
            taken = true;
            inside = false;
        } else if (taken)
            fill_line(words, line, end, out);
    }
}
