// Texts that are not JSON or exceed the limits of the reader.

#include "base/json.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "catch.hpp"

namespace dbench::base {
namespace {

using Catch::Matchers::ContainsSubstring;

std::string refusal_json_limits(const std::string& text) {
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
    CHECK(refusal_json_limits(nested(kMaxDepth, "[", "]")) == "accepted");
    for (const int levels : {kMaxDepth + 1, 100'000}) {
        CHECK_THAT(refusal_json_limits(nested(levels, "[", "]")), ContainsSubstring("nested"));
        CHECK_THAT(refusal_json_limits(nested(levels, "{\"a\":", "}")),
                   ContainsSubstring("nested"));
    }
    CHECK_THAT(refusal_json_limits(std::string(100'000, '[')), ContainsSubstring("nested"));
}

TEST_CASE("Errors are in the words of this program, not of the JSON library") {
    for (const char* text :
         {"1e400", "[1, -1e999]", "{", "\"\xff\"", "{\"\xc3\x28\": 1}", "[1,]"}) {
        CAPTURE(text);
        const std::string message = refusal_json_limits(text);
        CHECK(message.starts_with("file: "));
        CHECK(message.find("json.exception") == std::string::npos);
        CHECK(is_utf8(message));
    }
    CHECK_THAT(refusal_json_limits("1e400"),
               ContainsSubstring("'1e400'") && ContainsSubstring("1.8e308"));
    CHECK_THAT(refusal_json_limits("{\n  \"a\": oops}"), ContainsSubstring("line 2, column"));
    CHECK_THAT(refusal_json_limits("{\"a\": 1, \"a\": 2}"), ContainsSubstring("twice"));
}

TEST_CASE("Messages can show values that are not UTF-8") {
    CHECK_FALSE(is_utf8("\xff"));
    CHECK(is_utf8("\xc3\xa4"));
    CHECK_THAT(short_text(Json("a\xff")), ContainsSubstring("a"));
}

}  // namespace dbench::base
