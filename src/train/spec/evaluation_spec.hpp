#pragma once  // Private to train/spec.
// The keys of the spec's /evaluate.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/section.hpp"

namespace dbench::train {

struct EvaluateSpec {
    std::optional<base::Duration> every;  ///< Empty: only at the start and the end.
    int64_t replicas;                     ///< Number of local models; for "all" the largest int64.
    bool recalibrate;  ///< BatchNorm statistics of the mean model: re-estimated, else pooled.
    int64_t batch_size;
    /// The model's state continues through a text; else every sample begins with a state of zero.
    bool carried;
    std::optional<std::vector<std::string>> metrics;  ///< Empty: those that suit the data.

    static const base::Section<EvaluateSpec>& section();
};

}  // namespace dbench::train
