// Counts how often a step reads and writes rows. Counts do not depend on clocks
// (docs/measuring.md).

#include <optional>

#include "algorithms/stepper_run.hpp"
#include "arena/emulated_device.hpp"
#include "arena/traffic.hpp"
#include "catch.hpp"
#include "comm/environment.hpp"
#include "comm/ranks.hpp"

using namespace dbench;
using namespace dbench::algorithms;
using namespace dbench::algorithms::tests;
using base::Json;

namespace {

/// A schedule with W = I.
class IdentitySchedule final : public graphs::Schedule {
public:
    int size() const override { return static_cast<int>(kReplicas); }
    graphs::Round at(int64_t) const override { return {0, true}; }
    std::vector<graphs::Link> in(graphs::Round, int i) const override { return {{i, 1.0}}; }
    std::vector<graphs::Link> out(graphs::Round, int) const override { return {}; }
    std::vector<std::vector<int>> groups(graphs::Round) const override { return {}; }
    int64_t period() const override { return 1; }
};

struct Passes {
    double read, written;
    bool operator==(const Passes&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Passes& passes) {
    return out << passes.read << " read, " << passes.written << " written";
}

/// Returns the rows that the kernels of a rank read and write per replica in the third iteration:
/// all of them, or those of one kind of kernel.
Passes passes(comm::World& world, const Json& algorithm, const Json& optimizer, bool exchanges,
              arena::ElementCodec message = arena::ElementCodec::identity,
              std::optional<arena::Kernel> kind = {}) {
    const Json resolved = resolve_algorithm(algorithm);
    const auto& row = *base::find_entry(algorithm_table(), resolved.at("type").get<std::string>());
    Run run(world, row, resolved, resolve_optimizer(optimizer, "/optimizer"),
            exchanges ? nullptr : std::make_shared<IdentitySchedule>(), {}, message);
    run.stepper->attach(run.table, run.g.rows());
    SilentObserver silent;
    for (int64_t t = 0;; ++t) {
        arena::traffic = {};
        IterationRecord record;
        run.stepper->step(
            t, 0.1, [&](const auto& ready) { ready(run.layout.all()); }, record, silent);
        arena::finish(world.place().compute(), "rows that go");
        if (t < 2) continue;
        const double rows = 4.0 * static_cast<double>(run.layout.columns() * run.x.count);
        const arena::Traffic bytes =
            kind ? arena::traffic[static_cast<size_t>(*kind)] : arena::total(arena::traffic);
        return {static_cast<double>(bytes.read) / rows, static_cast<double>(bytes.written) / rows};
    }
}

const Json kSgd = {{"type", "sgd"}, {"lr", 0.1}, {"momentum", 0.9}};
const Json kCentralized = "centralized", kAtc = "dsgd",
           kAwc = {{"type", "dsgd"}, {"order", "combine_while_adapt"}},
           kCta = {{"type", "dsgd"}, {"order", "combine_then_adapt"}};

}  // namespace

TEST_CASE("A step of one process passes over each row the documented number of times") {
    comm::World world{comm::alone()};
    const Passes update{3, 2};    // reads x, g, v; writes x, v
    const Passes averaged{4, 3};  // also reads x; also writes W x
    for (const Json& order : {kAtc, kAwc, kCta}) {
        INFO(order.dump());
        CHECK(passes(world, order, kSgd, false) == update);
        CHECK(passes(world, order, kSgd, true) == (order == kAwc ? update : averaged));
    }
    CHECK(passes(world, kAwc, "adam", true) == Passes{4, 3});
    CHECK(passes(world, kAwc, "accum_adam", true) == Passes{6, 3});  // two passes
    // Decay needs no further row if the gradient was taken at x. Adam has one more moment.
    CHECK(passes(world, kAtc, {{"type", "sgd"}, {"lr", 0.1}, {"weight_decay", 1e-4}}, false) ==
          Passes{2, 1});
    CHECK(passes(world, kAtc, "adam", true) == Passes{5, 4});
    // The mean of g is computed once and copied, from a cache, to the other seven.
    CHECK(passes(world, kCentralized, kSgd, true) == Passes{4 + 1.0 / 8, 3});
}

TEST_CASE("On a queue an update and its averaging are one pass") {
    arena::EmulatedDevice device(1);
    comm::Membership member = comm::alone();
    member.place = {device.add_queue(), device.add_queue()};
    comm::World world{std::move(member)};
    for (const Json& order : {kAtc, kAwc}) {
        INFO(order.dump());
        CHECK(passes(world, order, kSgd, true) == Passes{3, 2});
        CHECK(passes(world, order, "adam", true) == Passes{4, 3});
        CHECK(passes(world, order, "accum_adam", true) == Passes{6, 3});  // two passes
    }
    CHECK(passes(world, kCta, kSgd, true) == Passes{4, 3});
    // The host averages rows in 16 bits.
    CHECK(passes(world, kAtc, kSgd, true, arena::ElementCodec::bfloat16, arena::Kernel::update) ==
          Passes{3, 2});
    CHECK(device.conflicts().empty());
}

namespace {

/// The record and the parameters after three iterations that record all norms.
struct Norms {
    std::vector<double> gradients, updates, parameters;
    std::string x;
    bool operator==(const Norms&) const = default;
};

Norms norms(comm::World& world, const Json& order, arena::Traffic& mixed) {
    const Json resolved = resolve_algorithm(order);
    const auto& row = *base::find_entry(algorithm_table(), "dsgd");
    Run run(world, row, resolved, resolve_optimizer(kSgd, "/optimizer"), nullptr, {},
            arena::ElementCodec::identity, {base::Cadence(1), {}, false});
    run.stepper->attach(run.table, run.g.rows());
    const auto fill = [&](const arena::Rows& rows, int64_t seed) {
        for (int64_t i = 0; i < rows.count; ++i) {
            for (int64_t c = 0; c < run.layout.numel(); ++c) {
                rows.row<float>(i)[c] = 1.0f / static_cast<float>(1 + c + 3 * i + 7 * seed);
            }
        }
    };
    fill(run.x, 0);
    SilentObserver silent;
    Norms out;
    arena::traffic = {};
    for (int64_t t = 0; t < 3; ++t) {
        IterationRecord record;
        const auto gradients = [&](const auto& ready) {
            fill(run.g.rows(), t);
            ready(run.layout.all());
        };
        run.stepper->step(t, 0.1, gradients, record, silent);
        arena::finish(world.place().compute(), "norms that are recorded");
        record.receive_device_values();
        const auto add = [](const std::vector<double>& from, std::vector<double>& to) {
            to.insert(to.end(), from.begin(), from.end());
        };
        add(record.gradient_norm, out.gradients);
        add(record.update_norm, out.updates);
        add(record.norm, out.parameters);
    }
    mixed = arena::traffic[static_cast<size_t>(arena::Kernel::mixing)];
    arena::finish(world.place().compute(), "rows that go");
    const arena::Rows x = run.table.parameters();
    out.x.assign(static_cast<const char*>(x.data),
                 static_cast<size_t>(x.count * x.stride) * sizeof(float));
    return out;
}

}  // namespace

TEST_CASE("The one-pass update on a queue computes the same norms as the host") {
    comm::World host{comm::alone()};
    arena::EmulatedDevice device(2);
    comm::Membership member = comm::alone();
    member.place = {device.add_queue(), device.add_queue()};
    comm::World queued{std::move(member)};
    for (const Json& order : {kAtc, kAwc}) {
        INFO(order.dump());
        arena::Traffic mixed, apart;
        const Norms expected = norms(host, order, apart), found = norms(queued, order, mixed);
        CHECK(expected.parameters.size() == 3 * kReplicas);
        CHECK(found == expected);
        CHECK((apart.written > 0) == (order == kAtc));  // This kernel also runs separately.
        CHECK(mixed.written == 0);
    }
    CHECK(device.conflicts().empty());
}

TEST_CASE("A rank reads each neighbour's row once, in place or from the received message") {
    using arena::Kernel;
    const std::vector<Json> apart = {kAtc, kCta}, all = {kAtc, kCta, kAwc}, at_once = {kAwc};
    const auto check = [](const std::vector<Json>& orders, arena::ElementCodec codec,
                          std::optional<Kernel> kind, Passes expected) {
        for (const Json& order : orders) {
            for (const std::string& problem :
                 comm::tests::play(kReplicas, [&](comm::World& world) -> std::string {
                     const Passes found = passes(world, order, kSgd, true, codec, kind);
                     std::ostringstream text;
                     text << found;
                     return found == expected ? "" : order.dump() + ": " + text.str();
                 })) {
                CHECK(problem == "");
            }
        }
    };
    for (const char* in_place : {"0", "1"}) {
        const comm::tests::Environment setting("DBENCH_READ_IN_PLACE", in_place);
        const auto whole = arena::ElementCodec::identity, words = arena::ElementCodec::bfloat16;
        check(apart, whole, {}, {6, 3});
        // reads its row and two neighbours'; writes W x
        check(apart, whole, Kernel::mixing, {3, 1});
        check(all, whole, Kernel::update, {3, 2});  // reads x, g, v; writes x, v
        check(at_once, whole, {}, {5, 2});
        check(at_once, whole, Kernel::mixing, {2, 0});  // only the neighbours' rows
        check(all, words, {}, {6, 3.5});
        check(all, words, Kernel::codec, {1, 0.5});  // reads its row; writes its words
        check(all, words, Kernel::mixing, {2, 1});   // reads the words of two neighbours
        check(all, words, Kernel::update, {3, 2});
    }
}
