#include "program/spec_schema.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "data/data_spec.hpp"
#include "program/spec.hpp"
#include "program/spec_tables.hpp"

namespace dbench::program {
namespace {

using base::Json;
using base::Parameter;
using Kind = Parameter::Kind;

Json reference(const std::string& name) { return {{"$ref", "#/$defs/" + name}}; }

Json number_of(const Parameter& p, const char* type) {
    Json out{{"type", type}};
    if (std::isfinite(p.minimum))
        out[p.exclusive_minimum ? "exclusiveMinimum" : "minimum"] = p.minimum;
    if (std::isfinite(p.maximum)) out["maximum"] = p.maximum;
    return out;
}

Json properties_of(const std::vector<Parameter>& parameters);

// Returns an object schema that allows only these keys. None is required, because a base file may
// supply any key; `check` reports missing keys.
Json closed(Json properties) {
    return {
        {"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
}

Json duration_of(const Parameter& p) {
    Json units = Json::object();
    for (const auto& unit : p.choices) {
        units[unit] = number_of(p, unit == "epochs" ? "number" : "integer");
    }
    Json out = closed(std::move(units));
    out["minProperties"] = out["maxProperties"] = 1;
    return out;
}

Json stages_of(const Parameter& p) {
    const Json duration = duration_of(p);
    Json stage = closed({{"until", {{"anyOf", {duration, {{"type", "null"}}}}}},
                         {"every", {{"anyOf", {duration, {{"type", "null"}}}}}}});
    stage["required"] = {"every"};
    return {{"anyOf", {duration, {{"type", "array"}, {"items", stage}, {"minItems", 1}}}}};
}

Json object_of(const Parameter& p) {
    Json object = closed(properties_of(p.members));
    if (p.shorthand.empty()) return object;
    for (const Parameter& member : p.members) {
        if (member.name != p.shorthand) continue;
        object = {{"anyOf", {object, properties_of({member}).at(member.name)}}};
    }
    return object;
}

Json list_entry_of(const Parameter& p) {
    Json entry = closed(properties_of(p.members));
    for (const Parameter& member : p.members) {
        if (member.default_json.empty()) entry["required"].push_back(member.name);
    }
    return entry;
}

Json any_of(const Parameter& p) {
    if (!p.family.empty()) return reference(p.family);
    if (p.shape.empty()) return Json::object();
    const Json shape = Json::parse(p.shape);
    return p.members.empty() ? shape : Json{{"anyOf", {shape, closed(properties_of(p.members))}}};
}

Json value_of(const Parameter& p) {
    switch (p.kind) {
        case Kind::integer:
            return number_of(p, "integer");
        case Kind::number:
            return number_of(p, "number");
        case Kind::flag:
            return {{"type", "boolean"}};
        case Kind::text:
            return {{"type", "string"}};
        case Kind::choice:
            return {{"enum", p.choices}};
        case Kind::numbers:
            return {{"type", "array"}, {"items", number_of(p, "number")}};
        case Kind::duration:
            return duration_of(p);
        case Kind::stages:
            return stages_of(p);
        case Kind::object:
            return object_of(p);
        case Kind::list:
            return {{"type", "array"}, {"items", list_entry_of(p)}};
        case Kind::any:
            return any_of(p);
    }
    return Json::object();
}

Json schema_of(const Parameter& p) {
    Json out = value_of(p);
    if (p.nullable) out = {{"anyOf", {out, {{"type", "null"}}}}};
    out["description"] = p.help;
    if (!p.default_json.empty() && p.kind != Kind::object)
        out["default"] = Json::parse(p.default_json);
    return out;
}

Json properties_of(const std::vector<Parameter>& parameters) {
    Json out = Json::object();
    for (const Parameter& p : parameters) out[p.name] = schema_of(p);
    return out;
}

std::vector<Parameter> parameters_of(const Family& f, const base::Entry& entry) {
    std::vector<Parameter> all = entry.parameters;
    if (f.plural == "data") {
        for (const auto& p : data::DataSpec::section().parameters()) all.push_back(p);
    }
    return all;
}

// Returns the schema of a family's members: a name; an object with a type and its keys; or an
// object without a type (a base file may supply it) with keys of any type. It allows other keys,
// because a schema that refers to it may add some.
Json members_of(const Family& f) {
    Json untyped = Json::object(), names = Json::array(), kinds = Json::array();
    for (const base::Entry* entry : f.entries) {
        const Json properties = properties_of(parameters_of(f, *entry));
        for (const auto& item : properties.items()) {
            Json& alike = untyped[item.key()]["anyOf"];
            if (std::find(alike.begin(), alike.end(), item.value()) == alike.end()) {
                alike.push_back(item.value());
            }
        }
        Json kind{{"type", "object"},
                  {"description", entry->help},
                  {"properties", {{"type", {{"const", entry->name}}}}},
                  {"required", {"type"}}};
        kind["properties"].update(properties);
        kinds.push_back(std::move(kind));
        names.push_back(entry->name);
    }
    Json any = {{{"enum", std::move(names)}},
                {{"type", "object"},
                 {"not", {{"required", {"type"}}}},
                 {"properties", std::move(untyped)}}};
    for (Json& kind : kinds) any.push_back(std::move(kind));
    return {{"anyOf", std::move(any)}};
}

Json without_other_keys(Json schema) {
    schema["unevaluatedProperties"] = false;
    return schema;
}

// Returns the schema of /graph: one graph, or a list of graphs that follow each other.
Json graphs_of() {
    Json stage = reference("graph");
    stage["properties"] = properties_of({Parameter::duration("until", "", "where it ends")});
    return {{"anyOf",
             {without_other_keys(reference("graph")),
              {{"type", "array"}, {"minItems", 1}, {"items", without_other_keys(stage)}}}}};
}

}  // namespace

Json spec_schema() {
    Json definitions = Json::object();
    for (const Family& f : families()) {
        const bool staged = f.plural == "graphs";
        if (staged) definitions["graph"] = members_of(f);
        definitions[f.plural] = staged ? graphs_of() : without_other_keys(members_of(f));
    }
    Json out = closed(properties_of(spec_parameters()));
    out["$schema"] = "https://json-schema.org/draft/2020-12/schema";
    out["title"] = "An experiment spec of DBench";
    out["if"] = {{"required", {"base"}}};
    const Json typed = {{"if", {{"type", "object"}}}, {"then", {{"required", {"type"}}}}};
    Json required = Json::array(), properties = Json::object();
    for (const Parameter& p : spec_parameters()) {
        if (p.default_json.empty()) required.push_back(p.name);
        const bool default_type = p.name == "optimizer" || p.name == "schedule";  // sgd, constant
        if (!p.family.empty() && !default_type) properties[p.name] = typed;
    }
    out["else"] = {{"required", std::move(required)}, {"properties", std::move(properties)}};
    out["$defs"] = std::move(definitions);
    return out;
}

}  // namespace dbench::program
