#include "train/evaluation_spec.hpp"

#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace dbench::train {
namespace {

using base::Json;
using base::Parameter;

Json resolve_replicas(const Json& given, const std::string& pointer) {
    if (given == "all") return given;
    if (!given.is_number_integer() || given < 1) {
        throw base::UserError(pointer + ": must be a whole number from 1, or \"all\" (found " +
                              base::short_text(given) + ")");
    }
    return base::resolve_value(given, pointer, Parameter::integer("", "", ""));
}

void set_replicas(EvaluateSpec& spec, const Json& value) {
    spec.replicas = value.is_string() ? std::numeric_limits<int64_t>::max() : value.get<int64_t>();
}

}  // namespace

const base::Section<EvaluateSpec>& EvaluateSpec::section() {
    static const base::Section<EvaluateSpec> keys{
        {Parameter::duration("every", R"({"epochs": 1})",
                             "how often; null: only at the start and the end")
             .greater_than(0)
             .or_null(),
         &EvaluateSpec::every},
        {Parameter::any("replicas", "8", "how many local models, or \"all\"", resolve_replicas)
             .shaped(R"({"anyOf": [{"type": "integer", "minimum": 1}, {"const": "all"}]})"),
         set_replicas},
        {base::Words<bool>("batchnorm", {{"pooled", false}, {"recalibrate", true}}, false,
                           "BatchNorm statistics of the mean model"),
         &EvaluateSpec::recalibrate},
        {Parameter::integer("batch_size", "256", "samples that are evaluated at once").at_least(1),
         &EvaluateSpec::batch_size},
    };
    return keys;
}

}  // namespace dbench::train
