/* What the C files of the library include. ATTN_API precedes their functions for other files. attnc --standalone pastes the
   files into a kernel, where these functions are static. */
#ifndef ATTNRT_API_H
#define ATTNRT_API_H

#include "attnrt.h"

#ifndef ATTN_API
#define ATTN_API
#endif

#endif
