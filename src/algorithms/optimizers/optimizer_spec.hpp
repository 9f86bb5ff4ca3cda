#pragma once
// The keys of /optimizer that all optimizers accept.

#include <optional>

#include "base/section.hpp"

namespace dbench::algorithms {

/// Values of these keys.
struct OptimizerSpec {
    double lr;                        ///< Before scaling.
    double weight_decay;              ///< Coefficient of the L2 penalty.
    bool weights_only;                ///< No decay of biases and norms.
    std::optional<double> clip_norm;  ///< Maximum gradient norm; empty: no clipping.

    static const base::Section<OptimizerSpec>& section();
};

/// Declares one of these keys for an optimizer's table entry. `standard` (JSON text), if not empty,
/// is the optimizer's own default.
base::Parameter optimizer_key(const std::string& name, const std::string& standard = "");

}  // namespace dbench::algorithms
