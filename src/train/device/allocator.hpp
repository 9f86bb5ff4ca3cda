#pragma once
// A setting of the process's memory allocator. The program calls it once at its start.

namespace dbench::train {

/// Makes malloc keep freed memory instead of returning it to the system. Every step allocates and
/// frees its activations, and the page faults of fresh memory cost more than the arithmetic on it.
/// Call it once, before the first large allocation. It has no effect if the C library is not glibc.
void keep_freed_memory();

}  // namespace dbench::train
