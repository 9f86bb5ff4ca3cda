// Verification of result files: damaged bytes are found and named.

#include "profile/verify.hpp"

#include <fstream>
#include <iterator>

#include "base/message_of.hpp"
#include "catch.hpp"
#include "profile/h5.hpp"
#include "profile/synthetic_run.hpp"

namespace dbench::profile::tests {
namespace {

using Catch::Matchers::ContainsSubstring;

struct WrittenRun {
    Folder folder;
    std::string path = folder / "run.h5";

    WrittenRun() {
        comm::World world{comm::alone()};
        const ShiftSchedule schedule(5, 3);
        SyntheticRun run;
        run.path = path;
        run.schedule = &schedule;
        run.write(world);
    }

    void flip(haddr_t at) const {
        std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
        file.seekg(static_cast<std::streamoff>(at));
        const char byte = static_cast<char>(file.get() ^ 0x10);
        file.seekp(static_cast<std::streamoff>(at));
        file.put(byte);
    }
};

struct Chunk {
    int64_t row = 0;
    haddr_t at = 0;
    hsize_t bytes = 0;
};

/// Finds the data set's last chunk of rows, with its checksum.
Chunk last_chunk(const std::string& path, const char* name) {
    h5::prepare();
    const h5::File file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, h5::file_access()), "open it");
    const h5::Dataset dataset = h5::open_dataset(file, name);
    const h5::Space space(H5Dget_space(dataset), "read a size");
    hsize_t chunks = 0;
    h5::check(H5Dget_num_chunks(dataset, space, &chunks), "count chunks");
    std::vector<hsize_t> start(h5::extents(dataset).size());
    Chunk chunk;
    unsigned skipped = 0;
    h5::check(H5Dget_chunk_info(dataset, space, chunks - 1, start.data(), &skipped, &chunk.at,
                                &chunk.bytes),
              "find a chunk");
    chunk.row = static_cast<int64_t>(start[0]);
    return chunk;
}

std::string contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("A file without damage passes the verification") {
    const WrittenRun run;
    const Verification found = verify(run.path);
    CHECK(found.damage.empty());
    CHECK(found.data_sets > 20);
    CHECK(found.with_checksums == found.data_sets);
    CHECK_THAT(to_text(found), ContainsSubstring("all good"));
}

TEST_CASE("One wrong byte of a stored row is found, and its data set and row are named") {
    const WrittenRun run;
    for (const char* name :
         {"iterations/train_loss", "iterations/step_time", "parameters/norm", "parameters/variance",
          "evaluations/mean_loss", "graphs/weight", "tensors/name"}) {
        CAPTURE(name);
        const Chunk chunk = last_chunk(run.path, name);
        for (const hsize_t behind : {hsize_t{0}, chunk.bytes / 2, chunk.bytes - 1}) {
            const haddr_t at = chunk.at + behind;
            run.flip(at);
            const Verification found = verify(run.path);
            REQUIRE(found.damage.size() == 1);
            CHECK(found.damage[0].data_set == name);
            CHECK(found.damage[0].first == chunk.row);
            CHECK(found.damage[0].last >= chunk.row);
            CHECK_THAT(to_text(found),
                       ContainsSubstring("NOT all good") && ContainsSubstring(name));
            run.flip(at);
            CHECK(verify(run.path).damage.empty());
        }
    }
}

TEST_CASE("One wrong character of a stored text is found") {
    const WrittenRun run;
    const size_t at = contents(run.path).find(R"("name": "synthetic")");
    REQUIRE(at != std::string::npos);
    run.flip(at + 1);
    const Verification found = verify(run.path);
    REQUIRE(found.damage.size() == 1);
    CHECK(found.damage[0].data_set == "spec");
    CHECK_THAT(to_text(found), ContainsSubstring("its checksum differs"));
}

TEST_CASE("A file that cannot be opened is an error that names it") {
    const WrittenRun run;
    std::filesystem::resize_file(run.path, 40);
    CHECK_THAT(base::message_of([&] { verify(run.path); }), ContainsSubstring(run.path));
}

}  // namespace dbench::profile::tests
