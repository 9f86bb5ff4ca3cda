// Sections of a spec: each key is declared once, with its member.

#include "base/section.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "catch.hpp"

namespace dbench::base {
namespace {

enum class Colour { red, green };

struct Inner {
    Stages every;
    static const Section<Inner>& section() {
        static const Section<Inner> keys{
            {Parameter::stages("every", R"({"iterations": 3})", "").greater_than(0),
             &Inner::every}};
        return keys;
    }
};

struct Outer {
    int64_t count;
    double rate;
    bool flag;
    std::string text;
    std::optional<Duration> length;
    Colour colour;
    Inner inner;
    std::vector<Inner> list;
    int64_t doubled;
    static const Section<Outer>& section() {
        static const Section<Outer> keys{
            {Parameter::integer("count", "7", ""), &Outer::count},
            {Parameter::number("rate", "0.5", ""), &Outer::rate},
            {Parameter::flag("flag", "true", ""), &Outer::flag},
            {Parameter::text("text", "\"a\"", ""), &Outer::text},
            {Parameter::duration("length", "null", "").or_null(), &Outer::length},
            {Words<Colour>(
                 "colour",
                 {{"crimson", Colour::red}, {"red", Colour::red}, {"green", Colour::green}},
                 Colour::red, ""),
             &Outer::colour},
            {"inner", &Outer::inner, ""},
            {"list", &Outer::list, ""},
            {Parameter::any("doubled", "1", ""),
             [](Outer& out, const Json& value) { out.doubled = 2 * value.get<int64_t>(); }},
            {Parameter::any("row", "\"of a family\"", "")},
        };
        return keys;
    }
};

Outer read(const char* text) {
    const auto& section = Outer::section();
    return section.read(resolve_object(Json::parse(text), "", section.parameters()));
}

}  // namespace

TEST_CASE("Defaults come from the declarations of the keys") {
    const Outer all = read("{}");
    CHECK(all.count == 7);
    CHECK(all.rate == 0.5);
    CHECK(all.flag);
    CHECK(all.text == "a");
    CHECK_FALSE(all.length);
    CHECK(all.colour == Colour::red);
    CHECK(all.doubled == 2);
    CHECK(all.list.empty());
    CHECK(to_cadence(all.inner.every, "", {}).due(3));
    CHECK(Outer::section().parameters().at(5).default_json == "\"crimson\"");
}

TEST_CASE("Every value is stored in its member") {
    const Outer all = read(R"({"count": -3, "rate": 2, "flag": false, "text": "b", "doubled": 4,
        "length": {"epochs": 1.5}, "colour": "green", "inner": {"every": {"samples": 8}}})");
    CHECK(all.count == -3);
    CHECK(all.rate == 2);
    CHECK_FALSE(all.flag);
    CHECK(all.text == "b");
    CHECK(to_iterations(*all.length, {0, 10, 4}) == 15);
    CHECK(all.colour == Colour::green);
    CHECK(to_cadence(all.inner.every, "", {0, 10, 4}).count(9) == 5);
    CHECK(all.doubled == 8);
    const Outer with_list = read(R"({"list": [{}, {"every": {"iterations": 2}}]})");
    REQUIRE(with_list.list.size() == 2);
    CHECK_FALSE(to_cadence(with_list.list[0].every, "", {}).due(2));
    CHECK(to_cadence(with_list.list[1].every, "", {}).due(2));
    CHECK(read(R"({"colour": "red"})").colour == Colour::red);
    CHECK_THROWS_WITH(read(R"({"colour": "blue"})"),
                      "/colour: unknown value 'blue'; choose from: crimson, red, green");
    CHECK_THROWS_AS(read(R"({"inner": {"each": 1}})"), UserError);
}

}  // namespace dbench::base
