#pragma once
// A family (graphs, models, algorithms, ...) is a table of entries: name, help, and parameters with
// defaults. The spec reader, `dbench list`, error messages and the documentation all use these
// tables.

#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/json.hpp"

namespace dbench::base {

/// One key of a spec object: its type, range, default and one line of help. Defaults are stored as
/// JSON text, so that this header does not need the JSON library.
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
    std::string default_json;  ///< Default as JSON text; empty: the key is required.
    std::string help;
    double minimum = -std::numeric_limits<double>::infinity();
    double maximum = std::numeric_limits<double>::infinity();
    std::string maximum_reason;        ///< Reason for `maximum`, if it is not obvious.
    bool exclusive_minimum = false;    ///< True if `minimum` itself is not allowed.
    bool nullable = false;             ///< True if null is allowed; `help` says what it means.
    std::vector<std::string> choices;  ///< Words of a choice; units of a duration and of stages.
    /// Keys of an object (kind object), of each entry (kind list), or of the value if it is an
    /// object (kind any).
    std::vector<Parameter> members;
    std::string shorthand;  ///< Kind object: a plain string is read as the value of this key.
    std::string family;     ///< Kind any: the family of the value, as in `dbench list`.
    std::string shape;      ///< Kind any: other allowed values as a JSON Schema; empty: all.
    /// Checks a value that passed all other checks, and fills in its defaults. Throws UserError.
    using Resolve = Json (*)(const Json& given, const std::string& pointer);
    Resolve resolve = nullptr;

    /// A whole number. Without further limits, its absolute value is at most 2^31 - 1.
    static Parameter integer(std::string name, std::string default_json, std::string help);
    static Parameter number(std::string name, std::string default_json, std::string help);
    static Parameter flag(std::string name, std::string default_json, std::string help);
    static Parameter text(std::string name, std::string default_json, std::string help);
    static Parameter choice(std::string name, std::string default_json,
                            std::vector<std::string> words, std::string help);
    static Parameter numbers(std::string name, std::string default_json, std::string help);
    /// A duration: {"epochs": x}, {"iterations": n} or {"samples": n}.
    static Parameter duration(std::string name, std::string default_json, std::string help);
    /// A duration, or a list [{"until": duration, "every": duration or null}, ..., {"every": ...}].
    static Parameter stages(std::string name, std::string default_json, std::string help);
    static Parameter object(std::string name, std::vector<Parameter> members, std::string help);
    /// A list of objects with the same keys; empty by default.
    static Parameter list(std::string name, std::vector<Parameter> members, std::string help);
    /// Any JSON value. `resolve` checks it and fills in its defaults; if `resolve` is null, the
    /// reader of the value must do so.
    static Parameter any(std::string name, std::string default_json, std::string help,
                         Resolve resolve = nullptr);
    /// A value of the given family. The reader of the value checks it.
    static Parameter of(std::string family, std::string name, std::string default_json,
                        std::string help, Resolve resolve = nullptr);

    Parameter at_least(double value) &&;
    Parameter greater_than(double value) &&;
    Parameter at_most(double value, std::string why = "") &&;
    Parameter or_null() &&;
    Parameter or_string(std::string key) &&;
    Parameter shaped(std::string schema) &&;
    Parameter or_object(std::vector<Parameter> keys) &&;
};

/// True for a whole number in either form: 2 and 2.0 are the same number.
bool is_whole(const Json& given);

/// Checks `given` as the value of one key at `pointer`, and returns it with all defaults. Throws
/// UserError.
Json resolve_value(const Json& given, const std::string& pointer, const Parameter& parameter);

/// The part of a table row that describes an entry. Each family derives its row type from it and
/// adds a factory function.
struct Entry {
    std::string name;
    std::string help;
    std::vector<Parameter> parameters;
};

/// A key that its object does not know. The message ends with the most similar known key; a caller
/// that knows the whole spec may find a better one.
class UnknownKey : public UserError {
public:
    UnknownKey(std::string object, std::string unknown, std::vector<std::string> known);

    std::string pointer;             ///< The object's JSON pointer.
    std::string key;                 ///< The unknown key.
    std::vector<std::string> names;  ///< All keys that the object knows.
};

/// Checks the keys of `given` against `parameters` and returns the object with all defaults, in
/// table order. Throws UserError that names the JSON pointer (`pointer` + key), the reason and the
/// remedy.
Json resolve_object(const Json& given, const std::string& pointer,
                    const std::vector<Parameter>& parameters);

/// Like resolve_object, for a member of a family whose rows are `entries`. A string is read as
/// {"type": string}. The result starts with the key "type".
Json resolve_member(const Json& given, const std::string& pointer, const std::string& family,
                    const std::vector<const Entry*>& entries);

/// Returns pointers to the describing parts of all rows of a table.
template <class Row>
std::vector<const Entry*> entries_of(const std::vector<Row>& table) {
    std::vector<const Entry*> entries;
    for (const Row& row : table) entries.push_back(&row);
    return entries;
}

/// Returns the row named `name`, or null.
template <class Row>
const Row* find_entry(const std::vector<Row>& table, const std::string& name) {
    for (const Row& row : table) {
        if (row.name == name) return &row;
    }
    return nullptr;
}

}  // namespace dbench::base
