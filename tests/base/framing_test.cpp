#include "base/framing.hpp"

#include "base/error.hpp"
#include "catch.hpp"

namespace dbench::base {

TEST_CASE("split_texts() returns the texts that join_texts() joined") {
    const std::vector<std::string> texts{"", "a", std::string(3, '\0'), std::string(5000, 'x'), ""};
    CHECK(split_texts(join_texts(texts)) == texts);
    CHECK(join_texts({}).empty());
    CHECK(split_texts("").empty());
    CHECK(join_texts({"ab", "c"}).size() == 8 + 2 + 8 + 1);
}

TEST_CASE("Joined texts that end early are refused") {
    const std::string whole = join_texts({"some text", "and more"});
    for (const size_t length : {1, 7, 8, 12, 20}) {
        CHECK_THROWS_AS(split_texts(whole.substr(0, length)), RunError);
    }
    // A length that exceeds any memory.
    CHECK_THROWS_AS(split_texts(std::string(8, '\xff')), RunError);
}

}  // namespace dbench::base
