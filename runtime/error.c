/* Error messages for the error numbers. */
#include "attnrt.h"

const char *attn_strerror(int error)
{
    if (error == 0) return "success";
    switch ((enum attn_error)error) {
    case ATTN_EPROBLEM:
        return "a size or stride of the problem is negative or too small, or heads is not a multiple of kv_heads, or, "
               "with 'delta', not equal to it";
    case ATTN_EPOINTER:
        return "an array, the workspace or the storage of parameters is NULL, or an output is also another array";
    case ATTN_EPARAM: return "a parameter array that the kernel needs is NULL";
    case ATTN_EWORKSPACE: return "the workspace is smaller than the kernel needs";
    case ATTN_ESIZE: return "the sizes are too large: a product of them overflows";
    case ATTN_EALIGN: return "the workspace or the storage of parameters is not aligned to 64 bytes";
    case ATTN_EMEMORY: return "out of memory";
    case ATTN_EIO: return "a file could not be read or written";
    case ATTN_EFORMAT: return "a file has the wrong format";
    case ATTN_EORDER: return "ids decrease from one key to the next: the linear form needs ids in ascending order";
    case ATTN_ESTATE: return "the state belongs to another kernel or other sizes, or is truncated or damaged";
    case ATTN_ECAPACITY:
        return "a sequence would grow beyond the capacity of its state, or beyond what the spec allows";
    case ATTN_ELENGTH:
        return "there are more positions than the spec allows; or a sequence is shorter than the given length, its "
               "state cannot go back that far, or another state cannot be appended there";
    case ATTN_EFOLD: return "states, or results, of this kernel cannot be joined";
    case ATTN_ETILES: return "a table of tiles is for a mask of another shape or for other tiles, or is no table";
    case ATTN_ERANKS: return "a message between ranks was not delivered";
    case ATTN_EPAGES:
        return "a page's number is out of range, a page is twice in a table or gets tokens of two sequences, pages are "
               "too small, or this kernel's states cannot be in pages";
    case ATTN_EVERSION:
        return "the kernel was compiled with the headers of another version of libattnrt; emit and compile it again "
               "with this version";
    case ATTN_EMACHINE: return "this machine has none of the instruction sets that the kernel was compiled for";
    }
    return "unknown error";
}
