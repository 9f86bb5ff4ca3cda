#pragma once
// The spec's /profile: what is recorded of the parameters, and how often.

#include <cstdint>

#include "base/section.hpp"

namespace dbench::train {

struct VarianceSpec {
    bool exact;  ///< else off
    base::Stages every;

    static const base::Section<VarianceSpec>& section();
};

struct ProfileSpec {
    base::Stages every;
    bool norms;
    VarianceSpec variance;
    bool after;
    int64_t graphs;

    static const base::Section<ProfileSpec>& section();
};

}  // namespace dbench::train
