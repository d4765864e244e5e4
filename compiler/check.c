#include "compiler.h"
int command_check(const struct options *o) { (void)o; return 0; }
