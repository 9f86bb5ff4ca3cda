#include "algorithms/optimizers/optimizer_spec.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace dbench::algorithms {

using base::Parameter;

const base::Section<OptimizerSpec>& OptimizerSpec::section() {
    static const base::Section<OptimizerSpec> keys{
        {Parameter::number("lr", "0.1", "learning rate, before scaling").at_least(0),
         &OptimizerSpec::lr},
        {Parameter::number("weight_decay", "0", "coefficient of the L2 penalty").at_least(0),
         &OptimizerSpec::weight_decay},
        {base::Words<bool>("decay", {{"all", false}, {"weights", true}}, false,
                           "tensors with weight decay: all, or weights only (no biases, no norms)"),
         &OptimizerSpec::weights_only},
        {Parameter::number("clip_norm", "null",
                           "c: g *= min(1, c / ||g||), with the norm of each replica's whole "
                           "gradient; null: no clipping")
             .greater_than(0)
             .or_null(),
         &OptimizerSpec::clip_norm},
    };
    return keys;
}

Parameter optimizer_key(const std::string& name, const std::string& standard) {
    const auto& all = OptimizerSpec::section().parameters();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Parameter& p) { return p.name == name; });
    DBENCH_EXPECT(found != all.end());
    Parameter key = *found;
    if (!standard.empty()) key.default_json = standard;
    return key;
}

}  // namespace dbench::algorithms
