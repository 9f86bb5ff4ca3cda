#include "base/section.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace dbench::base {

void read_value(const Json& value, int64_t& out) { out = value.get<int64_t>(); }
void read_value(const Json& value, double& out) { out = value.get<double>(); }
void read_value(const Json& value, bool& out) { out = value.get<bool>(); }
void read_value(const Json& value, std::string& out) { out = value.get<std::string>(); }
void read_value(const Json& value, Duration& out) { out = to_duration(value); }
void read_value(const Json& value, Stages& out) { out = to_stages(value); }
void read_value(const Json& value, std::vector<double>& out) {
    out = value.get<std::vector<double>>();
}
void read_value(const Json& value, Json& out) { out = value; }
bool is_null(const Json& value) { return value.is_null(); }

size_t index_of(const Json& word, const Parameter& choice) {
    const auto& words = choice.choices;
    const auto found = std::find(words.begin(), words.end(), word.get<std::string>());
    DBENCH_EXPECT(found != words.end());
    return static_cast<size_t>(found - words.begin());
}

size_t index_of(const std::vector<Parameter>& parameters, const std::string& name) {
    const auto found = std::find_if(parameters.begin(), parameters.end(),
                                    [&](const Parameter& p) { return p.name == name; });
    DBENCH_EXPECT(found != parameters.end());
    return static_cast<size_t>(found - parameters.begin());
}

const Json& member_of(const Json& object, const std::string& name) { return object.at(name); }

void for_each(const Json& list, const std::function<void(const Json&)>& entry) {
    for (const Json& each : list) entry(each);
}

std::string default_text(const std::string& word) { return Json(word).dump(); }

}  // namespace dbench::base
