// dbench list: prints what a spec can name, from the tables that the spec reader uses.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "data/data_spec.hpp"
#include "program/commands.hpp"
#include "program/spec.hpp"
#include "program/spec_schema.hpp"
#include "program/spec_tables.hpp"

namespace dbench::program {

using base::Json;
using base::Parameter;

namespace {

std::string standard_text(const Parameter& p) {
    if (p.kind == Parameter::Kind::object) return "";
    return p.default_json.empty() ? " (required)" : " = " + p.default_json;
}

std::string whole_or_real(double value) {
    return base::short_text(value == std::floor(value) ? Json(static_cast<int64_t>(value))
                                                       : Json(value));
}

// Returns the bounds of a value as text (printed for keys outside the families).
std::string range_text(const Parameter& p) {
    std::string text;
    if (std::isfinite(p.minimum)) {
        text = (p.exclusive_minimum ? "greater than " : "at least ") + whole_or_real(p.minimum);
    }
    if (std::isfinite(p.maximum)) {
        text += (text.empty() ? "at most " : ", at most ") + whole_or_real(p.maximum);
    }
    return text.empty() ? "" : " [" + text + "]";
}

void print_parameters(const std::vector<Parameter>& parameters, const std::string& indent,
                      bool ranges = false) {
    for (const Parameter& p : parameters) {
        std::cout << indent << p.name << standard_text(p) << "   " << p.help;
        if (!p.family.empty()) std::cout << " <" << p.family << ">";
        if (p.kind == Parameter::Kind::choice) {
            std::string words;
            for (const auto& word : p.choices) words += (words.empty() ? "" : ", ") + word;
            std::cout << " (" << words << ")";
        }
        if (ranges) std::cout << range_text(p);
        std::cout << "\n";
        print_parameters(p.members, indent + "    ", ranges);
    }
}

Json parameters_json(const std::vector<Parameter>& parameters, bool ranges = false) {
    Json out = Json::object();
    for (const Parameter& p : parameters) {
        Json item{{"help", p.help}};
        if (!p.members.empty()) item["members"] = parameters_json(p.members, ranges);
        if (!p.family.empty()) item["family"] = p.family;
        if (p.default_json.empty()) {
            item["required"] = true;
        } else if (p.kind != Parameter::Kind::object) {
            item["default"] = Json::parse(p.default_json);
        }
        if (p.kind == Parameter::Kind::choice) item["choices"] = p.choices;
        if (ranges && std::isfinite(p.minimum)) {
            item[p.exclusive_minimum ? "greater_than" : "at_least"] = p.minimum;
        }
        if (ranges && std::isfinite(p.maximum)) item["at_most"] = p.maximum;
        out[p.name] = item;
    }
    return out;
}

// Returns all members of a family, or only the one with this name.
std::vector<const base::Entry*> members(const Family& f, const std::string& name) {
    std::vector<const base::Entry*> found;
    for (const base::Entry* entry : f.entries) {
        if (name.empty() || entry->name == name) found.push_back(entry);
    }
    return found;
}

void print_family(const Family& f, const std::string& name) {
    std::cout << f.plural << "\n";
    for (const base::Entry* entry : members(f, name)) {
        std::cout << "  " << entry->name << "   " << entry->help << "\n";
        print_parameters(entry->parameters, "      ");
    }
    if (f.plural == "data") {
        std::cout << "  keys of every data set\n";
        print_parameters(data::DataSpec::section().parameters(), "      ");
    }
    std::cout << "\n";
}

// Prints all top-level keys of a spec, or one of them with its members.
void list_keys(const std::vector<Parameter>& keys, const std::string& title, bool json) {
    if (json) {
        std::cout << Json{{title, parameters_json(keys, true)}}.dump(2) << "\n";
        return;
    }
    std::cout << title << "\n";
    print_parameters(keys, "  ", true);
    std::string plurals;
    for (const Family& f : families()) plurals += f.plural + ", ";
    std::cout << "\nnames in <> are families; print one with dbench list NAME: " << plurals
              << "implementations\n";
}

// Returns a key such as "evaluate" or "profile.variance", or null if there is none.
const Parameter* find_key(const std::vector<Parameter>& keys, const std::string& path) {
    const size_t dot = path.find('.');
    for (const Parameter& p : keys) {
        if (p.name != path.substr(0, dot)) continue;
        return dot == path.npos ? &p : find_key(p.members, path.substr(dot + 1));
    }
    return nullptr;
}

// Returns the plural of a family for its plural, singular or key ("graphs", "graph",
// "data.partition"), or "" if there is none.
std::string family_named(const std::string& wanted) {
    for (const Family& f : families()) {
        std::string key = f.pointer.substr(1);
        std::replace(key.begin(), key.end(), '/', '.');
        if (wanted == f.plural || wanted == f.singular || wanted == key) return f.plural;
    }
    return "";
}

}  // namespace

int command_list(const std::string& requested, bool json) {
    const std::vector<Parameter> keys = spec_parameters();
    const std::string plural = family_named(requested);
    const std::string wanted = requested == "implementation" ? "implementations"
                               : plural.empty()              ? requested
                                                             : plural;
    if (wanted == "schema") {
        std::cout << spec_schema().dump(2) << "\n";
        return 0;
    }
    if (wanted == "spec") {
        list_keys(keys, "spec", json);
        return 0;
    }
    if (const Parameter* key = plural.empty() ? find_key(keys, wanted) : nullptr) {
        list_keys({*key}, "spec", json);
        return 0;
    }
    std::vector<std::string> names{"spec", "schema", "implementations"};
    for (const Family& f : families()) {
        names.push_back(f.plural);
        for (const base::Entry* entry : f.entries) names.push_back(entry->name);
    }
    for (const Parameter& p : keys) names.push_back(p.name);
    bool found = wanted.empty();
    Json out = Json::object();
    for (const Family& f : families()) {
        const std::string name = wanted == f.plural ? "" : wanted;
        if (members(f, name).empty()) continue;
        found = true;
        if (json) {
            for (const base::Entry* entry : members(f, name)) {
                out[f.plural][entry->name] = {{"help", entry->help},
                                              {"parameters", parameters_json(entry->parameters)}};
            }
        } else {
            print_family(f, name);
        }
    }
    if (wanted.empty() || wanted == "implementations") {
        found = true;
        if (!json) std::cout << "implementations\n";
        for (const auto& each : implementations()) {
            if (json) {
                out["implementations"][each.name] = {
                    {"help", each.help},
                    {"algorithm", Json::parse(each.algorithm)},
                    {"graph", each.graph ? Json::parse(each.graph) : Json(nullptr)}};
            } else {
                std::cout << "  " << each.name << "   " << each.help << "\n";
            }
        }
    }
    if (!found) {
        throw base::UserError("list: no family, member or key '" + wanted + "'" +
                              base::suggest_name(wanted, names));
    }
    if (json) std::cout << out.dump(2) << "\n";
    return 0;
}

}  // namespace dbench::program
