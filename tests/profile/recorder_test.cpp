// The recorder on one rank: its files hold what was recorded.

#include "profile/recorder.hpp"

#include "catch.hpp"
#include "profile/content_checks.hpp"
#include "profile/result_file.hpp"

namespace dbench::profile::tests {
namespace {

using Shape = std::vector<hsize_t>;

SyntheticRun in(const Folder& folder) {
    SyntheticRun run;
    run.path = folder / "run.h5";
    return run;
}

/// Records iterations [first, end) as a start that uses `schedule`; first > 0 continues the file.
void record_start(SyntheticRun run, const graphs::Schedule& schedule, int64_t first, int64_t end,
                  const std::string& status = "preempted") {
    comm::World world{comm::alone()};
    run.replicas = schedule.size();
    run.schedule = &schedule;
    RecorderOptions options = run.options();
    options.first = first;
    options.overwrite = options.continued = first > 0;
    Recorder recorder(world, {run.replicas, 1}, options);
    for (int64_t t = first; t < end; ++t) recorder.iteration(run.record(t, 0, run.replicas, 0));
    recorder.finish(status);
}

/// Records iterations [first, end) as a start that is stopped; first > 0 continues the file.
void record_part(const SyntheticRun& run, int64_t replicas, int64_t first, int64_t end) {
    record_start(run, ShiftSchedule(static_cast<int>(replicas), 3), first, end);
}

/// Uses ShiftSchedule's matrix `before` until iteration `change`, and its matrix `after` from then
/// on.
class PlannedSchedule final : public ShiftSchedule {
public:
    PlannedSchedule(int64_t change, uint64_t before, uint64_t after)
        : ShiftSchedule(5, 4), change_(change), before_(before), after_(after) {}
    graphs::Round at(int64_t t) const override { return {t < change_ ? before_ : after_, true}; }
    graphs::Round certified() const override { return {0, true}; }

private:
    int64_t change_;
    uint64_t before_, after_;
};

}  // namespace

TEST_CASE("A recorded run reads back as it was recorded") {
    const Folder folder;
    comm::World world{comm::alone()};
    SyntheticRun run = in(folder);
    run.precision = GENERATE(arena::DType::float32, arena::DType::float64);
    run.iterations = GENERATE(1, 20, 2500);
    run.write(world);
    const ResultReader file(run.path);
    CHECK(rows_differ(run, file, 1) == "");
    const auto rows = static_cast<hsize_t>(run.iterations), profiled = (rows + 1) / 2,
               measured = (rows + 3) / 4;
    CHECK(file.shape("/iterations/iteration") == Shape{rows});
    CHECK(file.shape("/iterations/train_loss") == Shape{rows, 5});
    CHECK(file.shape("/iterations/step_time") == Shape{rows, 1});
    CHECK(file.shape("/parameters/norm") == Shape{profiled, 5, 4});
    CHECK(file.shape("/parameters/gini") == Shape{profiled, 4});
    CHECK(file.shape("/parameters/variance_after") == Shape{measured, 4});
    CHECK(file.shape("/evaluations/local_accuracy") == Shape{2, 3});
    const size_t real = run.precision == arena::DType::float32 ? 4 : 8;
    for (const char* name :
         {"/iterations/train_loss", "/parameters/norm", "/parameters/update_norm",
          "/evaluations/local_loss", "/evaluations/validation_mean_loss"}) {
        CHECK(file.element_bytes(name) == real);
    }
    for (const char* name :
         {"/iterations/train_accuracy", "/parameters/gini", "/parameters/variance",
          "/iterations/step_time", "/evaluations/mean_accuracy"}) {
        CHECK(file.element_bytes(name) == 8);
    }
}

TEST_CASE("The file's head describes the run") {
    const Folder folder;
    comm::World world{comm::alone()};
    const SyntheticRun run = in(folder);
    run.write(world);
    const ResultReader file(run.path);
    CHECK(file.attribute("schema") == "dbench-run");
    CHECK(file.integer("schema_version") == 1);
    CHECK(file.attribute("status") == "complete");
    CHECK(file.attribute("name") == "synthetic");
    CHECK(file.integer("replicas") == 5);
    CHECK(file.integer("ranks") == 1);
    CHECK(file.attribute("started").size() == 20);
    CHECK(file.attribute("finished").size() == 20);
    CHECK(file.attribute("error").empty());
    CHECK(file.texts("/spec").at(0) == run.options().spec);
    CHECK(file.texts("/provenance").at(0) == run.options().provenance);
    CHECK(file.texts("/tensors/name").at(3) == "layer3.weight");
    CHECK(file.texts("/tensors/kind") ==
          std::vector<std::string>{"weight", "bias", "norm", "weight"});
    CHECK(file.numbers("/tensors/numel") == std::vector<double>{1, 2, 3, 4});
    CHECK(file.texts("/ranks/host").at(0) == world.host());
    CHECK(file.texts("/ranks/device").at(0) == "cpu");
    CHECK(file.numbers("/ranks/cpus").at(0) == 3);
    CHECK(file.numbers("/ranks/first_replica").at(0) == 0);
    CHECK(file.numbers("/evaluations/replica") == std::vector<double>{0, 1, 3});
    CHECK(file.numbers("/segments/first_iteration") == std::vector<double>{0});
    CHECK(file.numbers("/segments/last_iteration") == std::vector<double>{19});
    CHECK(file.texts("/segments/reason").at(0) == "complete");
    CHECK(file.texts("/events/text").at(0) == "matrix 0");
    CHECK(file.attribute("unit", "/iterations/step_time") == "s");
    CHECK(file.attribute("dimensions", "/parameters/norm") == "J,n,T");
    CHECK_FALSE(file.attribute("description", "/parameters/gini").empty());
}

TEST_CASE("Evaluations are recorded, including those on the validation set") {
    const Folder folder;
    comm::World world{comm::alone()};
    const SyntheticRun run = in(folder);
    run.write(world);
    const ResultReader file(run.path);
    CHECK(file.numbers("/evaluations/iteration") == std::vector<double>{0, 20});
    CHECK(file.numbers("/evaluations/epoch") == std::vector<double>{0, 2.5});
    CHECK(file.numbers("/evaluations/elapsed") == std::vector<double>{0, 5});
    CHECK(file.numbers("/evaluations/mean_accuracy") == std::vector<double>{0, 0.4});
    CHECK(file.numbers("/evaluations/validation_mean_loss") == std::vector<double>{3, 3});
    const std::vector<double> losses{3, 2.9375, 2.875, 3, 2.9375, 2.875};
    CHECK(file.numbers("/evaluations/local_loss") == losses);
    CHECK(file.numbers("/evaluations/local_accuracy").at(5) == 0.01 * 20 + 0.001 * 2);
}

TEST_CASE("Measurements that a run does not record have no data set") {
    const Folder folder;
    comm::World world{comm::alone()};
    SyntheticRun run = in(folder);
    run.norms = run.variance = run.after = run.validation = false;
    run.write(world);
    const ResultReader file(run.path);
    CHECK(rows_differ(run, file, 1) == "");
    CHECK_FALSE(file.has("/parameters/norm"));
    CHECK_FALSE(file.has("/parameters/gini"));
    CHECK_FALSE(file.has("/parameters/variance"));
    CHECK_FALSE(file.has("/parameters/variance_after"));
    CHECK_FALSE(file.has("/evaluations/validation_mean_loss"));
    CHECK(file.shape("/parameters/iteration") == Shape{0});
    CHECK(file.shape("/graphs/offset") == Shape{1});
    CHECK(file.numbers("/iterations/graph") == std::vector<double>(20, -1));
}

TEST_CASE("Values that are not finite are recorded unchanged") {
    const Folder folder;
    comm::World world{comm::alone()};
    SyntheticRun run = in(folder);
    run.nan_from = 7;
    run.write(world);
    CHECK(rows_differ(run, ResultReader(run.path), 1) == "");
    CHECK(std::isnan(ResultReader(run.path).numbers("/iterations/train_loss").back()));
}

TEST_CASE("Runs with one replica and with very many replicas are recorded") {
    const Folder folder;
    comm::World world{comm::alone()};
    SyntheticRun run = in(folder);
    SECTION("one") { run.replicas = run.evaluated = 1; }
    SECTION("1008 replicas of 65 tensors") {
        run.replicas = 1008;
        run.evaluated = 1008;
        run.tensors = 65;
    }
    SECTION("many tensors") {
        run.tensors = 1500;
        run.replicas = 2;
        run.evaluated = 2;
    }
    SECTION("nothing evaluated") { run.evaluated = 0; }
    run.write(world);
    const ResultReader file(run.path);
    CHECK(rows_differ(run, file, 1) == "");
    const auto m = static_cast<hsize_t>(run.evaluated);
    CHECK(file.shape("/evaluations/replica") == Shape{m});
    CHECK(file.shape("/evaluations/local_accuracy")[1] == m);
}

TEST_CASE("Each matrix is listed once, in the order of first use") {
    const Folder folder;
    comm::World world{comm::alone()};
    SyntheticRun run = in(folder);
    const ShiftSchedule schedule(5, 3);
    run.schedule = &schedule;
    run.write(world);
    const ResultReader file(run.path);
    CHECK(rows_differ(run, file, 1) == "");
    std::vector<double> rows;
    for (int t = 0; t < 20; ++t) rows.push_back(t == 3 ? -1 : t % 3);
    CHECK(file.numbers("/iterations/graph") == rows);
    CHECK(file.numbers("/graphs/offset") == std::vector<double>{0, 10, 20, 30});
    CHECK(file.shape("/graphs/edge") == Shape{30, 2});
    // In matrix 1, replica 4 receives from replica 4 + 2 = 1 (mod 5).
    const std::vector<double> edge = file.numbers("/graphs/edge"),
                              weight = file.numbers("/graphs/weight");
    CHECK(std::vector<double>(edge.begin() + 36, edge.begin() + 40) ==
          std::vector<double>{4, 1, 4, 4});
    CHECK(weight.at(18) == 0.25);
    CHECK(weight.at(19) == 0.75);
    CHECK(file.numbers("/graphs/degree") == std::vector<double>{1, 1, 1});
    CHECK(file.numbers("/graphs/rho").at(0) == 0.75);  // From the certificate.
    CHECK(file.attribute("certificate", "/graphs") == run.options().certificate);
    CHECK(file.attribute("certificate_of", "/graphs") == run.options().certificate_of);
}

TEST_CASE("After a change of replicas, a second resumption numbers matrices as the first did") {
    const Folder folder;
    const SyntheticRun run = in(folder);
    record_part(run, 5, 0, 10);
    // A run that was stopped computes no eigenvalues.
    CHECK(std::isnan(ResultReader(run.path).numbers("/graphs/rho").at(1)));
    record_part(run, 4, 10, 14);
    record_part(run, 4, 14, 17);
    std::vector<double> rows(10, -1);  // Matrices of five replicas are not kept.
    for (const int row : {0, 1, 2, 0, 1, 2, 0}) rows.push_back(row);
    const ResultReader file(run.path);
    CHECK(file.numbers("/iterations/graph") == rows);
    CHECK(file.shape("/graphs/offset") == Shape{4});
}

TEST_CASE("A resumed run keeps the matrices of earlier iterations if the plan has changed") {
    const Folder folder;
    const SyntheticRun run = in(folder);
    record_start(run, PlannedSchedule(4, 0, 1), 0, 10);
    const std::vector<double> edges_before = ResultReader(run.path).numbers("/graphs/edge");
    const PlannedSchedule changed(10, 2, 0);
    record_start(run, changed, 8, 12);
    // The second start has matrix 2 first, as a new row, and then matrix 0, which has a row.
    std::vector<double> rows{0, 0, 0, -1, 1, 1, 1, 1, 2, 2, 0, 0};
    {
        const ResultReader file(run.path);
        CHECK(file.numbers("/iterations/graph") == rows);
        CHECK(file.numbers("/graphs/offset") == std::vector<double>{0, 10, 20, 30});
        const std::vector<double> edges = file.numbers("/graphs/edge");
        REQUIRE(edges.size() == 60);
        CHECK(std::vector<double>(edges.begin(), edges.begin() + 40) == edges_before);
        // In matrix 2, replica 0 receives from replica 3.
        CHECK(std::vector<double>(edges.begin() + 40, edges.begin() + 44) ==
              std::vector<double>{0, 0, 0, 3});
        CHECK(file.numbers("/graphs/weight").size() == 30);
        CHECK(file.numbers("/graphs/degree") == std::vector<double>{1, 1, 1});
    }
    record_start(run, changed, 12, 20, "complete");
    rows.resize(20, 0);
    const ResultReader file(run.path);
    CHECK(file.numbers("/iterations/graph") == rows);
    CHECK(file.numbers("/graphs/offset") == std::vector<double>{0, 10, 20, 30});
    const std::vector<double> rho = file.numbers("/graphs/rho");
    REQUIRE(rho.size() == 3);
    CHECK(rho[0] == 0.75);      // From the certificate.
    CHECK(std::isnan(rho[1]));  // The changed plan has no such matrix.
}

TEST_CASE("A limit of matrices that do not repeat holds over restarts") {
    const Folder folder;
    SyntheticRun run = in(folder);
    run.graphs = 4;
    const ShiftSchedule schedule(5, 0);
    record_start(run, schedule, 0, 2);
    record_start(run, schedule, 2, 20, "complete");
    const ResultReader file(run.path);
    const std::vector<double> graph = file.numbers("/iterations/graph");
    CHECK(std::vector<double>(graph.begin(), graph.begin() + 7) ==
          std::vector<double>{0, 1, 2, -1, 3, -1, -1});
    CHECK(file.shape("/graphs/rho") == Shape{4});
}

TEST_CASE("No segment ends after the iterations that the run kept") {
    const Folder folder;
    const SyntheticRun run = in(folder);
    record_part(run, 5, 0, 10);
    record_part(run, 5, 8, 12);
    record_part(run, 5, 4, 6);
    CHECK(ResultReader(run.path).numbers("/segments/last_iteration") ==
          std::vector<double>{3, 3, 5});
}

TEST_CASE("A limited number of matrices that do not repeat is kept") {
    const Folder folder;
    comm::World world{comm::alone()};
    SyntheticRun run = in(folder);
    const ShiftSchedule schedule(5, 0);
    run.schedule = &schedule;
    run.graphs = 4;
    run.write(world);
    const ResultReader file(run.path);
    const std::vector<double> graph = file.numbers("/iterations/graph");
    CHECK(std::vector<double>(graph.begin(), graph.begin() + 7) ==
          std::vector<double>{0, 1, 2, -1, 3, -1, -1});
    CHECK(file.shape("/graphs/rho") == Shape{4});
}

TEST_CASE("A failed run keeps its rows and records the reason") {
    const Folder folder;
    comm::World world{comm::alone()};
    SyntheticRun run = in(folder);
    const std::string reason = "rank 3: out of memory, " + std::string(2000, 'x');
    {
        Recorder recorder(world, {run.replicas, 1}, run.options());
        for (int64_t t = 0; t < 13; ++t) recorder.iteration(run.record(t, 0, run.replicas, 0));
        recorder.event(12, "fault", "a fault");
        recorder.fail(reason);
    }
    const ResultReader file(run.path);
    CHECK(rows_differ(run, file, 1) == "");
    CHECK(file.shape("/iterations/train_loss") == Shape{13, 5});
    CHECK(file.attribute("status") == "failed");
    CHECK(file.attribute("error") == reason.substr(0, 1024));
    CHECK(file.numbers("/segments/last_iteration") == std::vector<double>{12});
    CHECK(file.texts("/events/kind").at(0) == "fault");
}

TEST_CASE("A recorder destroyed without finish() leaves a failed run") {
    const Folder folder;
    comm::World world{comm::alone()};
    const SyntheticRun run = in(folder);
    { Recorder recorder(world, {run.replicas, 1}, run.options()); }
    const Inspection found = inspect(run.path);
    CHECK(found.status == "failed");
    CHECK(found.writer == Writer::none);
}

TEST_CASE("Texts are cut between characters") {
    CHECK(h5::fit_text("abc", 5) == std::string("abc\0\0", 5));
    CHECK(h5::fit_text("ab\xC3\xA4", 3) == std::string("ab\0", 3));
    CHECK(h5::fit_text("ab\xC3\xA4", 4) == "ab\xC3\xA4");
}

TEST_CASE("The progress is reported between iterations, too") {
    const Folder folder;
    comm::World world{comm::alone()};
    const SyntheticRun run = in(folder);
    RecorderOptions options = run.options();
    int calls = 0;
    options.alive = [&](const Progress& progress) { calls += progress.completed == 0; };
    Recorder recorder(world, {run.replicas, 1}, options);
    recorder.note_progress();
    CHECK(calls == 1);
    recorder.finish("complete");
}

TEST_CASE("Progress is reported after a flush") {
    const Folder folder;
    comm::World world{comm::alone()};
    const SyntheticRun run = in(folder);
    RecorderOptions options = run.options();
    std::vector<Progress> told;
    options.progress = [&](const Progress& progress) { told.push_back(progress); };
    Recorder recorder(world, {run.replicas, 1}, options);
    run.record_all(world, recorder);
    recorder.finish("complete");
    REQUIRE_FALSE(told.empty());
    const Progress& last = told.back();
    CHECK(last.completed == 20);
    CHECK(last.iterations == 20);
    CHECK(last.epoch == 2.5);
    double loss = 0;
    for (int64_t i = 0; i < 5; ++i) loss += run.loss(19, i) / 5;
    CHECK(last.loss == Catch::Approx(loss));
    CHECK(last.consensus_distance == 17);  // Measured in iteration 16.
    CHECK(last.test_accuracy == Catch::Approx(0.4));
    CHECK(last.done);
    CHECK(last.samples_per_second == Catch::Approx(160 / last.seconds_per_iteration));
}

}  // namespace dbench::profile::tests
