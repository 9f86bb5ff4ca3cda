#include "base/family.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.hpp"

namespace dbench::base {
namespace {

constexpr double kMostCount = 2147483647;  // 2^31 - 1

Parameter make(Parameter::Kind kind, std::string name, std::string default_json, std::string help) {
    Parameter p;
    p.name = std::move(name);
    p.kind = kind;
    p.default_json = std::move(default_json);
    p.help = std::move(help);
    return p;
}

[[noreturn]] void refuse_family(const std::string& pointer, const std::string& problem) {
    throw UserError(pointer + ": " + problem);
}

void check_range(double value, const std::string& pointer, const Parameter& p) {
    if (!std::isfinite(value)) refuse_family(pointer, "must be a finite number");
    if (value < p.minimum || (p.exclusive_minimum && value == p.minimum)) {
        refuse_family(pointer, number_text(value) + " is out of range (must be " +
                                   (p.exclusive_minimum ? "greater than " : "at least ") +
                                   number_text(p.minimum) + ")");
    }
    if (value > p.maximum) {
        refuse_family(pointer, number_text(value) + " is out of range (must be at most " +
                                   number_text(p.maximum) +
                                   (p.maximum_reason.empty() ? "" : ": " + p.maximum_reason) + ")");
    }
}

void expect_type(bool right, const std::string& pointer, const std::string& wanted,
                 const Json& given) {
    if (!right) {
        refuse_family(pointer, "must be " + wanted + " (found " + std::string(given.type_name()) +
                                   " " + short_text(given) + ")");
    }
}

/// The range, which ends far below 2^53, is checked in doubles before any conversion.
Json check_integer(const Json& given, const std::string& pointer, const Parameter& p) {
    expect_type(is_whole(given), pointer, "a whole number", given);
    check_range(given.get<double>(), pointer, p);
    return given.get<int64_t>();
}

Json check_duration(const Json& given, const std::string& pointer, const Parameter& p) {
    const bool shape = given.is_object() && given.size() == 1;
    expect_type(shape, pointer, "an object with one of the keys epochs, iterations, samples",
                given);
    const auto item = given.begin();
    const auto& units = p.choices;
    if (std::find(units.begin(), units.end(), item.key()) == units.end()) {
        refuse_family(pointer + "/" + item.key(), "unknown unit" + suggest_name(item.key(), units));
    }
    const std::string inner = pointer + "/" + item.key();
    expect_type(item->is_number(), inner, "a number", *item);
    check_range(item->get<double>(), inner, p);
    if (item.key() != "epochs") {
        expect_type(item->get<double>() == std::floor(item->get<double>()), inner, "a whole number",
                    *item);
    }
    return given;
}

Json check_list(const Json& given, const std::string& pointer, const Parameter& p) {
    expect_type(given.is_array(), pointer, "a list of objects", given);
    Json out = Json::array();
    for (size_t k = 0; k < given.size(); ++k) {
        out.push_back(resolve_object(given[k], pointer + "/" + std::to_string(k), p.members));
    }
    return out;
}

/// Every stage but the last must have "until".
Json check_stages(const Json& given, const std::string& pointer, const Parameter& p) {
    if (!given.is_array()) return check_duration(given, pointer, p);
    if (given.empty()) refuse_family(pointer, "has no stages: name one, or a duration");
    Json out = Json::array();
    for (size_t k = 0; k < given.size(); ++k) {
        const std::string at = pointer + "/" + std::to_string(k);
        const bool last = k + 1 == given.size();
        Parameter until = Parameter::duration("until", last ? "null" : "", "where the stage ends");
        Parameter every = Parameter::duration("every", "", "its interval; null: never").or_null();
        for (Parameter* part : {&until, &every}) {
            part->minimum = 0;
            part->exclusive_minimum = true;
        }
        until.nullable = last;
        out.push_back(resolve_object(given[k], at, {until, every}));
        if (last && !out.back().at("until").is_null()) {
            refuse_family(at + "/until",
                          "the last stage lasts to the end of the run: remove it, or add "
                          "a stage after it");
        }
    }
    return out;
}

Json check_kind(const Json& given, const std::string& pointer, const Parameter& p) {
    using Kind = Parameter::Kind;
    switch (p.kind) {
        case Kind::integer:
            return check_integer(given, pointer, p);
        case Kind::number:
            expect_type(given.is_number(), pointer, "a number", given);
            check_range(given.get<double>(), pointer, p);
            return given;
        case Kind::flag:
            expect_type(given.is_boolean(), pointer, "true or false", given);
            return given;
        case Kind::text:
            expect_type(given.is_string(), pointer, "a string", given);
            return given;
        case Kind::choice: {
            expect_type(given.is_string(), pointer, "a string", given);
            const auto word = given.get<std::string>();
            if (std::find(p.choices.begin(), p.choices.end(), word) == p.choices.end()) {
                refuse_family(pointer,
                              "unknown value '" + word + "'" + suggest_name(word, p.choices));
            }
            return given;
        }
        case Kind::numbers:
            expect_type(given.is_array(), pointer, "a list of numbers", given);
            for (size_t i = 0; i < given.size(); ++i) {
                const std::string at = pointer + "/" + std::to_string(i);
                expect_type(given[i].is_number(), at, "a number", given[i]);
                check_range(given[i].get<double>(), at, p);
            }
            return given;
        case Kind::duration:
            return check_duration(given, pointer, p);
        case Kind::stages:
            return check_stages(given, pointer, p);
        case Kind::object: {
            const bool word = given.is_string() && !p.shorthand.empty();
            return resolve_object(word ? Json{{p.shorthand, given}} : given, pointer, p.members);
        }
        case Kind::list:
            return check_list(given, pointer, p);
        case Kind::any:
            return given;
    }
    return given;
}

Json check(const Json& given, const std::string& pointer, const Parameter& p) {
    if (given.is_null() && p.nullable) return given;
    Json out = check_kind(given, pointer, p);
    return p.resolve ? p.resolve(out, pointer) : out;
}

}  // namespace

Parameter Parameter::integer(std::string name, std::string default_json, std::string help) {
    Parameter p = make(Kind::integer, std::move(name), std::move(default_json), std::move(help));
    p.minimum = -kMostCount;
    p.maximum = kMostCount;
    return p;
}
Parameter Parameter::number(std::string name, std::string default_json, std::string help) {
    return make(Kind::number, std::move(name), std::move(default_json), std::move(help));
}
Parameter Parameter::flag(std::string name, std::string default_json, std::string help) {
    return make(Kind::flag, std::move(name), std::move(default_json), std::move(help));
}
Parameter Parameter::text(std::string name, std::string default_json, std::string help) {
    return make(Kind::text, std::move(name), std::move(default_json), std::move(help));
}
Parameter Parameter::choice(std::string name, std::string default_json,
                            std::vector<std::string> words, std::string help) {
    Parameter p = make(Kind::choice, std::move(name), std::move(default_json), std::move(help));
    p.choices = std::move(words);
    return p;
}
Parameter Parameter::numbers(std::string name, std::string default_json, std::string help) {
    return make(Kind::numbers, std::move(name), std::move(default_json), std::move(help));
}
Parameter Parameter::duration(std::string name, std::string default_json, std::string help) {
    Parameter p = make(Kind::duration, std::move(name), std::move(default_json), std::move(help));
    p.choices = {"epochs", "iterations", "samples"};
    p.minimum = 0;
    return p;
}
Parameter Parameter::stages(std::string name, std::string default_json, std::string help) {
    Parameter p = duration(std::move(name), std::move(default_json), std::move(help));
    p.kind = Kind::stages;
    return p;
}
Parameter Parameter::object(std::string name, std::vector<Parameter> members, std::string help) {
    Parameter p = make(Kind::object, std::move(name), "{}", std::move(help));
    p.members = std::move(members);
    return p;
}
Parameter Parameter::list(std::string name, std::vector<Parameter> members, std::string help) {
    Parameter p = make(Kind::list, std::move(name), "[]", std::move(help));
    p.members = std::move(members);
    return p;
}
Parameter Parameter::any(std::string name, std::string default_json, std::string help,
                         Resolve resolve) {
    Parameter p = make(Kind::any, std::move(name), std::move(default_json), std::move(help));
    p.resolve = resolve;
    return p;
}

Parameter Parameter::of(std::string family, std::string name, std::string default_json,
                        std::string help, Resolve resolve) {
    Parameter p = any(std::move(name), std::move(default_json), std::move(help), resolve);
    p.family = std::move(family);
    return p;
}

Parameter Parameter::at_least(double value) && {
    minimum = value;
    return std::move(*this);
}
Parameter Parameter::greater_than(double value) && {
    minimum = value;
    exclusive_minimum = true;
    return std::move(*this);
}
Parameter Parameter::at_most(double value, std::string why) && {
    maximum = value;
    maximum_reason = std::move(why);
    return std::move(*this);
}
Parameter Parameter::or_null() && {
    nullable = true;
    return std::move(*this);
}
Parameter Parameter::or_string(std::string key) && {
    shorthand = std::move(key);
    return std::move(*this);
}
Parameter Parameter::shaped(std::string schema) && {
    shape = std::move(schema);
    return std::move(*this);
}
Parameter Parameter::or_object(std::vector<Parameter> keys) && {
    members = std::move(keys);
    return std::move(*this);
}

UnknownKey::UnknownKey(std::string object, std::string unknown, std::vector<std::string> known)
    : UserError(object + "/" + unknown + ": unknown key" +
                (known.empty() ? std::string("; this object has no keys")
                               : suggest_name(unknown, known))),
      pointer(std::move(object)),
      key(std::move(unknown)),
      names(std::move(known)) {}

bool is_whole(const Json& given) {
    if (!given.is_number_float()) return given.is_number_integer();
    const auto value = given.get<double>();
    return value == std::floor(value);
}

Json resolve_value(const Json& given, const std::string& pointer, const Parameter& parameter) {
    return check(given, pointer, parameter);
}

Json resolve_object(const Json& given, const std::string& pointer,
                    const std::vector<Parameter>& parameters) {
    expect_type(given.is_object(), pointer.empty() ? "/" : pointer, "an object", given);
    std::vector<std::string> names;
    for (const auto& p : parameters) names.push_back(p.name);
    for (const auto& item : given.items()) {
        if (std::find(names.begin(), names.end(), item.key()) == names.end()) {
            throw UnknownKey(pointer, item.key(), names);
        }
    }
    Json out = Json::object();
    for (const auto& p : parameters) {
        const std::string at = pointer + "/" + p.name;
        if (given.contains(p.name)) {
            out[p.name] = check(given.at(p.name), at, p);
        } else if (p.default_json.empty()) {
            refuse_family(at, "is missing (" + p.help + ")");
        } else {
            const Json default_json = Json::parse(p.default_json);
            const bool completed = p.kind == Parameter::Kind::object || p.resolve;
            out[p.name] = completed ? check(default_json, at, p) : default_json;
        }
    }
    return out;
}

Json resolve_member(const Json& given, const std::string& pointer, const std::string& family,
                    const std::vector<const Entry*>& entries) {
    Json object = given.is_string() ? Json{{"type", given}} : given;
    expect_type(object.is_object(), pointer, "a name or an object with a \"type\"", given);
    if (!object.contains("type"))
        refuse_family(pointer + "/type", "is missing (which " + family + "?)");
    expect_type(object["type"].is_string(), pointer + "/type", "a string", object["type"]);
    const auto name = object["type"].get<std::string>();
    std::vector<std::string> names;
    for (const Entry* entry : entries) {
        names.push_back(entry->name);
        if (entry->name != name) continue;
        object.erase("type");
        Json out = Json::object();
        out["type"] = name;
        const Json resolved = resolve_object(object, pointer, entry->parameters);
        for (const auto& item : resolved.items()) {
            out[item.key()] = item.value();
        }
        return out;
    }
    refuse_family(pointer + "/type",
                  "unknown " + family + " '" + name + "'" + suggest_name(name, names));
}

}  // namespace dbench::base
