// Ranks of a job as the system shows them, read from a folder with the layout of Linux's /proc.

#include "comm/transport/siblings.hpp"

#include <fstream>
#include <string>
#include <vector>

#include "base/folder.hpp"
#include "catch.hpp"

namespace dbench::comm::tests {
namespace {

namespace fs = std::filesystem;

/// A folder like /proc that describes processes which do not exist.
class Processes {
public:
    void add(int number, int parent, const std::vector<std::string>& environment, char state = 'S',
             const std::string& thread = "") {
        const fs::path folder = root() / std::to_string(number);
        fs::create_directories(folder / "task" / "1");
        std::ofstream(folder / "stat")
            << number << " (a (name) of it) " << state << ' ' << parent << " 1 1";
        std::ofstream variables(folder / "environ", std::ios::binary);
        for (const std::string& variable : environment) variables << variable << '\0';
        std::ofstream(folder / "task" / "1" / "comm") << thread << '\n';
    }
    /// Makes a process the one that reads the folder.
    void is_this(int number) {
        fs::create_directory_symlink(std::to_string(number), root() / "self");
    }
    fs::path root() const { return folder_.path(); }

private:
    base::Folder folder_;
};

/// Returns "rank state stage" of each sibling.
std::vector<std::string> seen_siblings(const Processes& processes) {
    std::vector<std::string> all;
    for (const Sibling& each : siblings(processes.root())) {
        all.push_back(std::to_string(each.rank) + " " + each.state + " " + each.stage);
    }
    return all;
}

}  // namespace

TEST_CASE("Ranks of a job are found by the variables of its launcher") {
    Processes processes;
    processes.add(10, 1, {"PMI_RANK=1", "PMI_PORT=host:7"}, 'R', stage_thread("12"));
    processes.add(11, 1, {"PMI_RANK=0", "PMI_PORT=host:7"}, 'T', stage_thread("3"));
    processes.add(12, 1, {"PMI_RANK=2", "PMI_PORT=host:8"});
    processes.add(13, 1, {"HOME=/"});
    processes.is_this(10);
    CHECK(seen_siblings(processes) == std::vector<std::string>{"0 T 3", "1 R 12"});
}

TEST_CASE("Ranks of a job without a name are found by the process that started them") {
    Processes processes;
    processes.add(5, 1, {"HOME=/"});
    processes.add(6, 1, {"HOME=/"});
    processes.add(10, 5, {"PMI_RANK=0", "PMI_SIZE=2"});
    processes.add(11, 5, {"PMI_RANK=1", "PMI_SIZE=2"});  // a script
    processes.add(12, 11, {"PMI_RANK=1", "PMI_SIZE=2"}, 'D', stage_thread("1"));
    processes.add(20, 6, {"PMI_RANK=0", "PMI_SIZE=2"});  // a rank of another job
    processes.is_this(12);
    CHECK(seen_siblings(processes) == std::vector<std::string>{"0 S ", "1 S ", "1 D 1"});
}

TEST_CASE("A process without a launcher has no siblings") {
    Processes processes;
    processes.add(10, 1, {"HOME=/"});
    processes.is_this(10);
    CHECK(seen_siblings(processes).empty());
}

}  // namespace dbench::comm::tests
