// Compressed copies of files: contents, refusals, and equal bytes for equal contents.

#include "data/compressed_copy.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "catch.hpp"
#include "data/files.hpp"
#include "data/support.hpp"

namespace dbench::data {
namespace {

using Catch::Matchers::ContainsSubstring;
using test::Bytes;
using test::Folder;

Bytes contents(size_t count) {
    Bytes bytes;
    for (size_t k = 0; k < count; ++k) bytes.push_back(static_cast<uint8_t>(k * k % 251));
    return bytes;
}

std::vector<CompressedFile> compress(const std::string& folder, const std::string& target,
                                     bool replace = false) {
    return compress_files(folder, files_to_compress(folder), target, replace,
                          [](int64_t, int64_t) {});
}

TEST_CASE("Compressed copies have the contents of the files") {
    const Folder folder;
    test::write_file(folder / "from/b.bin", contents(100000));
    test::write_file(folder / "from/a.bin", {});
    test::write_file(folder / "from/inner/c.bin", contents(3));
    const std::string target = folder / "new/to";
    const auto files = compress(folder / "from", target);
    REQUIRE(files.size() == 2);
    CHECK(files[0].name == "a.bin.gz");
    CHECK(files[0].bytes == 0);
    CHECK(files[1].name == "b.bin.gz");
    CHECK(files[1].bytes == 100000);
    CHECK(files[1].compressed < 10000);
    CHECK(files[1].digest == digest(contents(100000)));
    CHECK(std::filesystem::file_size(target + "/b.bin.gz") ==
          static_cast<uintmax_t>(files[1].compressed));
    CHECK(read_data_file(target + "/b.bin.gz", 1 << 20, "").bytes == contents(100000));
    CHECK(read_data_file(target + "/a.bin.gz", 1 << 20, "").bytes.empty());
    compress(folder / "from", folder / "again");
    const auto raw = [](const std::string& path) {
        std::ifstream file(path, std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(file), {});
    };
    CHECK(raw(folder / "again/b.bin.gz") == raw(target + "/b.bin.gz"));
    CHECK_FALSE(std::filesystem::exists(target + "/c.bin.gz"));
    CHECK_FALSE(std::filesystem::exists(target + "/b.bin.gz.partial"));
}

TEST_CASE("Existing files are replaced on request only") {
    const Folder folder;
    test::write_file(folder / "from/a.bin", contents(10));
    test::write_file(folder / "to/a.bin.gz", contents(7));
    CHECK_THAT(test::refusal([&] { compress(folder / "from", folder / "to"); }),
               ContainsSubstring("a.bin.gz exists already") && ContainsSubstring("--force"));
    CHECK(std::filesystem::file_size(folder / "to/a.bin.gz") == 7);
    compress(folder / "from", folder / "to", true);
    CHECK(read_data_file(folder / "to/a.bin.gz", 100, "").bytes == contents(10));
}

TEST_CASE("Folders without files to compress are refused") {
    const Folder folder;
    const auto refused = [&](const std::string& path) {
        return test::refusal([&] { files_to_compress(path); });
    };
    CHECK_THAT(refused(folder / "none"), ContainsSubstring("cannot be read"));
    CHECK_THAT(refused(folder.path()), ContainsSubstring("has no file"));
    test::write_file(folder / "a.gz", {});
    CHECK_THAT(refused(folder.path()), ContainsSubstring("is compressed already"));
}

TEST_CASE("A folder that cannot be created is an error") {
    const Folder folder;
    test::write_file(folder / "from/a.bin", contents(10));
    test::write_file(folder / "file", {});
    CHECK_THROWS_AS(compress(folder / "from", folder / "file/to"), base::RunError);
}

}  // namespace
}  // namespace dbench::data
