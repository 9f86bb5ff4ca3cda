// Result files read by h5py, complete and while they are written.

#include <cstdio>

#include "catch.hpp"
#include "profile/content_checks.hpp"
#include "profile/writing_process.hpp"

namespace dbench::profile::tests {
namespace {

/// Returns this file's folder. CTest passes the path of tests/, as __FILE__ may be relative to the
/// build folder.
std::filesystem::path here() {
    const char* tests = std::getenv("DBENCH_TESTS");
    return tests ? std::filesystem::path(tests) / "profile"
                 : std::filesystem::path(__FILE__).parent_path();
}

/// Returns a Python with h5py: $DBENCH_PYTHON, else that of scripts/setup; "" if it has no h5py.
std::string python() {
    const char* given = std::getenv("DBENCH_PYTHON");
    const std::string program =
        given ? given : (here().parent_path().parent_path() / ".venv/bin/python").string();
    const std::string test = "'" + program + "' -c 'import h5py, numpy' >/dev/null 2>&1";
    return std::system(test.c_str()) == 0 ? program : "";
}

struct Output {
    int status;
    std::string text;
};

Output run_script(const std::string& program, const std::string& script, const std::string& words) {
    const std::string command =
        "'" + program + "' '" + (here() / script).string() + "' " + words + " 2>&1";
    FILE* pipe = popen(command.c_str(), "r");
    Output output{-1, ""};
    char part[256];
    while (fgets(part, sizeof part, pipe)) output.text += part;
    output.status = pclose(pipe);
    return output;
}

}  // namespace

TEST_CASE("h5py finds names, shapes, types and attributes as documented") {
    const std::string program = python();
    if (program.empty()) {
        WARN("skipped: no Python with h5py (DBENCH_PYTHON, or scripts/setup)");
        return;
    }
    const Folder folder;
    comm::World world{comm::alone()};
    SyntheticRun run;
    run.path = folder / "run.h5";
    const ShiftSchedule schedule(5, 3);
    run.schedule = &schedule;
    run.write(world);
    const Output output = run_script(program, "check_with_h5py.py", run.path + " 5 20 4 3");
    INFO(output.text);
    CHECK(output.status == 0);
}

TEST_CASE("h5py follows a file that is being written") {
    const std::string program = python();
    if (program.empty()) {
        WARN("skipped: no Python with h5py (DBENCH_PYTHON, or scripts/setup)");
        return;
    }
    const Folder folder;
    SyntheticRun run;
    run.path = folder / "run.h5";
    run.iterations = 1000000;
    run.step = run.estimate = 0.01;
    SharedNumber done;
    Process writer([&] { return write_slowly(run, done); });
    while (done.get() == 0) sleep_for(0.01);
    const Output output = run_script(program, "watch_with_h5py.py", run.path + " 8");
    INFO(output.text);
    CHECK(output.status == 0);
    CHECK(std::atoi(output.text.c_str()) > 30);
    writer.kill_now();
    const Output after = run_script(program, "watch_with_h5py.py", run.path + " 0.1");
    INFO(after.text);
    CHECK(after.status == 0);
}

}  // namespace dbench::profile::tests
