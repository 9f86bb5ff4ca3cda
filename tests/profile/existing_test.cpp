// The path of a result file: which existing files are replaced, and which paths are refused.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <vector>

#include "base/error.hpp"
#include "catch.hpp"
#include "profile/content_checks.hpp"
#include "profile/output_check.hpp"
#include "profile/output_path.hpp"
#include "profile/result_file.hpp"
#include "profile/writing_process.hpp"

namespace dbench::profile::tests {
namespace {

std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream all;
    all << file.rdbuf();
    return all.str();
}

std::string refusal(const SyntheticRun& run) {
    comm::World world{comm::alone()};
    try {
        Recorder recorder(world, {run.replicas, 1}, run.options());
    } catch (const base::UserError& error) {
        return error.what();
    }
    return "";
}

using Catch::Matchers::ContainsSubstring;

}  // namespace

TEST_CASE("An existing file is not modified") {
    const Folder folder;
    SyntheticRun run;
    run.path = folder / "notes.txt";
    std::ofstream(run.path) << "not to be lost";
    for (const bool overwrite : {false, true}) {
        run.overwrite = overwrite;
        CHECK_THAT(refusal(run), ContainsSubstring("not a result file of dbench") &&
                                     ContainsSubstring("choose another") &&
                                     !ContainsSubstring("--overwrite"));
    }
    CHECK(bytes_of(run.path) == "not to be lost");
    CHECK(folder.entries() == 1);
}

TEST_CASE("An HDF5 file of another schema is not replaced") {
    const Folder folder;
    SyntheticRun run;
    run.path = folder / "other.h5";
    run.overwrite = true;
    h5::prepare();
    {
        const h5::File file(
            H5Fcreate(run.path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, h5::file_access()), "create");
        h5::write_attribute(file, "schema", "another");
    }
    const std::string before = bytes_of(run.path);
    CHECK_THAT(refusal(run), ContainsSubstring("not a result file of dbench"));
    CHECK(bytes_of(run.path) == before);
}

TEST_CASE("A result file is replaced only with --overwrite") {
    const Folder folder;
    comm::World world{comm::alone()};
    SyntheticRun run;
    run.path = folder / "run.h5";
    run.write(world);
    const std::string before = bytes_of(run.path);
    CHECK_THAT(refusal(run), ContainsSubstring("--overwrite"));
    CHECK(bytes_of(run.path) == before);
    run.overwrite = true;
    run.iterations = 7;
    run.write(world);
    CHECK(ResultReader(run.path).shape("/iterations/lr") == std::vector<hsize_t>{7});
    CHECK(folder.entries() == 1);
}

TEST_CASE("A file that another run is writing is not replaced") {
    const Folder folder;
    comm::World world{comm::alone()};
    SyntheticRun run;
    run.path = folder / "run.h5";
    Recorder writer(world, {run.replicas, 1}, run.options());
    run.overwrite = true;
    CHECK_THAT(refusal(run), ContainsSubstring("another run is writing it"));
    CHECK_THROWS_AS(clear_write_mark(run.path), base::UserError);
    run.record_all(world, writer);
    writer.finish("complete");
    CHECK(rows_differ(run, ResultReader(run.path), 1) == "");
}

TEST_CASE("Of several runs that start with one output at a time, one is not refused") {
    // Each process keeps its file open until all have tried, so that none replaces a finished one.
    constexpr int kTries = 40, kRuns = 4;
    for (int k = 0; k < kTries; ++k) {
        const Folder folder;
        SyntheticRun run;
        run.path = folder / "run.h5";
        if (k % 2 == 0) {
            comm::World world{comm::alone()};
            run.write(world);
        }
        run.overwrite = true;
        int tried[2], over[2];
        REQUIRE(pipe(tried) == 0);
        REQUIRE(pipe(over) == 0);
        std::vector<std::unique_ptr<Process>> runs;
        for (int each = 0; each < kRuns; ++each) {
            runs.push_back(std::make_unique<Process>([&] {
                close(over[1]);
                int status = 1;
                char byte = 0;
                comm::World world{comm::alone()};
                std::optional<Recorder> recorder;
                try {
                    recorder.emplace(world, comm::Placement{run.replicas, 1}, run.options());
                    status = 0;
                } catch (const base::UserError&) {
                }
                if (write(tried[1], "x", 1) != 1) return 2;
                while (read(over[0], &byte, 1) > 0) {
                }
                if (recorder) recorder->finish("complete");
                return status;
            }));
        }
        char byte = 0;
        for (int each = 0; each < kRuns; ++each) CHECK(read(tried[0], &byte, 1) == 1);
        CHECK(inspect(run.path).writer == Writer::alive);
        for (const int end : {tried[0], tried[1], over[0], over[1]}) close(end);
        int started = 0;
        for (const auto& each : runs) started += each->wait() == 0;
        CHECK(started == 1);
        CHECK(inspect(run.path).status == "complete");
        CHECK(folder.entries() == 1);
    }
}

TEST_CASE("A file that another run is about to replace is not replaced") {
    const Folder folder;
    comm::World world{comm::alone()};
    SyntheticRun run;
    run.path = folder / "run.h5";
    run.write(world);
    const std::string before = bytes_of(run.path);
    {
        const OutputPath first(run.path, true);
        CHECK_THROWS_AS(OutputPath(run.path, true), base::UserError);
    }
    CHECK_NOTHROW(OutputPath(run.path, true));
    CHECK(bytes_of(run.path) == before);
}

TEST_CASE("A file time in the future does not keep another host out") {
    const Folder folder;
    const auto writer_at = [&](double seconds) {
        SyntheticRun run;
        run.path = folder / "run.h5";
        const timespec time{::time(nullptr) + static_cast<time_t>(seconds), 0};
        const timespec times[2] = {time, time};
        REQUIRE(utimensat(AT_FDCWD, run.path.c_str(), times, 0) == 0);
        return inspect(run.path).seconds_since_write;
    };
    comm::World world{comm::alone()};
    SyntheticRun run;
    run.path = folder / "run.h5";
    run.write(world);
    CHECK(writer_at(-60) >= 60);
    CHECK(writer_at(60) == 0);       // Clocks of hosts differ.
    CHECK(writer_at(86400) >= 600);  // No clock is so wrong.
}

TEST_CASE("Missing folders are created") {
    const Folder folder;
    comm::World world{comm::alone()};
    SyntheticRun run;
    run.path = folder / "a/b/run.h5";
    run.write(world);
    CHECK(inspect(run.path).status == "complete");
}

TEST_CASE("What keeps a run from writing its output is known without writing anything") {
    const Folder folder;
    comm::World world{comm::alone()};
    CHECK(output_obstacle(folder / "a/b/run.h5") == "");
    CHECK(free_bytes_at(folder / "a/b/run.h5").value_or(0) > 0);
    CHECK(folder.entries() == 0);
    SyntheticRun run;
    run.path = folder / "run.h5";
    run.write(world);
    std::ofstream(folder / "file") << "x";
    const auto said = [](const std::string& path, const char* word) {
        return output_obstacle(path).find(word) != std::string::npos;
    };
    CHECK(said(run.path, "(it exists): give --overwrite, --resume"));
    CHECK(said(folder / "file", "not a result file"));
    CHECK(said(folder / "file/run.h5", "folder "));
    CHECK(said(folder / ".", "it is a folder"));
    CHECK(folder.entries() == 2);
}

TEST_CASE("An unwritable path is refused before training") {
    const Folder folder;
    SyntheticRun run;
    std::ofstream(folder / "file") << "x";
    run.path = folder / "file/run.h5";
    CHECK_THAT(refusal(run), ContainsSubstring("Not a directory"));
    run.path = folder / "file/deeper/run.h5";
    CHECK_THAT(refusal(run), ContainsSubstring("Not a directory"));
    run.path = folder / "";
    CHECK_THAT(refusal(run), ContainsSubstring("it is a folder"));
    run.path = "/proc/run.h5";
    CHECK_THAT(refusal(run), ContainsSubstring("cannot be written"));
    run.path = "/dev/null";
    run.overwrite = true;
    CHECK_THAT(refusal(run), ContainsSubstring("not an ordinary file"));
    run.path = "";
    CHECK_THAT(refusal(run), ContainsSubstring("no name"));
}

TEST_CASE("A symbolic link is kept when its target is replaced") {
    const Folder folder;
    comm::World world{comm::alone()};
    SyntheticRun run;
    run.path = folder / "target.h5";
    run.write(world);
    std::filesystem::create_symlink("target.h5", folder / "link.h5");
    run.path = folder / "link.h5";
    run.overwrite = true;
    run.iterations = 3;
    run.write(world);
    CHECK(std::filesystem::is_symlink(folder / "link.h5"));
    CHECK(inspect(folder / "target.h5").iterations == 3);
    std::filesystem::remove(folder / "target.h5");
    CHECK_THAT(refusal(run), ContainsSubstring("link without a target"));
}

}  // namespace dbench::profile::tests
