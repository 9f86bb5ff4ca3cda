#pragma once  // Private to train/spec.
// The keys of the spec's /checkpoint.

#include <cstdint>
#include <optional>

#include "base/section.hpp"
#include "train/checkpoints/checkpoint.hpp"

namespace dbench::train {

struct CheckpointSpec {
    std::optional<base::Duration> every;  ///< Empty: only if a signal ends the run.
    int64_t keep;                         ///< Number of generations that are kept.
    ReplicaCountChange replicas;

    static const base::Section<CheckpointSpec>& section();
};

}  // namespace dbench::train
