#include "train/spec/profile_spec.hpp"

namespace dbench::train {

using base::Parameter;

const base::Section<VarianceSpec>& VarianceSpec::section() {
    static const base::Section<VarianceSpec> keys{
        {base::Words<bool>("kind", {{"exact", true}, {"off", false}}, true, "variance of tensors"),
         &VarianceSpec::exact},
        {Parameter::stages("every", R"({"iterations": 1})", "how often").greater_than(0),
         &VarianceSpec::every},
    };
    return keys;
}

const base::Section<ProfileSpec>& ProfileSpec::section() {
    static const base::Section<ProfileSpec> keys{
        {Parameter::stages("every", R"({"iterations": 1})",
                           "how often a row of /parameters is recorded")
             .greater_than(0),
         &ProfileSpec::every},
        {Parameter::flag("norms", "true", "L2 norm of every tensor before averaging"),
         &ProfileSpec::norms},
        {"variance", &ProfileSpec::variance, "variance over replicas", "kind"},
        {Parameter::flag("after", "false", "also record the variance after averaging"),
         &ProfileSpec::after},
        {Parameter::integer("graphs", "256",
                            "how many matrices of a random sequence are kept at most")
             .at_least(1),
         &ProfileSpec::graphs},
    };
    return keys;
}

}  // namespace dbench::train
