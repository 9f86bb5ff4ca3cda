// Flushes of the recorder while ranks are late.

#include "catch.hpp"
#include "comm/ranks.hpp"
#include "comm/turns.hpp"
#include "profile/content_checks.hpp"

namespace dbench::profile::tests {

namespace {

/// Records a run whose ranks take turns in being late by `apart` iterations. Returns the number of
/// progress reports: one per flush, and one at the end.
int count_flushes(SyntheticRun& run, int64_t min_sync_interval) {
    const Folder folder;
    run.path = folder / "run.h5";
    run.step = 2;  // Seconds: so long that every possible flush happens.
    constexpr int kRanks = 3;
    comm::tests::Turns turns(kRanks);
    int flushes = 0;
    for (const std::string& problem :
         comm::tests::play(kRanks, [&](comm::World& world) -> std::string {
             const comm::Placement placement{run.replicas, kRanks};
             const int me = world.rank();
             RecorderOptions options = run.options();
             options.min_sync_interval = min_sync_interval;
             options.progress = [&](const Progress&) { ++flushes; };
             Recorder recorder(world, placement, options);
             recorder.evaluation(run.evaluation(0));
             for (int64_t t = 0; t < run.iterations; ++t) {
                 const bool late = t % min_sync_interval == min_sync_interval - 1 &&
                                   t / min_sync_interval % kRanks == me &&
                                   t + min_sync_interval < run.iterations;
                 if (late && !turns.others_passed(t + min_sync_interval - 1, me))
                     return "they wait for " + std::to_string(me);
                 recorder.iteration(run.record(t, placement.begin(me), placement.count(me), me));
                 turns.pass(t, me);
             }
             recorder.evaluation(run.evaluation(run.iterations));
             recorder.finish("complete");
             return "";
         })) {
        CHECK(problem == "");
    }
    const ResultReader file(run.path);
    CHECK(rows_differ(run, file, kRanks) == "");
    CHECK(rows_of(file, "/iterations/iteration") == run.iterations);
    return flushes;
}

}  // namespace

TEST_CASE("No rank waits for a rank that is late for a flush") {
    SyntheticRun run;
    run.iterations = 24;
    // One more report follows the final evaluation.
    CHECK(count_flushes(run, 1) == run.iterations + 1);
    CHECK(count_flushes(run, 8) == run.iterations / 8 + 1);
}

}  // namespace dbench::profile::tests
