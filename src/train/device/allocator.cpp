#include "train/device/allocator.hpp"

#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace dbench::train {

void keep_freed_memory() {
#ifdef __GLIBC__
    mallopt(M_MMAP_MAX, 0);         // large blocks from the heap too: their threshold has a ceiling
    mallopt(M_TRIM_THRESHOLD, -1);  // and the heap never shrinks
#endif
}

}  // namespace dbench::train
