/* Prints the reference of the spec language: what specs/README.md has to be. */
#include "compiler/compiler.h"

int main(void)
{
    struct text out = {0};
    spec_reference(&out);
    size_t written = fwrite(out.data, 1, out.length, stdout);
    int status = written != out.length || fflush(stdout) ? STATUS_MACHINE : STATUS_DONE;
    text_free(&out);
    return status;
}
