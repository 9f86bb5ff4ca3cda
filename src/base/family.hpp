#pragma once
// A family (graphs, models, algorithms, ...) is one table: name, help, parameters with defaults.
// The spec reader, `dbench list`, error messages and docs all come from it.

#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/json.hpp"

namespace dbench::base {

/// One key that a spec object may hold: its type, range, default and one line of help.
/// Defaults are kept as JSON text, so that this header needs no JSON library.
struct Parameter {
    enum class Kind {
        integer,
        number,
        flag,
        text,
        choice,
        numbers,
        duration,
        stages,
        object,
        list,
        any
    };

    std::string name;
    Kind kind = Kind::any;
    std::string standard;  ///< default as JSON text; empty: the key is required
    std::string help;
    double least = -std::numeric_limits<double>::infinity();
    double most = std::numeric_limits<double>::infinity();
    std::string why_most;              ///< the reason of `most`, where it is not plain
    bool above_least = false;          ///< `least` itself is refused
    bool nullable = false;             ///< null is allowed (its meaning stands in `help`)
    std::vector<std::string> choices;  ///< choice: the words; duration and stages: the units
    /// object: its keys; list: those of each entry; any: those of an object, if it is one
    std::vector<Parameter> members;
    std::string shorthand;  ///< object: a string stands for one with this key
    std::string family;     ///< any: the value is of this family, as `dbench list` names it
    std::string shape;      ///< any: what else the value may be, as a JSON Schema; empty: anything
    /// Checks and completes a value that suits the rest. Throws UserError.
    using Resolve = Json (*)(const Json& given, const std::string& pointer);
    Resolve resolve = nullptr;

    /// A whole number; where nothing else is said, a count up to 2^31 - 1.
    static Parameter integer(std::string name, std::string standard, std::string help);
    static Parameter number(std::string name, std::string standard, std::string help);
    static Parameter flag(std::string name, std::string standard, std::string help);
    static Parameter text(std::string name, std::string standard, std::string help);
    static Parameter choice(std::string name, std::string standard, std::vector<std::string> words,
                            std::string help);
    static Parameter numbers(std::string name, std::string standard, std::string help);
    /// {"epochs": x}, {"iterations": n} or {"samples": n}.
    static Parameter duration(std::string name, std::string standard, std::string help);
    /// A duration, or a list [{"until": duration, "every": duration or null}, ..., {"every": ...}].
    static Parameter stages(std::string name, std::string standard, std::string help);
    static Parameter object(std::string name, std::vector<Parameter> members, std::string help);
    /// A list of objects with the same keys; empty by default.
    static Parameter list(std::string name, std::vector<Parameter> members, std::string help);
    /// Any JSON value; `resolve` checks and completes it, or whoever uses it where that is null.
    static Parameter any(std::string name, std::string standard, std::string help,
                         Resolve resolve = nullptr);
    /// Any of a family's values; whoever uses it checks it.
    static Parameter of(std::string family, std::string name, std::string standard,
                        std::string help, Resolve resolve = nullptr);

    Parameter at_least(double value) &&;
    Parameter greater_than(double value) &&;
    Parameter at_most(double value, std::string why = "") &&;
    Parameter or_null() &&;
    Parameter or_word(std::string key) &&;
    Parameter shaped(std::string schema) &&;
    Parameter or_object(std::vector<Parameter> keys) &&;
};

/// `given` checked as the value of one key at `pointer`, and completed. Throws UserError.
Json resolve_value(const Json& given, const std::string& pointer, const Parameter& parameter);

/// The describing part of a table row; families derive from it and add their factory.
struct Entry {
    std::string name;
    std::string help;
    std::vector<Parameter> parameters;
};

/// The keys of `given` checked against `parameters` and completed with their defaults, in table
/// order. Throws UserError naming the JSON pointer (`pointer` + key), the reason and the remedy.
Json resolve_object(const Json& given, const std::string& pointer,
                    const std::vector<Parameter>& parameters);

/// As resolve_object for a family member: a string stands for {"type": string}; `entries` holds the
/// family's rows. The result starts with "type".
Json resolve_member(const Json& given, const std::string& pointer, const std::string& family,
                    const std::vector<const Entry*>& entries);

/// Rows of a table as pointers to their describing part.
template <class Row>
std::vector<const Entry*> entries_of(const std::vector<Row>& table) {
    std::vector<const Entry*> entries;
    for (const Row& row : table) entries.push_back(&row);
    return entries;
}

/// The row named `name`, or null.
template <class Row>
const Row* find_entry(const std::vector<Row>& table, const std::string& name) {
    for (const Row& row : table) {
        if (row.name == name) return &row;
    }
    return nullptr;
}

}  // namespace dbench::base
