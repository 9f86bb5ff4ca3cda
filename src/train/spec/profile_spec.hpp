#pragma once  // Private to train/spec.
// The keys of the spec's /profile: which measurements of the parameters are recorded, and how
// often.

#include <cstdint>

#include "base/section.hpp"

namespace dbench::train {

struct VarianceSpec {
    bool exact;  ///< The exact variance is recorded; else none.
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
