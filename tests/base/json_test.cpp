#include "base/json.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/folder.hpp"
#include "base/message_of.hpp"
#include "catch.hpp"

namespace dbench::base {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("Comments are ignored, and keys keep their order") {
    const Json json = parse_json(
        "// head\n{\"b\": 1, // tail\n \"a\": [2, 3], /* and */ \"c\": {}}", "spec.json");
    CHECK(json.dump() == R"({"b":1,"a":[2,3],"c":{}})");
    CHECK(parse_json(R"({"a": "no // comment"})", "x").at("a") == "no // comment");
}

TEST_CASE("A syntax error names the file, its line and its column") {
    struct Case {
        std::string text, place;
    };
    for (const auto& [text, place] :
         std::vector<Case>{{"{\"a\": 1,\n \"b\": 2,,\n}", "line 2, column 9"},
                           {"{\"a\" 1}", "line 1, column 6"},
                           {"}", "line 1, column 1"},
                           {"// only this\n\n\n  [1, 2", "line 4, column 8"},
                           {"", "line 1, column 1"}}) {
        CAPTURE(text);
        const std::string message = message_of([&] { parse_json(text, "spec.json"); });
        CHECK_THAT(message, ContainsSubstring("spec.json: not valid JSON at " + place + " ("));
        // The prefix of the JSON library.
        CHECK(message.find("parse_error") == std::string::npos);
    }
}

TEST_CASE("A key may appear once per object") {
    CHECK_THAT(message_of([] { parse_json(R"({"a": 1, "b": {"c": 1, "c": 2}})", "spec.json"); }),
               ContainsSubstring("spec.json: the key 'c' appears twice"));
    CHECK_THAT(message_of([] { parse_json(R"({"a": {"b": 1}, "a": 2})", "spec.json"); }),
               ContainsSubstring("the key 'a' appears twice"));
    CHECK(parse_json(R"([{"a": {"a": 1}, "b": [{"a": 2}]}, {"a": 3}])", "x").size() == 2);
}

TEST_CASE("An error names the file that cannot be read and the reason") {
    const Folder folder;
    const std::string path = folder / "spec.json";
    CHECK_THAT(message_of([&] { read_json(path); }),
               ContainsSubstring(path + ": cannot be read (No such file or directory)"));
    CHECK_THAT(message_of([&] { read_text(folder.path()); }), ContainsSubstring("it is a folder"));
    const std::string text = "[1,\n2]\n\n";
    std::ofstream(path) << text;
    CHECK(read_text(path) == text);
    CHECK(read_json(path) == Json::array({1, 2}));
    std::ofstream(path) << "[1,\n";
    CHECK_THAT(message_of([&] { read_json(path); }), ContainsSubstring(path + ": not valid JSON"));
}

TEST_CASE("short_text() returns one line of at most 60 characters") {
    CHECK(short_text(Json::parse("{\"a\":\n [1, \"b\\nc\"]}")) == R"({"a":[1,"b\nc"]})");
    const std::string quote = "\"";
    CHECK(short_text(Json(std::string(58, 'x'))) == quote + std::string(58, 'x') + quote);
    const std::string cut = short_text(Json(std::string(59, 'x')));
    CHECK(cut == quote + std::string(56, 'x') + "...");
    CHECK(cut.size() == 60);
}

TEST_CASE("suggest_name() proposes a similar name, or else lists all names") {
    const std::vector<std::string> names = {"ring", "torus", "one_peer_exponential"};
    CHECK(suggest_name("rnig", names) == "; did you mean 'ring'?");
    CHECK(suggest_name("tours", names) == "; did you mean 'torus'?");
    CHECK(suggest_name("one_peer_exp", {"one_peer_expo", "ring"}) ==
          "; did you mean 'one_peer_expo'?");
    CHECK(suggest_name("complete", names) == "; choose from: ring, torus, one_peer_exponential");
    CHECK(suggest_name("ring", {}).empty());
    // A name is near if at most a third of its letters differ, or two letters of a short name.
    CHECK(suggest_name("one_peer_hypertential", names) == "; did you mean 'one_peer_exponential'?");
    CHECK(suggest_name("rats", {"ring"}) == "; choose from: ring");
    // Case and separators do not count; a word with another name, and a beginning, are known.
    CHECK(suggest_name("One-Peer-Exponential", names) == "; did you mean 'one_peer_exponential'?");
    CHECK(suggest_name("gpu", {"auto", "cpu", "cuda"}) == "; did you mean 'cuda'?");
    CHECK(suggest_name("gpu", {"auto", "cpu"}) == "; did you mean 'cpu'?");
    CHECK(suggest_name("one_peer", names) == "; did you mean 'one_peer_exponential'?");
    CHECK(suggest_name("n", {"k", "p"}) == "; choose from: k, p");
}

}  // namespace dbench::base
