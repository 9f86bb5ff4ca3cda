// Tests the step of every algorithm with launches on an emulated device's queues. Results must have
// the host's bits in any order that the queues and waits allow, and no wait may be unnecessary.
// DBENCH_DEVICE_SEEDS is the number of orders tried (default 2); DBENCH_DEVICE_STUMBLES makes
// threads collide in more of them.

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <optional>
#include <set>

#include <nlohmann/json.hpp>

#include "arena/emulated_streams.hpp"
#include "catch.hpp"
#include "comm/forwarding_transports.hpp"
#include "comm/nccl_stand_in.hpp"
#include "comm/ranks.hpp"
#include "conform/check_setup.hpp"
#include "conform/conform.hpp"

namespace dbench::conform {
namespace {

using arena::EmulatedDevice;
using base::Json;
using Pace = EmulatedDevice::Pace;

constexpr int64_t kReplicas = 5, kIterations = 7;

/// Reports to the device which memory messages are sent from and received into.
class WatchedRows : public comm::tests::ForwardingRows {
public:
    WatchedRows(std::unique_ptr<comm::RowTransport> inner, EmulatedDevice& device,
                bool reads_devices)
        : ForwardingRows(std::move(inner)), device_(device), reads_devices_(reads_devices) {}

    bool reads_devices() override { return reads_devices_ || ForwardingRows::reads_devices(); }

    std::unique_ptr<comm::Transfer> start(std::span<const comm::Message> out,
                                          std::span<const comm::Message> in) override {
        for (const comm::Message& m : out)
            device_.touch("a message", arena::reads(m.data, m.bytes));
        for (const comm::Message& m : in)
            device_.touch("a message", arena::writes(m.data, m.bytes));
        return ForwardingRows::start(out, in);
    }

private:
    EmulatedDevice& device_;
    bool reads_devices_;
};

/// A conformance case on a graph, and its name in test messages.
struct Case {
    TrainingSettings training;
    const algorithms::AlgorithmEntry* row;
    std::string title;
};

Case case_of(const ConformanceCase& tested, const Json& graph, arena::ElementCodec codec) {
    TrainingSettings training = training_of(tested, graph, kReplicas, kIterations);
    training.type = arena::DType::float32;
    training.noise = 0.1;
    training.codec = codec;
    if (tested.row->traits.asynchronous) training.span = 3;
    return {training, tested.row,
            spec_label(tested.algorithm) + ", " + spec_label(tested.optimizer) + ", " +
                spec_label(tested.message) + ", " + spec_label(graph)};
}

/// Returns all algorithms in all their forms; some on graphs with groups, and with rows in 16 bits.
std::vector<Case> cases() {
    std::vector<Case> all;
    std::set<std::string> met;
    for (const ConformanceCase& tested : conformance_cases("")) {
        const Json graph =
            graphs::resolve_graph(suitable_graph(*tested.row, {}, kReplicas), "graph");
        all.push_back(case_of(tested, graph, arena::ElementCodec::identity));
        if (!met.insert(tested.row->name).second) continue;
        const bool rows = tested.row->traits.messages == algorithms::Messages::rows;
        if (rows) all.push_back(case_of(tested, graph, arena::ElementCodec::bfloat16));
        const Json complete = graphs::resolve_graph({{"type", "complete"}}, "graph");
        if (unsuitable_reason(*tested.row, complete, kReplicas).empty()) {
            all.push_back(case_of(tested, complete, arena::ElementCodec::identity));
        }
    }
    return all;
}

/// The result of a training run: the bits of all state, and the records of its last iteration.
using Outcome = std::vector<std::vector<std::string>>;  // per rank

struct Played {
    Outcome outcome;
    std::set<std::string> reasons, conflicts;
};

/// Queues over the streams of an emulated device, as for CUDA.
struct Streaming {
    arena::EmulatedStreams streams;
    arena::StreamDevice device;
    std::unique_ptr<arena::Queue> compute = device.queue_on(streams.add_stream());
    std::unique_ptr<arena::Queue> exchange = device.queue_on(streams.add_stream());

    Streaming(EmulatedDevice& emulated, uint64_t seed)
        : streams(emulated, seed), device(streams, emulated.memories()) {}
};

/// The kind of queues that a rank uses.
enum class Queueing : uint8_t { of_device, over_streams };

/// The transport of rows between ranks: messages of copies in host memory, messages of rows in
/// device memory, or NCCL.
enum class Carrier : uint8_t { messages, device_aware_messages, nccl };

/// Trains on `ranks` threads, each with its own device, or with none if `pace` is null.
Played play(const Problem& problem, const Case& what, int ranks, const Pace* pace, uint64_t seed,
            const std::string& forgotten = "", Queueing queueing = Queueing::of_device,
            Carrier carrier = Carrier::messages) {
    Played played;
    played.outcome.resize(static_cast<size_t>(ranks));
    std::deque<arena::SeenMemory> memory;  // of each rank's device
    std::vector<std::unique_ptr<EmulatedDevice>> devices;
    std::vector<std::unique_ptr<Streaming>> streaming(static_cast<size_t>(ranks));
    for (int rank = 0; pace && rank < ranks; ++rank) {
        devices.push_back(std::make_unique<EmulatedDevice>(
            seed * static_cast<uint64_t>(ranks) + static_cast<uint64_t>(rank), -1, *pace));
        devices.back()->set_visible_memory(memory.emplace_back(arena::Space::device));
        devices.back()->omit_wait(forgotten);
    }
    std::optional<comm::tests::NcclStandIn> nccl;
    if (carrier == Carrier::nccl) nccl.emplace(ranks, seed);
    for (int rank = 0; nccl && rank < ranks; ++rank) {
        comm::tests::NcclStandIn::Over over;
        if (queueing == Queueing::over_streams) {
            over = [&streaming, rank](arena::Queue* stream) {
                return streaming[static_cast<size_t>(rank)]->device.queue_on(stream);
            };
        }
        nccl->give(rank, *devices[static_cast<size_t>(rank)], over);
    }
    const auto problems = comm::tests::play(
        ranks,
        [&](comm::World& world) {
            if (const auto& own = streaming[static_cast<size_t>(world.rank())]) {
                world.compute_on({*own->compute, *own->exchange});
            }
            if (nccl) world.use_row_transport(comm::join_nccl(world, nccl->parts(world.slot()), 0));
            ProductionRun production_run(world, problem, what.training, *what.row);
            const int64_t steps = kIterations / what.training.span;
            for (int64_t k = 0; k < steps; ++k) production_run.step();
            const auto rank = static_cast<size_t>(world.rank());
            played.outcome[rank] = production_run.save();
            const Record record = production_run.last_record();
            for (const Matrix& numbers : {record.norm, Matrix(record.update_norm),
                                          Matrix(record.variance), record.staleness}) {
                played.outcome[rank].emplace_back(
                    reinterpret_cast<const char*>(numbers.data()),
                    static_cast<size_t>(numbers.size()) * sizeof(double));
            }
            return "";
        },
        [&](comm::Membership& member) {
            if (!pace) return;
            EmulatedDevice& device = *devices[static_cast<size_t>(member.rank)];
            if (queueing == Queueing::over_streams) {
                streaming[static_cast<size_t>(member.rank)] =
                    std::make_unique<Streaming>(device, seed);
            } else {
                member.place = {device.add_queue(), device.add_queue()};
            }
            member.rows = std::make_unique<WatchedRows>(std::move(member.rows), device,
                                                        carrier == Carrier::device_aware_messages);
        });
    for (const std::string& problem_of_rank : problems) {
        if (!problem_of_rank.empty()) played.conflicts.insert(problem_of_rank);
    }
    for (const auto& device : devices) {
        device->finish();  // runs launches that would still be pending when the memory is destroyed
        played.reasons.insert(device->reasons().begin(), device->reasons().end());
        played.conflicts.insert(device->conflicts().begin(), device->conflicts().end());
    }
    if (nccl && !nccl->problem().empty()) played.conflicts.insert(nccl->problem());
    return played;
}

int ranks_of(const Case& what, int most) {
    return unsuitable_reason(*what.row, what.training.graph, kReplicas, most).empty() ? most : 1;
}

uint64_t seeds() {
    const char* const wanted = std::getenv("DBENCH_DEVICE_SEEDS");
    return wanted ? std::stoull(wanted) : 2;
}

TEST_CASE("on queues every algorithm has the host's bits and no launch touches memory in use") {
    const auto problem = softmax_regression(kReplicas, 1);
    uint64_t orders_over_nccl = 0, carried = 0;
    for (Case what : cases()) {
        for (const int ranks : {1, 3}) {
            if (ranks_of(what, ranks) != ranks) continue;
            INFO(what.title << " on " << ranks << " ranks");
            Played hosts[2];
            for (const bool profiled : {false, true}) {
                what.training.profiled = profiled;
                hosts[profiled] = play(*problem, what, ranks, nullptr, 0);
                REQUIRE(hosts[profiled].conflicts == std::set<std::string>());
            }
            for (uint64_t seed = 0; seed < seeds(); ++seed) {
                INFO("order " << seed);
                const Pace pace = seed % 2 == 0 ? Pace::late : Pace::random;
                what.training.profiled = (seed + seed / 2) % 2 == 1;
                const Played& host = hosts[what.training.profiled];
                const auto queueing =
                    seed % 4 == 1 || seed % 4 == 2 ? Queueing::over_streams : Queueing::of_device;
                // Alternate between both transports from case to case, independently of what is
                // recorded.
                const auto carrier = (carried / 2 + carried) % 2 == 0
                                         ? Carrier::messages
                                         : Carrier::device_aware_messages;
                carried += ranks > 1 ? 1 : 0;
                const Played device =
                    play(*problem, what, ranks, &pace, seed, "", queueing, carrier);
                CHECK(device.conflicts == std::set<std::string>());
                const bool same = device.outcome == host.outcome;
                CHECK(same);
            }
            for (uint64_t k = 0; ranks > 1 && k < (seeds() + 1) / 2; ++k) {
                const uint64_t seed = orders_over_nccl++;
                INFO("order " << seed << " over NCCL");
                const Pace pace = seed % 2 == 0 ? Pace::late : Pace::random;
                what.training.profiled = seed % 8 > 5;
                const auto queueing = seed % 4 < 2 ? Queueing::of_device : Queueing::over_streams;
                const Played device =
                    play(*problem, what, ranks, &pace, seed, "", queueing, Carrier::nccl);
                CHECK(device.conflicts == std::set<std::string>());
                const bool same = device.outcome == hosts[what.training.profiled].outcome;
                CHECK(same);
            }
        }
    }
}

/// True if training without the wait `without` fails: it reports a conflict, has different bits, or
/// crashes because memory is destroyed that a pending launch uses. A crash is possible, so it runs
/// in a child process.
bool goes_wrong(const Problem& problem, const Case& what, int ranks, const Outcome& right,
                const std::string& without, Carrier carrier) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        for (const int crash : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE}) std::signal(crash, SIG_DFL);
        if (!std::freopen("/dev/null", "w", stderr)) _exit(2);
        try {
            const Pace pace = Pace::late;
            const Played played =
                play(problem, what, ranks, &pace, 1, without, Queueing::of_device, carrier);
            _exit(played.conflicts.empty() && played.outcome == right ? 0 : 1);
        } catch (...) {
            _exit(1);
        }
    }
    int status = 0;
    REQUIRE(child > 0);
    REQUIRE(waitpid(child, &status, 0) == child);
    return status != 0;
}

TEST_CASE("each wait of a step is needed by some algorithm") {
    const auto problem = softmax_regression(kReplicas, 1);
    const Pace pace = Pace::late;
    std::set<std::string> met, needed;
    std::vector<Case> all = cases();
    for (size_t k = 0, given = all.size(); k < given; ++k) {
        // Only some algorithms record, because the waits of records hide that other waits are
        // needed.
        const std::string name = all[k].row->name;
        if (name != "dsgd" && name != "ad_psgd") continue;
        all.push_back(all[k]);
        all.back().training.profiled = true;
    }
    std::vector<std::pair<const Case*, int>> on_ranks;
    for (const Case& what : all) {
        on_ranks.emplace_back(&what, ranks_of(what, 3));
        // A single rank sends no moments, so it waits for none.
        if (what.row->name == std::string("consensus_control")) on_ranks.emplace_back(&what, 1);
    }
    for (const auto& [each, ranks] : on_ranks) {
        const Case& what = *each;
        for (const Carrier carrier : {Carrier::messages, Carrier::nccl}) {
            const std::string name = what.row->name;
            const bool coded = name == "choco" && what.title.find("qsgd") != std::string::npos;
            if (carrier == Carrier::nccl && (ranks == 1 || (name != "dsgd" && !coded))) continue;
            const Played whole =
                play(*problem, what, ranks, &pace, 1, "", Queueing::of_device, carrier);
            for (const std::string& why : whole.reasons) {
                met.insert(why);
                if (needed.contains(why)) continue;
                if (goes_wrong(*problem, what, ranks, whole.outcome, why, carrier)) {
                    needed.insert(why);
                }
            }
        }
    }
    // Only the measured times need this wait.
    CHECK(met.erase("transfers in flight before a measurement") == 1);
    CHECK(met.contains("rows that have come"));
    CHECK(met == needed);
    CHECK(met.size() > 12);
}

TEST_CASE("recording adds no waits of the host for its device") {
    const auto problem = softmax_regression(kReplicas, 1);
    const Pace pace = Pace::late;
    for (Case what : cases()) {
        const std::string name = what.row->name;
        if (name != "dsgd" && name != "centralized" && name != "qg_dsgdm") continue;
        for (const int ranks : {1, 3}) {
            INFO(what.title << " on " << ranks << " ranks");
            const auto reasons = [&](bool profiled) {
                what.training.profiled = profiled;
                return play(*problem, what, ranks, &pace, 1, "", Queueing::of_device,
                            ranks == 1 ? Carrier::messages : Carrier::nccl)
                    .reasons;
            };
            std::set<std::string> waits = reasons(true);
            // Queues wait for these operations; the host does not.
            for (const char* order : {"moments that are exchanged", "moments that have come",
                                      "transfers in flight before a measurement"}) {
                CHECK(waits.erase(order) == (ranks > 1 ? 1 : 0));
            }
            CHECK(waits == reasons(false));
        }
    }
}

}  // namespace
}  // namespace dbench::conform
