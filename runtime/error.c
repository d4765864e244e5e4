/* What the error numbers mean, as sentences. */
#include "attnrt.h"

const char *attn_strerror(int error)
{
    if (error == 0) return "success";
    switch ((enum attn_error)error) {
    case ATTN_EPROBLEM:
        return "a size or stride of the problem is negative or too small, or heads is no multiple of kv_heads";
    case ATTN_EPOINTER: return "an array, the workspace or the storage of parameters is NULL";
    case ATTN_EPARAM: return "a parameter array that is needed is NULL";
    case ATTN_EWORKSPACE: return "the workspace is smaller than the kernel needs";
    case ATTN_ESIZE: return "the sizes are too large: a product of them overflows";
    case ATTN_EALIGN: return "the workspace or the storage of parameters is not aligned to 64 bytes";
    case ATTN_EMEMORY: return "out of memory";
    case ATTN_EIO: return "a file could not be read or written";
    case ATTN_EFORMAT: return "a file is not what it should be";
    case ATTN_EORDER: return "ids fall from a key to the next: the linear form takes them in ascending order only";
    case ATTN_ESTATE: return "the state is of another kernel or for other sizes, cut short or damaged";
    case ATTN_ECAPACITY: return "a sequence would grow beyond the capacity of its state";
    case ATTN_ELENGTH:
        return "a sequence is not as long as that, its state cannot go back so far, or another one cannot follow it "
               "there";
    case ATTN_EFOLD: return "states of this kernel cannot be joined";
    case ATTN_EMACHINE: return "this machine has none of the instruction sets the kernel was made for";
    }
    return "unknown error";
}
