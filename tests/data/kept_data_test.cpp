// KeptData loads again exactly if the samples may be others.

#include "data/kept_data.hpp"

#include "catch.hpp"
#include "data/support.hpp"

using namespace dbench;
using test::data_spec;
using test::Folder;
using test::refusal;

namespace {

/// Returns the resolved /data of a text file with further keys.
base::Json text_spec(const std::string& path, const std::string& keys = "") {
    return data_spec(R"({"type": "text", "path": ")" + path + R"(", "sequence": 4)" + keys + "}");
}

}  // namespace

TEST_CASE("files are read once for specs that use the same samples in other ways") {
    const Folder folder;
    const std::string path = folder / "words.txt";
    test::write_file(path, test::Bytes(1000, 'a'));
    data::KeptData kept;
    const data::DataSets first = kept.load(text_spec(path), {4, 1});
    std::filesystem::remove(path);
    for (const char* keys : {"", R"(, "partition": "contiguous")", R"(, "accumulate": 2)"}) {
        const data::DataSets again = kept.load(text_spec(path, keys), {8, 2});
        CHECK(again.train == first.train);
        CHECK(again.test == first.test);
        REQUIRE(again.digests.size() == first.digests.size());
        CHECK(again.digests.front().digest == first.digests.front().digest);
    }
    for (const char* keys : {R"(, "validation": 10)", R"(, "limit": {"train": 20})"}) {
        CHECK(refusal([&] { kept.load(text_spec(path, keys), {4, 1}); }) != "");
        // A refused spec leaves nothing behind that another one could use.
        CHECK(refusal([&] { kept.load(text_spec(path), {4, 1}); }) != "");
    }
}

TEST_CASE("generated sets depend on the seed and on the replicas") {
    const auto spec = data_spec(R"({"type": "regression", "samples": 8, "dimension": 2})");
    data::KeptData kept;
    const auto first = kept.load(spec, {4, 1});
    CHECK(kept.load(spec, {4, 1}).train == first.train);
    const auto other = kept.load(spec, {4, 2});
    CHECK(other.train != first.train);
    CHECK(other.train->target(0) != first.train->target(0));
    CHECK(kept.load(spec, {8, 2}).train->size() == 2 * other.train->size());
}
