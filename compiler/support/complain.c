/* What attnc says of its command line and of the machine; of specs diagnostics speak. */
#include "support.h"

void complain(const struct options *o, const char *format, ...)
{
    fprintf(stderr, o->color ? "\033[1mattnc:\033[0m \033[1;31merror:\033[0m " : "attnc: error: ");
    va_list arguments;
    va_start(arguments, format);
    print_plain_line(stderr, format, arguments);
    va_end(arguments);
}
