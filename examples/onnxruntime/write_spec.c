/* Writes the spec of a kernel that is compiled into the library. write_spec TYPE SIZE: the number of a type of ONNX,
   and the size of heads. */
#include "provider.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    const int64_t size = strtol(argv[2], NULL, 10);
    const struct traits traits = {
        .type = (int)strtol(argv[1], NULL, 10), .head_dim = size, .value_dim = size, .mode = NO_WEIGHTS};
    char *const spec = spec_of(&traits);
    const int wrote = spec && fputs(spec, stdout) >= 0 && fflush(stdout) == 0;
    free(spec);
    return wrote ? 0 : 1;
}
