#include "train/spec/profile_spec.hpp"

namespace dbench::train {

using base::Parameter;

const base::Section<VarianceSpec>& VarianceSpec::section() {
    static const base::Section<VarianceSpec> keys{
        {base::Words<bool>("kind", {{"exact", true}, {"off", false}}, true,
                           "variance of each tensor over replicas"),
         &VarianceSpec::exact},
        {Parameter::stages("every", R"({"iterations": 1})", "how often it is recorded")
             .greater_than(0),
         &VarianceSpec::every},
    };
    return keys;
}

const base::Section<ProfileSpec>& ProfileSpec::section() {
    static const base::Section<ProfileSpec> keys{
        {Parameter::stages("every", R"({"iterations": 1})",
                           "how often a row is added to /parameters")
             .greater_than(0),
         &ProfileSpec::every},
        {Parameter::flag("norms", "true",
                         "record the L2 norm of every tensor just before averaging"),
         &ProfileSpec::norms},
        {"variance", &ProfileSpec::variance, "the variance over replicas", "kind"},
        {Parameter::flag("after", "false", "also record the variance just after averaging"),
         &ProfileSpec::after},
        {Parameter::integer("graphs", "256",
                            "most matrices of a random sequence of graphs that are kept")
             .at_least(1),
         &ProfileSpec::graphs},
    };
    return keys;
}

}  // namespace dbench::train
