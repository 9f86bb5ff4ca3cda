#include "algorithms/optimizers/optimizer_spec.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace dbench::algorithms {

using base::Parameter;

const base::Section<OptimizerSpec>& OptimizerSpec::section() {
    static const base::Section<OptimizerSpec> keys{
        {Parameter::number("lr", "0.1", "learning rate, before scaling").at_least(0),
         &OptimizerSpec::lr},
        {Parameter::number("weight_decay", "0", "L2 penalty's coefficient").at_least(0),
         &OptimizerSpec::weight_decay},
        {base::Words<bool>("decay", {{"all", false}, {"weights", true}}, false,
                           "tensors that decay: all, or neither biases nor norms"),
         &OptimizerSpec::weights_only},
        {Parameter::number("clip_norm", "null",
                           "c: g *= min(1, c / ||g||), each replica's global norm; null: never")
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
    if (!standard.empty()) key.standard = standard;
    return key;
}

}  // namespace dbench::algorithms
