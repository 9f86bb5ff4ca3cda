// Texts that are no JSON, or more than anything here needs.

#include "base/json.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "catch.hpp"

namespace dbench::base {
namespace {

using Catch::Matchers::ContainsSubstring;

std::string refusal(const std::string& text) {
    try {
        parse_json(text, "file");
    } catch (const UserError& error) {
        return error.what();
    }
    return "accepted";
}

std::string nested(int levels, const std::string& open, const std::string& close) {
    std::string text;
    for (int k = 0; k < levels; ++k) text += open;
    text += "1";
    for (int k = 0; k < levels; ++k) text += close;
    return text;
}

}  // namespace

TEST_CASE("Deep nesting is refused before it can overflow a stack") {
    CHECK(refusal(nested(kMostLevels, "[", "]")) == "accepted");
    for (const int levels : {kMostLevels + 1, 100'000}) {
        CHECK_THAT(refusal(nested(levels, "[", "]")), ContainsSubstring("in each other"));
        CHECK_THAT(refusal(nested(levels, "{\"a\":", "}")), ContainsSubstring("in each other"));
    }
    CHECK_THAT(refusal(std::string(100'000, '[')), ContainsSubstring("in each other"));
}

TEST_CASE("Errors are in this program's words") {
    for (const char* text :
         {"1e400", "[1, -1e999]", "{", "\"\xff\"", "{\"\xc3\x28\": 1}", "[1,]"}) {
        CAPTURE(text);
        const std::string message = refusal(text);
        CHECK(message.starts_with("file: "));
        CHECK(message.find("json.exception") == std::string::npos);
        CHECK(is_utf8(message));
    }
    CHECK_THAT(refusal("1e400"), ContainsSubstring("'1e400'") && ContainsSubstring("1.8e308"));
    CHECK_THAT(refusal("{\n  \"a\": oops}"), ContainsSubstring("line 2, column"));
    CHECK_THAT(refusal("{\"a\": 1, \"a\": 2}"), ContainsSubstring("twice"));
}

TEST_CASE("Values that are not UTF-8 can be shown") {
    CHECK_FALSE(is_utf8("\xff"));
    CHECK(is_utf8("\xc3\xa4"));
    CHECK_THAT(short_text(Json("a\xff")), ContainsSubstring("a"));
}

}  // namespace dbench::base
