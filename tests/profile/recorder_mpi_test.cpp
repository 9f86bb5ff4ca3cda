// The recorder on several ranks.

#include "base/error.hpp"
#include "catch.hpp"
#include "profile/content_checks.hpp"
#include "profile/result_file.hpp"

namespace dbench::profile::tests {
namespace {

/// A folder for all ranks that rank 0 creates and removes.
class SharedFolder {
public:
    explicit SharedFolder(comm::World& world) : world_(world) {
        if (world.rank() == 0) folder_ = std::make_unique<Folder>();
        path_ = folder_ ? *folder_ / "" : "";
        world.broadcast(path_);
    }
    ~SharedFolder() { world_.barrier(); }
    std::string operator/(const std::string& name) const { return path_ + name; }

private:
    comm::World& world_;
    std::unique_ptr<Folder> folder_;
    std::string path_;
};

}  // namespace

TEST_CASE("Any number of ranks writes the same rows") {
    comm::World world{comm::launch()};
    const SharedFolder folder(world);
    SyntheticRun run;
    run.path = folder / "run.h5";
    run.replicas = 7;
    run.iterations = 300;
    const ShiftSchedule schedule(7, 3);
    run.schedule = &schedule;
    run.write(world);
    if (world.rank() != 0) return;
    const ResultReader file(run.path);
    CHECK(rows_differ(run, file, world.size()) == "");
    CHECK(rows_of(file, "/iterations/iteration") == 300);
    const auto ranks = static_cast<hsize_t>(world.size());
    CHECK(file.integer("ranks") == world.size());
    CHECK(file.shape("/iterations/step_time") == std::vector<hsize_t>{300, ranks});
    CHECK(file.shape("/ranks/host") == std::vector<hsize_t>{ranks});
    const comm::Placement placement{7, world.size()};
    for (int rank = 0; rank < world.size(); ++rank) {
        CHECK(file.numbers("/ranks/first_replica").at(rank) == placement.begin(rank));
        CHECK(file.numbers("/ranks/local_rank").at(rank) == rank);
        CHECK(file.numbers("/ranks/slot").at(rank) == rank);
    }
    CHECK(file.shape("/graphs/offset") == std::vector<hsize_t>{4});
}

TEST_CASE("All ranks refuse an output that cannot be written") {
    comm::World world{comm::launch()};
    SyntheticRun run;
    run.path = "/proc/none/run.h5";
    const comm::Placement placement{run.replicas, world.size()};
    CHECK_THROWS_AS(Recorder(world, placement, run.options()), base::UserError);
}

TEST_CASE("Rank 0 closes the file without the other ranks after a failure") {
    comm::World world{comm::launch()};
    const SharedFolder folder(world);
    SyntheticRun run;
    run.path = folder / "run.h5";
    const comm::Placement placement{run.replicas, world.size()};
    const int64_t first = placement.begin(world.rank()), count = placement.count(world.rank());
    Recorder recorder(world, placement, run.options());
    for (int64_t t = 0; t < 12; ++t) {
        recorder.iteration(run.record(t, first, count, world.rank()));
    }
    world.barrier();
    recorder.fail("rank 1: gone");
    if (world.rank() != 0) return;
    const Inspection found = inspect(run.path);
    CHECK(found.status == "failed");
    CHECK(found.error == "rank 1: gone");
    CHECK(found.iterations >= 10);  // Rows of the flushes after 1, 2 and 10 iterations.
    CHECK(rows_differ(run, ResultReader(run.path), world.size()) == "");
}

TEST_CASE("Records of fast iterations are gathered together") {
    comm::World world{comm::launch()};
    const SharedFolder folder(world);
    SyntheticRun run;
    run.path = folder / "run.h5";
    run.iterations = 5000;
    run.step = 0.0001;
    run.every = run.variance_every = 100;
    int flushes = 0;
    RecorderOptions options = run.options();
    options.progress = [&](const Progress&) { ++flushes; };
    Recorder recorder(world, {run.replicas, world.size()}, options);
    run.record_all(world, recorder);
    recorder.finish("complete");
    if (world.rank() != 0) return;
    CHECK(flushes < 10);  // The reported times add up to about half a second.
    CHECK(rows_differ(run, ResultReader(run.path), world.size()) == "");
}

}  // namespace dbench::profile::tests
