#include <iostream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "bench/commands.hpp"
#include "bench/spec.hpp"
#include "bench/spec_tables.hpp"
#include "data/dataset.hpp"

namespace dbench::bench {

using base::Json;
using base::Parameter;

namespace {

std::string standard_text(const Parameter& p) {
    if (p.kind == Parameter::Kind::object) return "";
    return p.standard.empty() ? " (required)" : " = " + p.standard;
}

void print_parameters(const std::vector<Parameter>& parameters, const std::string& indent) {
    for (const Parameter& p : parameters) {
        std::cout << indent << p.name << standard_text(p) << "   " << p.help;
        if (p.kind == Parameter::Kind::choice) {
            std::string words;
            for (const auto& word : p.choices) words += (words.empty() ? "" : ", ") + word;
            std::cout << " (" << words << ")";
        }
        std::cout << "\n";
        if (p.kind == Parameter::Kind::object) print_parameters(p.members, indent + "    ");
    }
}

Json parameters_json(const std::vector<Parameter>& parameters) {
    Json out = Json::object();
    for (const Parameter& p : parameters) {
        Json item{{"help", p.help}};
        if (p.kind == Parameter::Kind::object) {
            item["members"] = parameters_json(p.members);
        } else if (p.standard.empty()) {
            item["required"] = true;
        } else {
            item["default"] = Json::parse(p.standard);
        }
        if (p.kind == Parameter::Kind::choice) item["choices"] = p.choices;
        out[p.name] = item;
    }
    return out;
}

void print_family(const Family& f) {
    std::cout << f.plural << "\n";
    for (const base::Entry* entry : f.entries) {
        std::cout << "  " << entry->name << "   " << entry->help << "\n";
        print_parameters(entry->parameters, "      ");
    }
    if (f.plural == "data") {
        std::cout << "  every data set takes\n";
        print_parameters(data::common_data_parameters(), "      ");
    }
    std::cout << "\n";
}

}  // namespace

int command_list(const std::string& wanted, bool json) {
    std::vector<std::string> names{"implementations"};
    for (const Family& f : families()) names.push_back(f.plural);
    bool found = wanted.empty();
    Json out = Json::object();
    for (const Family& f : families()) {
        if (!wanted.empty() && wanted != f.plural) continue;
        found = true;
        if (json) {
            for (const base::Entry* entry : f.entries) {
                out[f.plural][entry->name] = {{"help", entry->help},
                                              {"parameters", parameters_json(entry->parameters)}};
            }
        } else {
            print_family(f);
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
        throw base::UserError("list: unknown family '" + wanted + "'" +
                              base::nearest(wanted, names));
    }
    if (json) std::cout << out.dump(2) << "\n";
    return 0;
}

}  // namespace dbench::bench
