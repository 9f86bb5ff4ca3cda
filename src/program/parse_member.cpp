#include "program/parse_member.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.hpp"

namespace dbench::program {

base::Json parse_value(const std::string& text) {
    base::Json value = base::Json::parse(text, nullptr, false);
    return value.is_discarded() ? base::Json(text) : value;
}

base::Json parse_member(const std::string& words) {
    std::istringstream parts(words);
    std::string part;
    std::getline(parts, part, ':');
    base::Json spec{{"type", part}};
    while (std::getline(parts, part, ':')) {
        const size_t equals = part.find('=');
        if (equals == std::string::npos) {
            throw base::UserError("'" + part + "' in '" + words +
                                  "' is not KEY=VALUE (write TYPE:KEY=VALUE, such as "
                                  "ring_lattice:k=8)");
        }
        spec[part.substr(0, equals)] = parse_value(part.substr(equals + 1));
    }
    return spec;
}

}  // namespace dbench::program
