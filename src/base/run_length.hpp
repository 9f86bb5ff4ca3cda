#pragma once
// How long a run is, in the units of its spec: made once, where batches are known, and asked by all
// that happens every so often.

#include <cstdint>

namespace dbench::base {

/// The defaults, where nothing is trained (a graph looked at by itself): an iteration is an epoch,
/// and the run's length is open.
struct RunLength {
    int64_t iterations = 0;             ///< T; 0: not known
    int64_t per_epoch = 1;              ///< L: iterations
    int64_t samples_per_iteration = 1;  ///< the global batch: of all replicas
};

}  // namespace dbench::base
