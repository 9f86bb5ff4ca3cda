// Values of a spec against what their keys declare.

#include "base/family.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "catch.hpp"

namespace dbench::base {
namespace {

std::string refusal(const std::string& text, const Parameter& parameter) {
    try {
        resolve_value(Json::parse(text), "/key", parameter);
    } catch (const UserError& error) {
        return error.what();
    }
    return "accepted";
}

}  // namespace

TEST_CASE("Whole numbers that no count can be are refused, never wrapped") {
    const Parameter count = Parameter::integer("key", "", "").at_least(1);
    for (const char* text : {"9223372036854775807", "9223372036854775808", "18446744073709551615",
                             "18446744073709551616", "1e300", "2147483648", "4294967297.0"}) {
        CAPTURE(text);
        CHECK(refusal(text, count).find("is out of range (must be at most 2147483647)") !=
              std::string::npos);
    }
    for (const char* text : {"-9223372036854775808", "-1e300", "0"}) {
        CAPTURE(text);
        CHECK(refusal(text, count).find("must be at least 1") != std::string::npos);
    }
    CHECK(refusal("-1e300", Parameter::integer("key", "", "")).find("out of range") !=
          std::string::npos);
    CHECK(resolve_value(Json::parse("2147483647"), "/key", count) == 2147483647);
    CHECK(resolve_value(Json::parse("4.0"), "/key", count).is_number_integer());
    CHECK(refusal("2.5", count) == "/key: must be a whole number (found number 2.5)");
    CHECK(refusal("9", Parameter::integer("key", "", "").at_most(8, "so says the test")) ==
          "/key: 9 is out of range (must be at most 8: so says the test)");
}

TEST_CASE("A word stands for an object where that is declared") {
    const auto inner = [] {
        return std::vector<Parameter>{Parameter::choice("kind", "\"a\"", {"a", "b"}, "")};
    };
    const Parameter plain = Parameter::object("key", inner(), "");
    const Parameter short_form = Parameter::object("key", inner(), "").or_word("kind");
    CHECK(resolve_value("b", "/key", short_form) == Json{{"kind", "b"}});
    CHECK(refusal("\"c\"", short_form).starts_with("/key/kind: unknown value 'c'"));
    CHECK(refusal("\"b\"", plain).starts_with("/key: must be an object"));
}

TEST_CASE("What a key's own rule says holds for its default, too") {
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
