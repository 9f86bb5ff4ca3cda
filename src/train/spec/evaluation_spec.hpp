#pragma once
// The spec's /evaluate.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/section.hpp"

namespace dbench::train {

struct EvaluateSpec {
    std::optional<base::Duration> every;  ///< nothing: only at the ends of the run
    int64_t replicas;                     ///< how many local models; "all" is the largest number
    bool recalibrate;  ///< BatchNorm of the mean model: re-estimated, else pooled
    int64_t batch_size;
    bool carried;  ///< a text is read on with the model's state; else windows begin from zero
    std::optional<std::vector<std::string>> metrics;  ///< nothing: those of the data

    static const base::Section<EvaluateSpec>& section();
};

}  // namespace dbench::train
