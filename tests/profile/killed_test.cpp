// Result files of killed writers: they can be read, cleaned up and overwritten.

#include <fstream>

#include "base/error.hpp"
#include "base/random.hpp"
#include "catch.hpp"
#include "profile/content_checks.hpp"
#include "profile/lookup3.hpp"
#include "profile/result_file.hpp"
#include "profile/writing_process.hpp"

namespace dbench::profile::tests {
namespace {

SyntheticRun endless(const Folder& folder) {
    SyntheticRun run;
    run.path = folder / "run.h5";
    run.iterations = 1000000;
    run.every = 1;
    return run;
}

bool wait_for_file(const std::string& path) {
    for (int tries = 0; tries < 2000; ++tries) {
        if (std::filesystem::exists(path)) return true;
        sleep_for(0.01);
    }
    return false;
}

/// Checks that HDF5 alone can open the file for writing, as programs without dbench would.
void check_opens_for_writing(const std::string& path) {
    h5::prepare();
    h5::File file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), "open it");
    CHECK(file.close());
}

}  // namespace

TEST_CASE("A file can be read after a kill at any moment") {
    base::Random random(3, base::Purpose::shuffle);
    for (int attempt = 0; attempt < 12; ++attempt) {
        const Folder folder;
        SyntheticRun run = endless(folder);
        run.step = attempt % 2 ? 0.0005 : 0.00002;  // Chunks are written rarely, or all the time.
        run.estimate = attempt % 3 ? 0.00005 : 0.01;
        SharedNumber done;
        Process writer([&] { return write_slowly(run, done); });
        REQUIRE(wait_for_file(run.path));
        sleep_for(0.8 * random.uniform());
        writer.kill_now();
        CHECK(rows_differ(run, ResultReader(run.path), 1) == "");

        const Inspection found = inspect(run.path);
        CHECK(found.writer == Writer::dead);
        CHECK(found.flagged);
        CHECK(found.status == "running");
        CHECK_THAT(to_text(found), Catch::Matchers::ContainsSubstring("its writer is dead"));
        CHECK(clear_write_mark(run.path));
        CHECK_FALSE(clear_write_mark(run.path));
        check_opens_for_writing(run.path);
        CHECK(rows_differ(run, ResultReader(run.path), 1) == "");
        CHECK(inspect(run.path).writer == Writer::dead);
        CHECK(inspect(run.path).status == "running");
        CHECK(inspect(run.path).iterations == found.iterations);
    }
}

TEST_CASE("A killed run can be overwritten") {
    const Folder folder;
    SyntheticRun run = endless(folder);
    SharedNumber done;
    Process writer([&] { return write_slowly(run, done); });
    REQUIRE(wait_for_file(run.path));
    writer.kill_now();
    run.overwrite = true;
    run.iterations = 5;
    comm::World world{comm::alone()};
    run.write(world);
    CHECK(inspect(run.path).iterations == 5);
}

TEST_CASE("Readers see all but the last few seconds of a run in progress") {
    // Iterations take the estimated time, or two hundred times as long.
    const double estimate = GENERATE(0.05, 0.00025);
    const Folder folder;
    SyntheticRun run = endless(folder);
    run.step = 0.05;
    run.estimate = estimate;
    SharedNumber done;
    Process writer([&] { return write_slowly(run, done); });
    REQUIRE(wait_for_file(run.path));
    CHECK(rows_differ(run, ResultReader(run.path), 1) == "");  // From the first moment on.
    std::vector<std::pair<double, int64_t>> history;
    int64_t most = 0, early_bytes = 0, bytes = 0;
    for (const double start = base::now(); base::now() - start < 10;) {
        sleep_for(0.25);
        const int64_t before = done.get();
        history.emplace_back(base::now(), before);
        const ResultReader file(run.path);
        CHECK(rows_differ(run, file, 1) == "");
        const int64_t rows = rows_of(file, "/iterations/iteration");
        CHECK(rows >= most);
        most = rows;
        for (const auto& [when, finished] : history) {
            if (base::now() - when > 7) CHECK(rows >= finished);
        }
        CHECK(inspect(run.path).writer == Writer::alive);
        CHECK_THROWS_AS(clear_write_mark(run.path), base::UserError);
        bytes = inspect(run.path).bytes;
        if (base::now() - start < 6) early_bytes = bytes;
    }
    CHECK(most > 50);
    writer.kill_now();
    CHECK(rows_differ(run, ResultReader(run.path), 1) == "");
    CHECK(inspect(run.path).writer == Writer::dead);
    // No row is appended twice: about 80 more rows of 600 bytes.
    CHECK(bytes - early_bytes < 200000);
    CHECK(bytes < (estimate == run.step ? 500000 : 5000000));
}

TEST_CASE("The mark of a writer that died while closing the file can be cleared") {
    const Folder folder;
    comm::World world{comm::alone()};
    SyntheticRun run;
    run.path = folder / "run.h5";
    run.write(world);
    // Leaves the file like a process that dies after opening it to write its status.
    Process closing([&] {
        const h5::File file = open_for_change(run.path);
        H5Fflush(file, H5F_SCOPE_LOCAL);
        kill(getpid(), SIGKILL);
        return 0;
    });
    CHECK(closing.wait() == -SIGKILL);
    const Inspection found = inspect(run.path);
    CHECK(found.flagged);
    CHECK_FALSE(found.readable);
    CHECK_FALSE(found.problem.empty());
    CHECK(clear_write_mark(run.path));
    CHECK(inspect(run.path).status == "complete");
    CHECK(rows_differ(run, ResultReader(run.path), 1) == "");
}

TEST_CASE("lookup3 gives the checksums of its reference test") {
    const std::string text = "Four score and seven years ago";
    const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
    CHECK(lookup3({bytes, text.size()}) == 0x17770551);
    CHECK(lookup3({}) == 0xdeadbeef);
}

TEST_CASE("A file that is not a result file is not inspected") {
    const Folder folder;
    CHECK_THROWS_AS(inspect(folder / "none.h5"), base::UserError);
    std::ofstream(folder / "text.h5") << "text";
    CHECK_THROWS_AS(inspect(folder / "text.h5"), base::UserError);
    CHECK_THROWS_AS(clear_write_mark(folder / "text.h5"), base::UserError);
    std::ofstream(folder / "cut.h5") << "\x89HDF\r\n\x1a\n\x03";
    CHECK_THROWS_AS(inspect(folder / "cut.h5"), base::UserError);
    CHECK_THROWS_AS(inspect("/dev/null"), base::UserError);
}

}  // namespace dbench::profile::tests
