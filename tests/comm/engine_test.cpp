#include "comm/world/engine.hpp"

#include <optional>

#include "arena/idle_queue.hpp"
#include "base/clock.hpp"
#include "catch.hpp"
#include "comm/environment.hpp"
#include "comm/host/in_place_exchange.hpp"
#include "comm/mixing/mixing_operation.hpp"
#include "comm/mixing_checks.hpp"

namespace dbench::comm::tests {
namespace {

/// Returns true if the progress thread finishes the operation while this thread sleeps.
bool finishes_by_itself(const Token& token) {
    for (const double start = base::now(); base::now() - start < 5;) {
        if (token->done()) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
}

}  // namespace

TEST_CASE("Both phases of an all-reduce run on the progress thread without a wait") {
    const arena::Layout layout = awkward_layout();
    const int n = 5;
    const arena::Buffer expected = mixed_alone(complete(n), layout, arena::DType::float32);
    for (const std::string& problem : play(3, [&](World& world) -> std::string {
             const Placement placement{n, world.size()};
             Exchange exchange(world, placement, layout, nullptr, Reduction::reproducible);
             const arena::Buffer x =
                 replicas(layout, arena::DType::float32, placement.begin(world.rank()),
                          placement.count(world.rank()));
             const Token token = exchange.start_all_reduce(x.rows(), layout.all());
             if (!finishes_by_itself(token)) return "it waits for its finish";
             if (!exchange.poll(token)) return "poll does not know that it is done";
             exchange.finish_all_reduce(token);
             return difference(x.rows(), expected.rows(), layout.columns());
         })) {
        CHECK(problem == "");
    }
}

TEST_CASE("Many exchanges of all kinds can be in flight") {
    const arena::Layout layout = awkward_layout();
    const int n = 6, rounds = 40;
    const DenseSchedule ring = circulant(n, {1, -1});
    const arena::Buffer mixed = mixed_alone(ring, layout, arena::DType::float32);
    const arena::Buffer mean = mixed_alone(complete(n), layout, arena::DType::float32);
    for (const std::string& problem : play(4, [&](World& world) -> std::string {
             const Placement placement{n, world.size()};
             const int64_t first = placement.begin(world.rank());
             const int64_t count = placement.count(world.rank());
             Exchange exchange(world, placement, layout, &ring, Reduction::reproducible);
             std::vector<arena::Buffer> rows;
             std::vector<Token> tokens;
             for (int k = 0; k < rounds; ++k) {
                 rows.push_back(replicas(layout, arena::DType::float32, first, count));
                 tokens.push_back(k % 2
                                      ? exchange.start_mix({0, true}, rows[k].rows(), layout.all())
                                      : exchange.start_all_reduce(rows[k].rows(), layout.all()));
             }
             world.barrier();
             std::string problems;
             for (int k = rounds - 1; k >= 0; --k) {
                 if (k % 2) {
                     exchange.finish_mix(tokens[k], rows[k].rows());
                 } else {
                     exchange.finish_all_reduce(tokens[k]);
                 }
                 problems +=
                     difference(rows[k].rows(), (k % 2 ? mixed : mean).rows(), layout.columns());
             }
             return problems;
         })) {
        CHECK(problem == "");
    }
}

TEST_CASE("Operations that are never finished have moved when their Exchange is destroyed") {
    const arena::Layout layout = awkward_layout();
    const int n = 4;
    const DenseSchedule ring = circulant(n, {1, -1});
    const arena::Buffer mixed = mixed_alone(ring, layout, arena::DType::float32);
    for (const std::string& problem : play(2, [&](World& world) -> std::string {
             const Placement placement{n, world.size()};
             const arena::Buffer x =
                 replicas(layout, arena::DType::float32, placement.begin(world.rank()),
                          placement.count(world.rank()));
             std::vector<Token> sent;
             {
                 Exchange exchange(world, placement, layout, &ring, Reduction::reproducible);
                 if (world.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(30));
                 sent = {exchange.start_mix({0, true}, x.rows(), layout.all()),
                         exchange.start_messages({0, true}, x.rows(), 64)};
             }
             for (const Token& token : sent) {
                 if (!token->done()) return "it may still be on its way";
             }
             Exchange next(world, placement, layout, &ring, Reduction::reproducible);
             next.finish_mix(next.start_mix({0, true}, x.rows(), layout.all()), x.rows());
             return difference(x.rows(), mixed.rows(), layout.columns());
         })) {
        CHECK(problem == "");
    }
}

TEST_CASE("Rows that no rank has read do not delay the end of an Exchange") {
    const Environment hurry("DBENCH_TIMEOUT", "10");  // of a rank that would wait for readers
    const arena::Layout layout = awkward_layout();
    const DenseSchedule ring = circulant(4, {1, -1});
    for (const std::string& problem : play(2, [&](World& world) -> std::string {
             const Placement placement{4, world.size()};
             std::optional<Exchange> exchange(std::in_place, world, placement, layout, &ring,
                                              Reduction::reproducible);
             const arena::Buffer start =
                 replicas(layout, arena::DType::float32, placement.begin(world.rank()),
                          placement.count(world.rank()));
             const arena::Buffer x = peer_readable(*exchange, start.rows());
             arena::copy(start.rows(), x.rows(), layout.all());
             // A run that a signal ends has started the exchange of the next iteration.
             const Token sent = exchange->start_mix({0, true}, x.rows(), layout.all(),
                                                    RowLifetime::until_reclaimed);
             const InPlaceExchange* in_place = static_cast<MixingOperation&>(*sent).in_place();
             if (!in_place) return "the rows are sent in messages";
             exchange.reset();
             return in_place->all_read() ? "" : "it waits for readers";
         })) {
        CHECK(problem == "");
    }
}

TEST_CASE("The wait for an exchange rethrows the exception of a step") {
    struct Broken : OperationInFlight {
        bool advance() override { throw base::RunError("broken"); }
        std::vector<int> awaited_ranks() const override { return {}; }
    };
    Engine engine(true, arena::host_queue());
    for (const FirstAdvance first : {FirstAdvance::engine, FirstAdvance::caller}) {
        auto operation = std::make_shared<Broken>();
        engine.start(operation, first);
        CHECK(finishes_by_itself(operation));
        CHECK_THROWS_AS(engine.test(*operation), base::RunError);
        while (!engine.in_flight().empty()) std::this_thread::yield();
        const std::weak_ptr<Broken> kept = operation;
        operation.reset();
        CHECK(!kept.expired());  // a transport may still write into its memory
    }
}

TEST_CASE("The progress thread selects the device of the queue on which its rank computes") {
    struct Device : arena::IdleQueue {
        std::atomic<int> entered = 0, elsewhere = 0;
        const std::thread::id main = std::this_thread::get_id();
        void make_current() override {
            ++(std::this_thread::get_id() == main ? elsewhere : entered);
        }
    };
    struct Seeing : OperationInFlight {
        explicit Seeing(const std::atomic<int>& entered) : entered(entered) {}
        bool advance() override { return (seen = entered.load()), true; }
        std::vector<int> awaited_ranks() const override { return {}; }
        const std::atomic<int>& entered;
        std::atomic<int> seen = -1;
    };
    Device first, second;
    Engine engine(true, first);
    const auto seen = [&](const Device& device) {
        const auto operation = std::make_shared<Seeing>(device.entered);
        engine.start(operation, FirstAdvance::engine);
        return finishes_by_itself(operation) ? operation->seen.load() : -1;
    };
    CHECK(seen(first) == 1);
    CHECK(seen(first) == 1);
    engine.compute_on(second);
    CHECK(seen(second) == 1);
    engine.compute_on(arena::host_queue());
    CHECK(seen(second) == 1);
    CHECK(first.entered + second.entered == 2);
    CHECK(first.elsewhere + second.elsewhere == 0);
}

TEST_CASE("A halted engine takes no further step") {
    struct Counting : OperationInFlight {
        std::atomic<int> steps = 0;
        bool advance() override { return ++steps < 0; }
        std::vector<int> awaited_ranks() const override { return {}; }
    };
    Engine engine(true, arena::host_queue());
    const auto operation = std::make_shared<Counting>();
    engine.start(operation, FirstAdvance::engine);
    while (operation->steps < 3) std::this_thread::yield();
    engine.halt();
    const int steps = operation->steps;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    CHECK(operation->steps == steps);
    CHECK(engine.in_flight().empty());
}

TEST_CASE("An operation that the waiting thread finishes is not kept") {
    struct Brief : OperationInFlight {
        bool advance() override { return true; }
        std::vector<int> awaited_ranks() const override { return {}; }
    };
    Engine engine(false, arena::host_queue());
    auto operation = std::make_shared<Brief>();
    const std::weak_ptr<Brief> kept = operation;
    engine.start(operation, FirstAdvance::engine);
    CHECK(engine.test(*operation));
    CHECK(engine.in_flight().empty());
    operation.reset();
    CHECK(kept.expired());
}

TEST_CASE("A stalled exchange names the rank that has not begun it") {
    setenv("DBENCH_TIMEOUT", "0.2", 1);
    const arena::Layout layout = awkward_layout();
    const DenseSchedule ring = circulant(3, {1});
    const auto outcome = play(3, [&](World& world) -> std::string {
        Exchange exchange(world, {3, 3}, layout, &ring, Reduction::reproducible);
        const arena::Buffer x = replicas(layout, arena::DType::float32, world.rank(), 1);
        if (world.rank() == 2) {
            world.report_failure("overslept");
            return "";
        }
        try {
            exchange.mix({0, true}, x.rows(), layout.all(), x.rows());
        } catch (const Stalled& error) {
            return error.what();
        } catch (const PeerFailure& error) {
            return "";
        }
        return world.rank() == 1 ? "no error" : "";
    });
    unsetenv("DBENCH_TIMEOUT");
    CHECK_THAT(outcome[1], Catch::Matchers::ContainsSubstring("no answer from rank 2"));
}

}  // namespace dbench::comm::tests
