#pragma once  // Private to algorithms/types.
// The keys of local_sgd, which slowmo reads if local_sgd is its base algorithm.

#include "algorithms/entries.hpp"

namespace dbench::algorithms {

struct LocalSgdSpec : PeriodSpec {
    base::Duration start;  ///< Every iteration before this averages.

    static const base::Section<LocalSgdSpec>& section();
};

}  // namespace dbench::algorithms
