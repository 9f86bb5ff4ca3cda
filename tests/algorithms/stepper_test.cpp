#include <malloc.h>

#include <vector>

#include "algorithms/stepper_run.hpp"
#include "catch.hpp"
#include "comm/counting_transports.hpp"
#include "comm/environment.hpp"
#include "comm/ranks.hpp"
#include "comm/transport/launcher.hpp"

using namespace dbench;
using namespace dbench::algorithms;
using namespace dbench::algorithms::tests;
using base::Json;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kCounted = false;  // Sanitizers replace malloc.
#else
constexpr bool kCounted = true;
#endif

/// Returns the bytes that the process has allocated with malloc.
double allocated() {
    const auto info = mallinfo2();
    return static_cast<double>(info.uordblks + info.hblkhd);
}

std::vector<Json> forms_of(const AlgorithmEntry& row) {
    std::vector<Json> forms = {row.name};
    if (row.name == "d2") forms.push_back({{"type", "d2"}, {"form", "relay"}});
    if (row.name == "dsgd") forms.push_back({{"type", "dsgd"}, {"order", "combine_while_adapt"}});
    if (row.name == "gradient_tracking") {
        forms.push_back({{"type", "gradient_tracking"}, {"form", "diging"}});
    }
    if (row.name == "moniqua") {
        forms.push_back({{"type", "moniqua"}, {"form", "combine_while_adapt"}});
    }
    // Rows of eight candidates would be so large that malloc skips whole pages.
    if (row.name == "ntk_dfl") forms = {{{"type", "ntk_dfl"}, {"candidates", 2}}};
    return forms;
}

TEST_CASE("the size of a step's state is known before it is allocated") {
    comm::World world{comm::alone()};
    for (const AlgorithmEntry& row : algorithm_table()) {
        for (const Json& form : forms_of(row)) {
            const char* momentum = row.traits.optimizer == OptimizerNeed::any ? "adam" : "sgd";
            Run run(world, row, resolve_algorithm(form), resolve_optimizer(momentum, "/optimizer"));
            INFO(form.dump());
            CHECK((run.stepper->algorithm().asynchronous() != nullptr) == row.traits.asynchronous);
            const double before = allocated();
            const int64_t foretold = run.stepper->state_elements();
            CHECK(allocated() - before < 1e5);  // The computation allocates almost nothing.
            run.stepper->attach(run.table, run.g.rows());
            const double bytes = 4.0 * static_cast<double>(kReplicas * foretold);
            // Allows for space between buffers. No buffer is so large that malloc skips whole
            // pages.
            if (kCounted) CHECK(allocated() - before == Approx(bytes).epsilon(0.35).margin(1e5));
            CHECK(run.table.elements_per_replica() == foretold + 2 * run.layout.columns());
        }
    }
}

/// Runs five iterations of an algorithm with weight decay and gradients that do not depend on the
/// parameters. Each iteration passes the columns to the algorithm in pieces of `width`. Returns all
/// replicas' parameters.
std::vector<float> trained_in_pieces(const AlgorithmEntry& row, const Json& algorithm,
                                     int64_t width) {
    comm::World world{comm::alone()};
    Run run(world, row, resolve_algorithm(algorithm),
            resolve_optimizer({{"type", "sgd"}, {"weight_decay", 0.5}}, "/optimizer"));
    run.stepper->attach(run.table, run.g.rows());
    for (int64_t i = 0; i < kReplicas; ++i) {
        std::fill_n(run.x.row<float>(i), kParameters, 1.0F);
    }
    SilentObserver silent;
    for (int64_t t = 0; t < 5; ++t) {
        const auto gradients = [&](const auto& ready) {
            for (int64_t i = 0; i < kReplicas; ++i) {
                float* g = run.g.rows().row<float>(i);
                for (int64_t c = 0; c < kParameters; ++c) {
                    g[c] = 0.001F * static_cast<float>((c + 7 * i + t) % 11);
                }
            }
            for (int64_t end = kParameters; end > 0; end -= width) ready({end - width, end});
        };
        IterationRecord record;
        run.stepper->step(t, 0.25, gradients, record, silent);
    }
    std::vector<float> result;
    const arena::Rows x = run.table.parameters();
    for (int64_t i = 0; i < kReplicas; ++i) {
        result.insert(result.end(), x.row<float>(i), x.row<float>(i) + kParameters);
    }
    return result;
}

}  // namespace

TEST_CASE("pieces of a tensor give the same bits as the whole tensor") {
    for (const AlgorithmEntry& row : algorithm_table()) {
        if (row.traits.asynchronous || row.traits.distils || row.traits.linearises) {
            continue;
        }
        for (const Json& form : forms_of(row)) {
            INFO(form.dump());
            const std::vector<float> whole = trained_in_pieces(row, form, kParameters);
            CHECK((trained_in_pieces(row, form, arena::kBlock) == whole));
            // Without decay the mean of the parameters would stay above 0.99.
            CHECK(whole[3] < 0.9F);
        }
    }
}

TEST_CASE("a step records what it sent and how its time divides") {
    const auto& row = *base::find_entry(algorithm_table(), "dsgd");
    comm::World world{comm::alone()};
    Run run(world, row, resolve_algorithm("dsgd"), resolve_optimizer("sgd", "/optimizer"));
    run.stepper->attach(run.table, run.g.rows());
    SilentObserver silent;
    IterationRecord record;
    run.stepper->step(
        3, 0.25, [&](const auto& ready) { ready(run.layout.all()); }, record, silent);
    CHECK(record.iteration == 3);
    CHECK(record.lr == 0.25);
    CHECK(record.averagings == 1);
    CHECK(record.degree == 2);
    CHECK(record.messages == 2 * kReplicas);
    CHECK(record.bytes_sent == 2.0 * kReplicas * kParameters * 4);
    double parts = 0;
    for (const TimeColumn& column : kTimeColumns) CHECK(record.times[column.time] >= 0);
    for (const Time part :
         {Time::data, Time::gradient, Time::update, Time::exchange, Time::control}) {
        parts += record.times[part];
    }
    CHECK(record.times[Time::step] >= parts);
    CHECK(record.times[Time::exchange] >= record.times[Time::wait] + record.times[Time::mix]);
    CHECK(record.times[Time::mix] > 0);
    CHECK(record.times[Time::exchange] > 0);
}

TEST_CASE("combine_while_adapt sends the rows of an iteration during the previous update") {
    const comm::tests::Environment messages("DBENCH_READ_IN_PLACE", "0");
    const auto& row = *base::find_entry(algorithm_table(), "dsgd");
    constexpr int64_t kEnd = 4;
    for (const bool goes_on : {false, true}) {
        comm::tests::Traffic traffic[2];
        const auto part = [&](comm::World& world) -> std::string {
            const auto& messages = traffic[world.rank()].messages;
            Run run(world, row,
                    resolve_algorithm({{"type", "dsgd"}, {"order", "combine_while_adapt"}}),
                    resolve_optimizer("sgd", "/optimizer"));
            run.stepper->attach(run.table, run.g.rows());
            if (goes_on) run.stepper->set_uninterrupted_until(kEnd);
            SilentObserver silent;
            int64_t each = 0;  // In one iteration.
            for (int64_t t = 0; t < kEnd; ++t) {
                int64_t sent = 0;
                const auto gradients = [&](const auto& ready) {
                    sent = messages;
                    ready(run.layout.all());
                };
                IterationRecord record;
                run.stepper->step(t, 0.1, gradients, record, silent);
                if (t == 0) each = sent;
                if (sent != (t + 1) * each) return "not all was sent before the gradient";
                const int64_t ahead = goes_on && t + 1 < kEnd ? each : 0;
                if (messages != sent + ahead) return "iteration " + std::to_string(t);
            }
            return each > 0 ? "" : "nothing is sent";
        };
        const auto dress = [&](comm::Membership& member) {
            member.rows = std::make_unique<comm::tests::CountingRows>(std::move(member.rows),
                                                                      traffic[member.rank]);
        };
        for (const std::string& problem : comm::tests::play(2, part, dress)) CHECK(problem == "");
    }
}
