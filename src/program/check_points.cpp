#include "program/check_points.hpp"

#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace dbench::program {

using base::Json;
using base::UserError;

namespace {

constexpr int64_t kMostRanks = 1 << 24;  // As many as --ranks accepts.

RunArguments arguments_of(const Json& point, const RunArguments& common, const std::string& where) {
    if (!point.is_object() || !point.contains("set") || !point["set"].is_object()) {
        throw UserError(where +
                        " is not an object with \"set\": write {\"set\": {\"/replicas\": 8}}");
    }
    RunArguments arguments = common;
    for (const auto& [key, value] : point.items()) {
        if (key == "set") {
            for (const auto& [pointer, setting] : value.items()) {
                if (pointer.find('=') != pointer.npos) {
                    throw UserError(where + ": \"" + pointer.substr(0, 100) +
                                    "\" is not a key of a spec (it has '='): remove it");
                }
                arguments.settings.push_back(pointer + "=" + setting.dump());
            }
        } else if (key == "ranks") {
            const bool whole = value.is_number_integer();
            if (!whole || value < 1 || value > kMostRanks) {
                throw UserError(where + ": \"ranks\" is " + base::short_text(value) +
                                ", not a whole number from 1 to " + std::to_string(kMostRanks));
            }
            arguments.ranks = value.get<int>();
        } else {
            throw UserError(where + ": unknown key \"" + key + "\"" +
                            base::suggest_name(key, {"set", "ranks"}));
        }
    }
    return arguments;
}

}  // namespace

std::vector<RunArguments> read_points(const std::string& path, const RunArguments& common) {
    const bool standard_input = path == "-";
    const std::string name = standard_input ? "--points: standard input" : "--points: " + path;
    const std::string text = standard_input
                                 ? std::string(std::istreambuf_iterator<char>(std::cin), {})
                                 : base::read_text(path, base::kMaxJsonBytes);
    const Json points = base::parse_json(text, name);
    if (!points.is_array() || points.empty()) {
        throw UserError(name + " is not a list of points: write [{\"set\": {\"/seed\": 1}}, ...]");
    }
    std::vector<RunArguments> all;
    for (size_t k = 0; k < points.size(); ++k) {
        all.push_back(arguments_of(points[k], common, name + ": point " + std::to_string(k)));
    }
    return all;
}

}  // namespace dbench::program
