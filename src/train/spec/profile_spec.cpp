#include "train/spec/profile_spec.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace dbench::train {

using base::Json;
using base::Parameter;

namespace {

Json resolve_trace(const Json& given, const std::string& pointer) {
    if (given.is_null()) return given;
    const auto fail = [&](const std::string& where, const Json& found) {
        throw base::UserError(
            where + ": must be null or {\"iterations\": [a, b]} with whole numbers " +
            "0 <= a < b (found " + base::short_text(found) + "): iterations a to b - 1 are traced");
    };
    if (!given.is_object()) fail(pointer, given);
    for (const auto& [key, value] : given.items()) {
        if (key != "iterations") throw base::UnknownKey(pointer, key, {"iterations"});
    }
    const Json range = given.value("iterations", Json());
    const std::string where = pointer + "/iterations";
    if (!range.is_array() || range.size() != 2) fail(where, range);
    for (const Json& each : range) {
        const bool exact = each.is_number_integer() || (each.is_number() && each <= 0x1p53);
        if (!base::is_whole(each) || !exact || each < 0) fail(where, range);
    }
    const auto begin = range[0].get<int64_t>(), end = range[1].get<int64_t>();
    if (begin < 0 || end <= begin) fail(where, range);
    return {{"iterations", Json::array({begin, end})}};
}

void set_trace(ProfileSpec& spec, const Json& value) {
    if (value.is_null()) return;
    const Json& range = value.at("iterations");
    spec.trace = TraceSpec{range[0].get<int64_t>(), range[1].get<int64_t>()};
}

constexpr const char* kTraceShape =
    R"({"anyOf": [{"type": "null"}, {"type": "object", "required": ["iterations"], )"
    R"("additionalProperties": false, "properties": {"iterations": {"type": "array", )"
    R"("minItems": 2, "maxItems": 2, "items": {"type": "integer", "minimum": 0}}}}]})";

}  // namespace

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
        {Parameter::any("trace", "null",
                        "iterations of which each rank writes a trace, {\"iterations\": [a, b]}: "
                        "from a to b - 1; null: none",
                        resolve_trace)
             .shaped(kTraceShape),
         set_trace},
    };
    return keys;
}

}  // namespace dbench::train
