/* Prints the parts of the runtime for --standalone: types, and functions that the kernel calls. */
#include "definitions.h"
#include "printer.h"
#include "../support/support.h"

#include <string.h>

/* The texts of the runtime files whose functions kernels call. */
extern const char attnrt_problem[], attnrt_random[], attnrt_ranges[], attnrt_draw[], attnrt_processor[], attnrt_merge[],
    attnrt_mask[], attnrt_stored[];

void standalone_types(struct text *out)
{
    const char *from = strstr(attnrt_header, "#ifndef ATTNRT_TYPES"),
               *to = from ? strstr(from, "#endif /* ATTNRT_TYPES */\n") : NULL;
    if (to) text_append(out, from, (size_t)(strchr(to, '\n') + 1 - from));
}

void standalone_functions(struct arena *arena, const char *kernel, struct text *out)
{
    static const char opening[] = "extern \"C\" {\n#endif\n";
    struct pieces *all = pieces_new(arena);
    const char *const file[] = {strstr(attnrt_header, opening) + strlen(opening),
                                attnrt_problem,
                                attnrt_random,
                                attnrt_ranges,
                                attnrt_draw,
                                attnrt_processor,
                                attnrt_merge,
                                attnrt_mask,
                                attnrt_stored};
    for (size_t f = 0; f < sizeof file / sizeof *file; f++) pieces_add(all, file[f], true);
    pieces_want(all, kernel);
    text_add(out, "/* ==== functions of attnc's runtime library that the kernel calls ==== */\n");
    pieces_print(all, out);
    text_add(out, "\n");
}
