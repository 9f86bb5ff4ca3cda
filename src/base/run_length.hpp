#pragma once
// The length of a run, which converts the units of durations. It is computed once, when the batch
// size is known.

#include <cstdint>

namespace dbench::base {

/// The defaults hold if nothing is trained (for example, `dbench graph`): an epoch is one
/// iteration, and the length is unknown.
struct RunLength {
    int64_t iterations = 0;             ///< T, the iterations of the run; 0: unknown.
    int64_t per_epoch = 1;              ///< L, the iterations per epoch.
    int64_t samples_per_iteration = 1;  ///< The global batch size, over all replicas.
};

}  // namespace dbench::base
