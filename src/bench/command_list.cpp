#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "bench/commands.hpp"
#include "bench/spec.hpp"
#include "bench/spec_tables.hpp"
#include "data/data_spec.hpp"

namespace dbench::bench {

using base::Json;
using base::Parameter;

namespace {

std::string standard_text(const Parameter& p) {
    if (p.kind == Parameter::Kind::object) return "";
    return p.standard.empty() ? " (required)" : " = " + p.standard;
}

std::string whole_or_real(double value) {
    return base::short_text(value == std::floor(value) ? Json(static_cast<int64_t>(value))
                                                       : Json(value));
}

// Every bound that a value has, for the keys outside families.
std::string range_text(const Parameter& p) {
    std::string text;
    if (std::isfinite(p.least)) {
        text = (p.above_least ? "greater than " : "at least ") + whole_or_real(p.least);
    }
    if (std::isfinite(p.most)) {
        text += (text.empty() ? "at most " : ", at most ") + whole_or_real(p.most);
    }
    return text.empty() ? "" : " [" + text + "]";
}

void print_parameters(const std::vector<Parameter>& parameters, const std::string& indent,
                      bool ranges = false) {
    for (const Parameter& p : parameters) {
        std::cout << indent << p.name << standard_text(p) << "   " << p.help;
        if (p.kind == Parameter::Kind::choice) {
            std::string words;
            for (const auto& word : p.choices) words += (words.empty() ? "" : ", ") + word;
            std::cout << " (" << words << ")";
        }
        if (ranges) std::cout << range_text(p);
        std::cout << "\n";
        if (p.kind == Parameter::Kind::object) {
            print_parameters(p.members, indent + "    ", ranges);
        }
    }
}

Json parameters_json(const std::vector<Parameter>& parameters, bool ranges = false) {
    Json out = Json::object();
    for (const Parameter& p : parameters) {
        Json item{{"help", p.help}};
        if (p.kind == Parameter::Kind::object) {
            item["members"] = parameters_json(p.members, ranges);
        } else if (p.standard.empty()) {
            item["required"] = true;
        } else {
            item["default"] = Json::parse(p.standard);
        }
        if (p.kind == Parameter::Kind::choice) item["choices"] = p.choices;
        if (ranges && std::isfinite(p.least)) {
            item[p.above_least ? "greater_than" : "at_least"] = p.least;
        }
        if (ranges && std::isfinite(p.most)) item["at_most"] = p.most;
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
        print_parameters(data::DataSpec::section().parameters(), "      ");
    }
    std::cout << "\n";
}

// Every key outside the families, and where the families stand.
int list_spec(bool json) {
    std::vector<Parameter> all = train::RunSpec::section().parameters();
    for (const Parameter& p : outer_parameters()) all.push_back(p);
    if (json) {
        std::cout << Json{{"spec", parameters_json(all, true)}}.dump(2) << "\n";
        return 0;
    }
    std::cout << "spec\n";
    print_parameters(all, "  ", true);
    std::cout
        << "\nmodel, data, algorithm, graph, optimizer and schedule are families: dbench list "
           "models, data, algorithms, graphs, optimizers, schedules, implementations\n";
    return 0;
}

}  // namespace

int command_list(const std::string& wanted, bool json) {
    if (wanted == "spec") return list_spec(json);
    std::vector<std::string> names{"spec", "implementations"};
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
