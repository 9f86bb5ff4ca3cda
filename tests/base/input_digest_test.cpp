// Digests of inputs.

#include "base/input_digest.hpp"

#include "catch.hpp"

using namespace dbench::base;

TEST_CASE("crc32_text returns the CRC-32 of IEEE 802.3") {
    CHECK(crc32_text("123456789") == "crc32:cbf43926");  // the check value of the standard
    CHECK(crc32_text("") == "crc32:00000000");
    CHECK(crc32_text(std::string_view("\0\xff", 2)) != crc32_text(std::string_view("\xff\0", 2)));
}

TEST_CASE("The digest of a file has its name, size, path and content") {
    const InputDigest found = digest_of_file("folder/graph.txt", "123456789");
    CHECK(found.name == "graph.txt");
    CHECK(found.path == "folder/graph.txt");
    CHECK(found.bytes == 9);
    CHECK(found.digest == "crc32:cbf43926");
    CHECK(found != digest_of_file("folder/graph.txt", "123456780"));
}
