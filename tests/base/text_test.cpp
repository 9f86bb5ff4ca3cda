#include "base/text.hpp"

#include "catch.hpp"

namespace dbench::base {

TEST_CASE("column() pads to a width and appends a blank to a text that is too long") {
    CHECK(column("ab", 4) == "ab  ");
    CHECK(column("abc", 4) == "abc ");
    CHECK(column("abcd", 4) == "abcd ");
    CHECK(column("abcdef", 4) == "abcdef ");
}

TEST_CASE("aligned() aligns the first column to the left and the others to the right") {
    CHECK(aligned({{"graph", "n", "rate"}, {"ring", "1000", "0.5"}}) ==
          "graph     n  rate\n"
          "ring   1000   0.5\n");
    CHECK(aligned({}).empty());
    CHECK(aligned({{"a"}, {"b", "c"}}) == "a\nb  c\n");
}

TEST_CASE("number_text() writes whole numbers without a fraction") {
    CHECK(number_text(0) == "0");
    CHECK(number_text(-3) == "-3");
    CHECK(number_text(1e14) == "100000000000000");
    CHECK(number_text(0.1234567) == "0.1234567");
    CHECK(number_text(1e-13) == "1e-13");
}

TEST_CASE("bytes_text() uses the largest unit in which the number is at least 1") {
    CHECK(bytes_text(0) == "0 B");
    CHECK(bytes_text(1023) == "1023 B");
    CHECK(bytes_text(1024) == "1.0 KiB");
    CHECK(bytes_text(1.5 * (1 << 30)) == "1.5 GiB");
    CHECK(bytes_text(1e18) == "909494.7 TiB");
}

}  // namespace dbench::base
