#include "train/device/allocator.hpp"

#include <malloc.h>

namespace dbench::train {

void keep_freed_memory() {
    mallopt(M_MMAP_MAX, 0);  // the heap serves large blocks too; M_MMAP_THRESHOLD has a limit
    mallopt(M_TRIM_THRESHOLD, -1);  // the heap never shrinks
}

}  // namespace dbench::train
