/* Prints the functions for products. Products with the same constant arguments share one function, so each shape is
   compiled once. */
#include "printer.h"

#include <string.h>

/* Returns whether the argument is a number or NULL. */
static bool is_constant(const char *value)
{
    const char *number = *value == '-' ? value + 1 : value;
    return strcmp(value, "NULL") == 0 ||
           (*number >= '0' && *number <= '9' && number[strspn(number, "0123456789.e-+f")] == 0 && !strchr(number, ' '));
}

/* Returns the name of the product function for these arguments. Adds the function if there is none yet. */
static const char *function_of(struct emitter *x, const char *name, const struct product_argument *argument,
                               int arguments)
{
    struct arena *arena = x->m->arena;
    struct text line = {0}, list = {0};
    text_add(&line, "%s_%s(", name, x->suffix);
    for (int k = 0; k < arguments; k++) {
        if (!argument[k].value) continue;
        bool constant = is_constant(argument[k].value);
        if (!constant) text_add(&list, "%s%s%s", list.length ? ", " : "", argument[k].type, argument[k].name);
        text_add(&line, "%s", line.data[line.length - 1] == '(' ? "" : ", ");
        if (constant)
            text_add(&line, "/*%s=*/%s", argument[k].name, argument[k].value);
        else
            text_add(&line, "%s", argument[k].name);
    }
    int n = 0;
    struct product_function **at = x->products;
    for (; *at && strcmp((*at)->call, line.data) != 0; at = &(*at)->next) n++;
    if (!*at) {
        *at = arena_alloc(arena, sizeof **at);
        **at = (struct product_function){
            .list = arena_copy(arena, list.data), .call = arena_copy(arena, line.data), .waits = true};
    }
    (*at)->waits &= x->waits;
    text_free(&line);
    text_free(&list);
    return emit_format(x, "dot%d_%s", n, x->suffix);
}

void emit_products(const struct emitter *x, struct text *out)
{
    int n = 0;
    if (*x->products)
        text_add(
            out,
            "/* The functions for the products below. Each calls dot_%s or a similar function with constants. */\n",
            x->suffix);
    for (const struct product_function *p = *x->products; p; p = p->next) {
        text_add(out, "TARGET %s void dot%d_%s(%s)\n{\n", p->waits ? "LATER" : "APART", n++, x->suffix, p->list);
        text_add(out, "    %s);\n}\n", p->call);
    }
    if (n) text_add(out, "\n");
}

void emit_product_call(struct emitter *x, const char *product, const struct product_argument *argument, int arguments)
{
    struct text call = {0};
    text_add(&call, "%s(", function_of(x, product, argument, arguments));
    for (int k = 0, given = 0; k < arguments; k++)
        if (argument[k].value && !is_constant(argument[k].value))
            text_add(&call, "%s%s", given++ ? ", " : "", argument[k].value);
    emit_line(x, "%s);", call.data);
    text_free(&call);
}
