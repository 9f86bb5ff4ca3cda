// Result files on a full disk or at a file-size limit.

#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/error.hpp"
#include "catch.hpp"
#include "profile/content_checks.hpp"
#include "profile/result_file.hpp"
#include "profile/writing_process.hpp"

namespace dbench::profile::tests {
namespace {

void limit_file_size(rlim_t bytes) {
    const struct rlimit limit { bytes, bytes };
    setrlimit(RLIMIT_FSIZE, &limit);
}

int64_t size_of_file(const std::string& path) {
    struct stat status {};
    return stat(path.c_str(), &status) == 0 ? status.st_size : -1;
}

enum Outcome : int { kFinished = 0, kRefused = 1, kFailed = 2, kOther = 3 };

/// Records the run until its end or until the file cannot be written, and handles the error like
/// the program. Calls `at_row(t)` after each iteration.
int record(
    const SyntheticRun& run, const std::string& reason,
    const std::function<void(int64_t)>& at_row = [](int64_t) {}) {
    comm::World world{comm::alone()};
    try {
        Recorder recorder(world, {run.replicas, 1}, run.options());
        try {
            run.record_all(world, recorder, at_row);
            recorder.finish("complete");
        } catch (const base::RunError& error) {
            recorder.fail(error.what());
            const std::string text = error.what();
            const bool told =
                text.find(reason) != std::string::npos && text.find(run.path) != std::string::npos;
            if (!told) fprintf(stderr, "%s\n", text.c_str());
            return told ? kFailed : kOther;
        }
    } catch (const base::UserError& error) {
        return kRefused;
    }
    return kFinished;
}

SyntheticRun large(const std::string& path) {
    SyntheticRun run;
    run.path = path;
    run.replicas = 64;
    run.tensors = 64;
    run.every = 1;
    run.iterations = 3000;
    run.step = 0.02;
    run.estimate = 0.1;  // Chunks of 20 rows.
    return run;
}

/// Checks that the rows in the file are correct and that its status is `failed` with a reason.
void check_left(const SyntheticRun& run) {
    CHECK(rows_differ(run, ResultReader(run.path), 1) == "");
    CHECK(rows_of(ResultReader(run.path), "/iterations/train_loss") > 0);
    const Inspection found = inspect(run.path);
    CHECK(found.readable);
    CHECK(found.status == "failed");
    CHECK_FALSE(found.error.empty());
    CHECK_FALSE(found.flagged);
}

}  // namespace

TEST_CASE("A run fails when its file may not grow any more, and the file remains readable") {
    const Folder folder;
    const SyntheticRun run = large(folder / "run.h5");
    Process writer([&] {
        limit_file_size(6 << 20);
        return record(run, "File too large");
    });
    CHECK(writer.wait() == kFailed);
    check_left(run);
}

TEST_CASE("A write that fails after its space was reserved leaves a readable file") {
    // The limit is set between the reservation and the write, so HDF5's own writes fail.
    for (const int64_t row : {60, 150, 333}) {
        const Folder folder;
        const SyntheticRun run = large(folder / "run.h5");
        Process writer([&] {
            return record(run, "cannot", [&](int64_t t) {
                if (t == row) limit_file_size(static_cast<rlim_t>(size_of_file(run.path)) + 100000);
            });
        });
        CHECK(writer.wait() == kFailed);
        check_left(run);
    }
}

TEST_CASE("Too little space for the file's head is a user error") {
    const Folder folder;
    const SyntheticRun run = large(folder / "run.h5");
    Process writer([&] {
        limit_file_size(20000);
        return record(run, "");
    });
    CHECK(writer.wait() == kRefused);
    CHECK(folder.entries() == 0);
}

TEST_CASE("A full disk fails the run, and the file remains readable") {
    const Folder folder;
    if (mount("none", (folder / "").c_str(), "tmpfs", 0, "size=4m") != 0) {
        WARN("skipped: this process may not mount a small file system");
        return;
    }
    const SyntheticRun run = large(folder / "run.h5");
    Process writer([&] { return record(run, "No space left on device"); });
    CHECK(writer.wait() == kFailed);
    check_left(run);
    umount2((folder / "").c_str(), MNT_DETACH);
}

}  // namespace dbench::profile::tests
