#include "compiler.h"
int command_explain(const struct options *o) { (void)o; return 0; }
