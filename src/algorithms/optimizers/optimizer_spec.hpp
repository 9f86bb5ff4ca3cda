#pragma once
// The keys of /optimizer that every optimizer takes beside its own.

#include <optional>

#include "base/section.hpp"

namespace dbench::algorithms {

struct OptimizerSpec {
    double lr;            ///< before scaling
    double weight_decay;  ///< L2 penalty's coefficient
    bool weights_only;    ///< neither biases nor norms decay
    std::optional<double> clip_norm;

    static const base::Section<OptimizerSpec>& section();
};

/// How one of these keys is declared in an optimizer's row, with the optimizer's own default
/// (JSON text) where `standard` is not empty.
base::Parameter optimizer_key(const std::string& name, const std::string& standard = "");

}  // namespace dbench::algorithms
