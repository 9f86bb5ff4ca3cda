#include "train/spec/evaluation_spec.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "train/evaluation/metrics.hpp"

namespace dbench::train {
namespace {

using base::Json;
using base::Parameter;

Json resolve_replicas(const Json& given, const std::string& pointer) {
    if (given == "all") return given;
    if (!base::is_whole(given) || given < 1) {
        throw base::UserError(pointer + ": must be a whole number from 1, or \"all\" (found " +
                              base::short_text(given) + ")");
    }
    return base::resolve_value(given, pointer, Parameter::integer("", "", ""));
}

void set_replicas(EvaluateSpec& spec, const Json& value) {
    spec.replicas = value.is_string() ? std::numeric_limits<int64_t>::max() : value.get<int64_t>();
}

Json resolve_metrics(const Json& given, const std::string& pointer) {
    if (given == "auto") return given;
    const auto fail = [&](const std::string& reason) {
        throw base::UserError(pointer + ": must be \"auto\" or a list of metrics (" + reason +
                              "): choose among " + metric_names());
    };
    if (!given.is_array()) fail("found " + base::short_text(given));
    for (const Json& name : given) {
        const auto known = [&](const Metric& metric) { return name == metric.name; };
        if (std::none_of(metric_table().begin(), metric_table().end(), known)) {
            fail("no metric is named " + base::short_text(name));
        }
        if (std::count(given.begin(), given.end(), name) > 1) {
            fail(base::short_text(name) + " is listed twice");
        }
    }
    return given;
}

void set_metrics(EvaluateSpec& spec, const Json& value) {
    if (value.is_array()) spec.metrics = value.get<std::vector<std::string>>();
}

/// Returns the JSON Schema of /evaluate/metrics.
std::string metrics_shape() {
    Json names = Json::array();
    for (const Metric& metric : metric_table()) names.push_back(metric.name);
    const std::string list = R"("type": "array", "uniqueItems": true, "items": {"enum": )";
    return R"({"anyOf": [{"const": "auto"}, {)" + list + names.dump() + "}}]}";
}

}  // namespace

const base::Section<EvaluateSpec>& EvaluateSpec::section() {
    static const base::Section<EvaluateSpec> keys{
        {Parameter::duration("every", R"({"epochs": 1})",
                             "how often; null: only at the start and the end")
             .greater_than(0)
             .or_null(),
         &EvaluateSpec::every},
        {Parameter::any("replicas", "8", "how many local models are evaluated, or \"all\"",
                        resolve_replicas)
             .shaped(R"({"anyOf": [{"type": "integer", "minimum": 1}, {"const": "all"}]})"),
         set_replicas},
        {base::Words<bool>("batchnorm", {{"pooled", false}, {"recalibrate", true}}, false,
                           "how the mean model gets its BatchNorm statistics"),
         &EvaluateSpec::recalibrate},
        {Parameter::integer("batch_size", "256", "samples in one forward pass").at_least(1),
         &EvaluateSpec::batch_size},
        {base::Words<bool>(
             "state", {{"zero", false}, {"carried", true}}, false,
             "state of a model that reads texts: zero at the start of each sample, or "
             "carried through the text"),
         &EvaluateSpec::carried},
        {Parameter::any("metrics", R"("auto")",
                        "metrics in addition to loss and accuracy, a list of " + metric_names() +
                            "; auto: perplexity for texts",
                        resolve_metrics)
             .shaped(metrics_shape()),
         set_metrics},
    };
    return keys;
}

}  // namespace dbench::train
