#include "tune_search.h"
const struct strategy search_pipe;
