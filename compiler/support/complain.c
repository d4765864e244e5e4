/* Prints errors about the command line and the machine. ir/diagnostics.c prints errors in specs. */
#include "support.h"

bool complain(const struct options *o, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    console_error_list(&o->console, format, arguments);
    va_end(arguments);
    return false;
}
