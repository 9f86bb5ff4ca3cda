#pragma once  // Private to train/spec.
// The keys of the spec's /profile: which measurements of the parameters are recorded, and how
// often.

#include <cstdint>
#include <optional>

#include "base/section.hpp"

namespace dbench::train {

struct VarianceSpec {
    bool exact;  ///< The exact variance is recorded; else none.
    base::Stages every;

    static const base::Section<VarianceSpec>& section();
};

/// The iterations [begin, end) of which a trace is written.
struct TraceSpec {
    int64_t begin, end;
};

struct ProfileSpec {
    base::Stages every;
    bool norms;
    VarianceSpec variance;
    bool after;
    int64_t graphs;
    std::optional<TraceSpec> trace;

    static const base::Section<ProfileSpec>& section();
};

}  // namespace dbench::train
