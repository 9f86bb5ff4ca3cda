#include "base/family.hpp"

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "message_of.hpp"

namespace dbench::base {
namespace {

using Catch::Matchers::ContainsSubstring;

// Resolves the JSON `text` as a value of `parameter`.
Json resolved(const Parameter& parameter, const std::string& text) {
    const Json given = {{parameter.name, Json::parse(text)}};
    return resolve_object(given, "/model", {parameter}).at(parameter.name);
}

std::string refused(const Parameter& parameter, const std::string& text) {
    return message_of([&] { resolved(parameter, text); });
}

const std::vector<Parameter> kKeys = {
    Parameter::integer("layers", "2", "hidden layers").at_least(1).at_most(9),
    Parameter::number("rate", "", "dropped share"),
    Parameter::object(
        "inner", {Parameter::flag("bias", "true", ""), Parameter::text("note", "\"none\"", "")},
        ""),
};

}  // namespace

TEST_CASE("Missing keys get their defaults, in the order of the table") {
    const Json out =
        resolve_object(Json::parse(R"({"inner": {"bias": false}, "rate": 0.5})"), "/model", kKeys);
    CHECK(out.dump() == R"({"layers":2,"rate":0.5,"inner":{"bias":false,"note":"none"}})");
    const Json without = resolve_object(Json::parse(R"({"rate": 1})"), "/model", kKeys);
    CHECK(without.at("inner").dump() == R"({"bias":true,"note":"none"})");
}

TEST_CASE("Errors name a wrong key by its JSON pointer") {
    const auto message = [](const char* text) {
        return message_of([&] { resolve_object(Json::parse(text), "/model", kKeys); });
    };
    CHECK(message(R"({"rate": 1, "layer": 2})") ==
          "/model/layer: unknown key; did you mean 'layers'?");
    CHECK(message(R"({"rate": 1, "inner": {"width": 1}})") ==
          "/model/inner/width: unknown key; choose from: bias, note");
    CHECK(message(R"({"layers": 3})") == "/model/rate: is missing (dropped share)");
    CHECK(message("[1]") == "/model: must be an object (found array [1])");
    CHECK(message_of([] { resolve_object(Json::parse("3"), "", {}); }) ==
          "/: must be an object (found number 3)");
    CHECK(message_of([] { resolve_object(Json::parse(R"({"a": 1})"), "/model", {}); }) ==
          "/model/a: unknown key; this object has no keys");
}

TEST_CASE("Whole numbers must have no fraction and become integers") {
    const Parameter whole = Parameter::integer("k", "1", "");
    CHECK(resolved(whole, "4").dump() == "4");
    CHECK(resolved(whole, "4.0").dump() == "4");
    CHECK(resolved(whole, "1e3").dump() == "1000");
    CHECK(refused(whole, "4.5") == "/model/k: must be a whole number (found number 4.5)");
    CHECK(refused(whole, "\"4\"") == "/model/k: must be a whole number (found string \"4\")");
    CHECK(refused(whole, "true") == "/model/k: must be a whole number (found boolean true)");
    CHECK(refused(whole, "1e300") != "");
    CHECK(refused(whole, "null") == "/model/k: must be a whole number (found null null)");
}

TEST_CASE("Ranges are checked at both ends") {
    const Parameter closed = Parameter::number("p", "0", "").at_least(0).at_most(1);
    for (const char* inside : {"0", "1", "0.5"}) CHECK(refused(closed, inside).empty());
    CHECK(refused(closed, "-0.1") == "/model/p: -0.1 is out of range (must be at least 0)");
    CHECK(refused(closed, "1.5") == "/model/p: 1.5 is out of range (must be at most 1)");
    const Parameter open = Parameter::number("lr", "0.1", "").greater_than(0);
    CHECK(refused(open, "1e-9").empty());
    CHECK(refused(open, "0") == "/model/lr: 0 is out of range (must be greater than 0)");
    const Parameter list = Parameter::numbers("betas", "[]", "").at_least(0).at_most(0.5);
    CHECK(resolved(list, "[0, 0.5]").dump() == "[0,0.5]");
    CHECK(refused(list, "[0, 1]") == "/model/betas/1: 1 is out of range (must be at most 0.5)");
    CHECK(refused(list, "[0, \"a\"]") == "/model/betas/1: must be a number (found string \"a\")");
    CHECK_THAT(refused(list, "0.5"), ContainsSubstring("/model/betas: must be a list of numbers"));
}

TEST_CASE("Texts, flags and choices accept only their own type") {
    CHECK(refused(Parameter::text("t", "\"\"", ""), "1") ==
          "/model/t: must be a string (found number 1)");
    CHECK(refused(Parameter::flag("f", "true", ""), "1") ==
          "/model/f: must be true or false (found number 1)");
    const Parameter word = Parameter::choice("order", "\"cyclic\"", {"cyclic", "sampled"}, "");
    CHECK(resolved(word, "\"sampled\"") == "sampled");
    CHECK(refused(word, "\"cyclical\"") ==
          "/model/order: unknown value 'cyclical'; did you mean 'cyclic'?");
    CHECK(refused(word, "0") == "/model/order: must be a string (found number 0)");
    CHECK(resolved(Parameter::any("a", "0", ""), R"([{"x": null}])").dump() == R"([{"x":null}])");
}

TEST_CASE("null is accepted only if the key allows it") {
    const Parameter open = Parameter::integer("width", "null", "null: all").at_least(1);
    CHECK_FALSE(refused(open, "null").empty());
    const Parameter nullable = Parameter::integer("width", "null", "").at_least(1).or_null();
    CHECK(resolved(nullable, "null").is_null());
    CHECK_FALSE(refused(nullable, "0").empty());
}

TEST_CASE("A duration has one unit and a number in its range") {
    const Parameter length = Parameter::duration("length", "", "").greater_than(0);
    CHECK(resolved(length, R"({"epochs": 0.5})").dump() == R"({"epochs":0.5})");
    CHECK(resolved(length, R"({"samples": 1000})").dump() == R"({"samples":1000})");
    CHECK(refused(length, R"({"epoch": 1})") ==
          "/model/length/epoch: unknown unit; did you mean 'epochs'?");
    CHECK(refused(length, R"({"iterations": 0})") ==
          "/model/length/iterations: 0 is out of range (must be greater than 0)");
    CHECK(refused(length, R"({"iterations": 2.5})") ==
          "/model/length/iterations: must be a whole number (found number 2.5)");
    CHECK(refused(length, R"({"epochs": "2"})") ==
          "/model/length/epochs: must be a number (found string \"2\")");
    const std::string shape = "an object with one of the keys epochs, iterations, samples";
    for (const char* text : {"3", "{}", R"({"epochs": 1, "samples": 2})"}) {
        CAPTURE(text);
        CHECK_THAT(refused(length, text), ContainsSubstring("/model/length: must be " + shape));
    }
    CHECK_FALSE(refused(Parameter::duration("warmup", "", ""), R"({"epochs": -1})").empty());
    CHECK(refused(Parameter::duration("warmup", "", ""), R"({"epochs": 0})").empty());
}

TEST_CASE("Each stage must end after the one before, and the last one ends with the run") {
    const Parameter every = Parameter::stages("every", "", "").greater_than(0).or_null();
    CHECK(resolved(every, R"({"epochs": 1})").dump() == R"({"epochs":1})");
    CHECK(resolved(every, R"([{"until": {"epochs": 2}, "every": null},
                              {"every": {"iterations": 5}}])")
              .dump() == R"([{"until":{"epochs":2},"every":null},)"
                         R"({"until":null,"every":{"iterations":5}}])");
    CHECK(refused(every, R"([{"until": null, "every": {"epochs": 1}}])").empty());
    CHECK_FALSE(refused(every, R"([{"until": null, "every": null}, {"every": null}])").empty());
    CHECK(refused(every, "[]") == "/model/every: has no stages: name one, or a duration");
    CHECK_THAT(refused(every, R"([{"every": {"epochs": 1}}, {"every": {"epochs": 2}}])"),
               ContainsSubstring("/model/every/0/until: is missing"));
    CHECK_THAT(refused(every, R"([{"until": {"epochs": 2}, "every": {"epochs": 1}}])"),
               ContainsSubstring("/model/every/0/until: the last stage lasts to the end"));
    CHECK_THAT(refused(every, R"([{"every": {"epochs": 0}}])"),
               ContainsSubstring("/model/every/0/every/epochs: 0 is out of range"));
    CHECK_THAT(refused(every, R"([{}])"), ContainsSubstring("/model/every/0/every: is missing"));
}

TEST_CASE("Every element of a list is checked as an object and gets its defaults") {
    const Parameter list = Parameter::list(
        "rules", {Parameter::number("rate", "", "share").at_least(0), kKeys[0]}, "");
    CHECK(resolve_object(Json::object(), "", {list}).dump() == R"({"rules":[]})");
    CHECK(resolved(list, R"([{"rate": 1}, {"rate": 0, "layers": 3}])").dump() ==
          R"([{"rate":1,"layers":2},{"rate":0,"layers":3}])");
    CHECK(refused(list, R"({"rate": 1})") ==
          R"(/model/rules: must be a list of objects (found object {"rate":1}))");
    CHECK(refused(list, R"([{"rate": 1}, {}])") == "/model/rules/1/rate: is missing (share)");
    CHECK(refused(list, R"([{"rate": -1}])") ==
          "/model/rules/0/rate: -1 is out of range (must be at least 0)");
    CHECK_THAT(refused(list, "[3]"), ContainsSubstring("/model/rules/0: must be an object"));
}

TEST_CASE("A family member is a name or an object with a type, and gets the defaults of its row") {
    const std::vector<Entry> table = {
        {"ring", "", {}},
        {"ring_lattice", "", {Parameter::integer("k", "4", "").at_least(2)}},
    };
    const auto member = [&](const std::string& text) {
        return resolve_member(Json::parse(text), "/graph", "graph", entries_of(table));
    };
    const auto message = [&](const std::string& text) { return message_of([&] { member(text); }); };
    CHECK(member("\"ring\"").dump() == R"({"type":"ring"})");
    CHECK(member("\"ring_lattice\"").dump() == R"({"type":"ring_lattice","k":4})");
    CHECK(member(R"({"k": 8, "type": "ring_lattice"})").dump() ==
          R"({"type":"ring_lattice","k":8})");
    CHECK(message("\"rings\"") == "/graph/type: unknown graph 'rings'; did you mean 'ring'?");
    CHECK(message(R"({"type": "ring", "k": 8})") ==
          "/graph/k: unknown key; this object has no keys");
    CHECK(message(R"({"type": "ring_lattice", "k": 1})") ==
          "/graph/k: 1 is out of range (must be at least 2)");
    CHECK(message(R"({"k": 8})") == "/graph/type: is missing (which graph?)");
    CHECK(message(R"({"type": 8})") == "/graph/type: must be a string (found number 8)");
    CHECK(message("8") == "/graph: must be a name or an object with a \"type\" (found number 8)");
    CHECK(find_entry(table, "ring_lattice") == &table[1]);
    CHECK(find_entry(table, "rin") == nullptr);
}

}  // namespace dbench::base
