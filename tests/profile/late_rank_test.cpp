#include "catch.hpp"
#include "comm/ranks.hpp"
#include "comm/turns.hpp"
#include "profile/content_checks.hpp"

namespace dbench::profile::tests {

namespace {

/// A run whose ranks take turns in being late, by `apart` iterations; how often rows reached the
/// file, and its end.
int flushes_of(SyntheticRun& run, int64_t apart) {
    const Folder folder;
    run.path = folder / "run.h5";
    run.step = 2;  // seconds: rows leave as often as they may
    constexpr int kRanks = 3;
    comm::tests::Turns turns(kRanks);
    int flushes = 0;
    for (const std::string& problem :
         comm::tests::play(kRanks, [&](comm::World& world) -> std::string {
             const comm::Placement placement{run.replicas, kRanks};
             const int me = world.rank();
             RecorderOptions options = run.options();
             options.apart = apart;
             options.progress = [&](const Progress&) { ++flushes; };
             Recorder recorder(world, placement, options);
             recorder.evaluation(run.evaluation(0));
             for (int64_t t = 0; t < run.iterations; ++t) {
                 const bool late = t % apart == apart - 1 && t / apart % kRanks == me &&
                                   t + apart < run.iterations;
                 if (late && !turns.others_passed(t + apart - 1, me))
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
    const Reading file(run.path);
    CHECK(rows_differ(run, file, kRanks) == "");
    CHECK(rows_of(file, "/iterations/iteration") == run.iterations);
    return flushes;
}

}  // namespace

TEST_CASE("Nobody waits for a rank that is late for a flush") {
    SyntheticRun run;
    run.iterations = 24;
    CHECK(flushes_of(run, 1) == run.iterations + 1);  // and the final evaluation
    CHECK(flushes_of(run, 8) == run.iterations / 8 + 1);
}

}  // namespace dbench::profile::tests
