#pragma once
// The spec's /checkpoint.

#include <cstdint>
#include <optional>

#include "base/section.hpp"
#include "train/checkpoints/checkpoint.hpp"

namespace dbench::train {

struct CheckpointSpec {
    std::optional<base::Duration> every;  ///< nothing: only when a signal ends the run
    int64_t keep;                         ///< generations
    OtherReplicas replicas;

    static const base::Section<CheckpointSpec>& section();
};

}  // namespace dbench::train
