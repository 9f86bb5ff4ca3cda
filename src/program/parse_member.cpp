#include "program/parse_member.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.hpp"
#include "graphs/schedule.hpp"
#include "program/spec_tables.hpp"

namespace dbench::program {
namespace {

// True if every value of the key is a string (or null, for some keys).
bool holds_text(const base::Parameter& p) {
    using Kind = base::Parameter::Kind;
    if (p.kind == Kind::text || p.kind == Kind::choice) return true;
    if (p.kind != Kind::any || p.shape.empty()) return false;
    const base::Json shape = base::Json::parse(p.shape);
    return shape.contains("type") && shape["type"] == "string";
}

const base::Parameter* find_parameter(const std::vector<base::Parameter>& all,
                                      const std::string& name) {
    for (const base::Parameter& p : all) {
        if (p.name == name) return &p;
    }
    return nullptr;
}

}  // namespace

base::Json parse_value(const std::string& text, const base::Parameter* key,
                       const std::string& where) {
    if (!base::Json::accept(text, true)) return text;
    base::Json value = base::parse_json(text, where);
    if (!key || !holds_text(*key) || value.is_string()) return value;
    const bool may_be_null = key->nullable || key->default_json == "null";
    return value.is_null() && may_be_null ? value : base::Json(text);
}

base::Json parse_member_key(const std::string& plural, const std::string& type,
                            const std::string& key, const std::string& text) {
    const base::Parameter* declared = nullptr;
    for (const base::Entry* entry : family(plural).entries) {
        if (entry->name == type) declared = find_parameter(entry->parameters, key);
    }
    return parse_value(text, declared, key);
}

base::Json parse_member(const std::string& words, const std::string& plural) {
    std::istringstream parts(words);
    std::string part;
    std::getline(parts, part, ':');
    const std::string type = part;
    base::Json spec{{"type", type}};
    while (std::getline(parts, part, ':')) {
        const size_t equals = part.find('=');
        if (equals == std::string::npos) {
            throw base::UserError("'" + part + "' in '" + words +
                                  "' is not KEY=VALUE (write TYPE:KEY=VALUE, such as "
                                  "ring_lattice:k=8)");
        }
        const std::string key = part.substr(0, equals);
        spec[key] = parse_member_key(plural, type, key, part.substr(equals + 1));
    }
    return spec;
}

void add_gpus_per_node(Json& graph, int gpus_per_node) {
    const auto* entry =
        base::find_entry(graphs::graph_table(), graph.at("type").get<std::string>());
    if (!entry || gpus_per_node == 0 || graph.contains("gpus_per_node")) return;
    for (const auto& parameter : entry->parameters) {
        if (parameter.name == "gpus_per_node") graph["gpus_per_node"] = gpus_per_node;
    }
}

}  // namespace dbench::program
