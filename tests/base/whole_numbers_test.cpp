// Checking values of a spec against the declarations of their keys.

#include "base/family.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "catch.hpp"

namespace dbench::base {
namespace {

std::string refusal_whole_numbers(const std::string& text, const Parameter& parameter) {
    try {
        resolve_value(Json::parse(text), "/key", parameter);
    } catch (const UserError& error) {
        return error.what();
    }
    return "accepted";
}

}  // namespace

TEST_CASE("Whole numbers that do not fit an integer are refused and never wrap around") {
    const Parameter count = Parameter::integer("key", "", "").at_least(1);
    for (const char* text : {"9223372036854775807", "9223372036854775808", "18446744073709551615",
                             "18446744073709551616", "1e300", "2147483648", "4294967297.0"}) {
        CAPTURE(text);
        CHECK(refusal_whole_numbers(text, count)
                  .find("is out of range (must be at most 2147483647)") != std::string::npos);
    }
    for (const char* text : {"-9223372036854775808", "-1e300", "0"}) {
        CAPTURE(text);
        CHECK(refusal_whole_numbers(text, count).find("must be at least 1") != std::string::npos);
    }
    CHECK(refusal_whole_numbers("-1e300", Parameter::integer("key", "", "")).find("out of range") !=
          std::string::npos);
    CHECK(resolve_value(Json::parse("2147483647"), "/key", count) == 2147483647);
    CHECK(resolve_value(Json::parse("4.0"), "/key", count).is_number_integer());
    CHECK(refusal_whole_numbers("2.5", count) == "/key: must be a whole number (found number 2.5)");
    CHECK(refusal_whole_numbers("9",
                                Parameter::integer("key", "", "").at_most(8, "so says the test")) ==
          "/key: 9 is out of range (must be at most 8: so says the test)");
}

TEST_CASE("A string is read as an object if the key allows it") {
    const auto inner = [] {
        return std::vector<Parameter>{Parameter::choice("kind", "\"a\"", {"a", "b"}, "")};
    };
    const Parameter plain = Parameter::object("key", inner(), "");
    const Parameter short_form = Parameter::object("key", inner(), "").or_string("kind");
    CHECK(resolve_value("b", "/key", short_form) == Json{{"kind", "b"}});
    CHECK(refusal_whole_numbers("\"c\"", short_form).starts_with("/key/kind: unknown value 'c'"));
    CHECK(refusal_whole_numbers("\"b\"", plain).starts_with("/key: must be an object"));
}

TEST_CASE("A key's own check also applies to its default") {
    const Parameter::Resolve twice = [](const Json& given, const std::string& pointer) {
        if (given == 3) throw UserError(pointer + ": three");
        return Json(2 * given.get<int>());
    };
    const auto resolved = [&](const Json& given) {
        return resolve_object(given, "", {Parameter::any("key", "4", "", twice)});
    };
    CHECK(resolved(Json::object()) == Json{{"key", 8}});
    CHECK(resolved({{"key", 5}}) == Json{{"key", 10}});
    CHECK_THROWS_WITH(resolved({{"key", 3}}), "/key: three");
}

}  // namespace dbench::base
