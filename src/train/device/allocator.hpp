#pragma once
// How the process' allocator treats memory that is freed.

namespace dbench::train {

/// Tells malloc to keep freed memory instead of returning it to the system: activations are
/// allocated and freed in every step, and fresh pages cost more than the arithmetic on them. To be
/// called once, before the first large allocation; without effect where the C library is not glibc.
void keep_freed_memory();

}  // namespace dbench::train
