/* What attnc says of its command line and of the machine; of specs diagnostics speak. */
#include "support.h"

void complain(const struct options *o, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    console_error_list(&o->console, format, arguments);
    va_end(arguments);
}
