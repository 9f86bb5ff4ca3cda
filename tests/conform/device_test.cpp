// The step of every algorithm where what it computes is launched on a device's queues: the host's
// bits in any order that the queues and waits allow, and no wait too many. DBENCH_DEVICE_SEEDS
// says how many orders are tried (2); DBENCH_DEVICE_STUMBLES lets threads meet in more of them.

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <set>

#include <nlohmann/json.hpp>

#include "arena/emulated_streams.hpp"
#include "catch.hpp"
#include "comm/forwarding_transports.hpp"
#include "comm/nccl_stand_in.hpp"
#include "comm/ranks.hpp"
#include "conform/conform.hpp"
#include "conform/trial.hpp"

namespace dbench::conform {
namespace {

using arena::EmulatedDevice;
using base::Json;
using Pace = EmulatedDevice::Pace;

constexpr int64_t kReplicas = 5, kIterations = 7;

/// Tells the device which memory messages are sent from and come into.
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

/// A subject on a graph; how it is told apart in what a test says.
struct Case {
    Training training;
    const algorithms::AlgorithmEntry* row;
    std::string title;
};

Case case_of(const Subject& subject, const Json& graph, arena::Codec codec) {
    Training training = training_of(subject, graph, kReplicas, kIterations);
    training.type = arena::DType::float32;
    training.noise = 0.1;
    training.codec = codec;
    if (subject.row->accepts.asynchronous) training.span = 3;
    return {training, subject.row,
            words(subject.algorithm) + ", " + words(subject.optimizer) + ", " +
                words(subject.message) + ", " + words(graph)};
}

/// All algorithms in all their forms; some on graphs with groups, and with rows in 16 bits.
std::vector<Case> cases() {
    std::vector<Case> all;
    std::set<std::string> met;
    for (const Subject& subject : subjects("")) {
        const algorithms::Accepts& accepts = subject.row->accepts;
        const Json graph = graphs::resolve_graph(suitable_graph(accepts, {}, kReplicas), "graph");
        all.push_back(case_of(subject, graph, arena::Codec::identity));
        if (!met.insert(subject.row->name).second) continue;
        const bool rows = accepts.codes_rows && !accepts.compresses && !accepts.own_messages;
        if (rows) all.push_back(case_of(subject, graph, arena::Codec::bfloat16));
        const Json complete = graphs::resolve_graph({{"type", "complete"}}, "graph");
        if (unsuitable(accepts, complete, kReplicas).empty()) {
            all.push_back(case_of(subject, complete, arena::Codec::identity));
        }
    }
    return all;
}

/// What a training comes to: the bits of all state, and what its last iteration recorded.
using Outcome = std::vector<std::vector<std::string>>;  // per rank

struct Played {
    Outcome outcome;
    std::set<std::string> reasons, conflicts;
};

/// Queues over streams of an emulated device, as CUDA's are.
struct Streaming {
    arena::EmulatedStreams streams;
    arena::StreamDevice device{streams};
    std::unique_ptr<arena::Queue> compute = device.queue_on(streams.add_stream());
    std::unique_ptr<arena::Queue> exchange = device.queue_on(streams.add_stream());

    Streaming(EmulatedDevice& emulated, uint64_t seed) : streams(emulated, seed) {}
};

/// Whose queues those of a rank are.
enum class Queueing : uint8_t { of_device, over_streams };

/// What carries rows between ranks; messages of copies that the host reaches, or of rows where they
/// lie.
enum class Carrier : uint8_t { messages, device_aware_messages, nccl };

/// Trains on `ranks` threads, each with a device of its own, or with none where `pace` is null.
Played play(const Problem& problem, const Case& what, int ranks, const Pace* pace, uint64_t seed,
            const std::string& forgotten = "", Queueing queueing = Queueing::of_device,
            Carrier carrier = Carrier::messages) {
    Played played;
    played.outcome.resize(static_cast<size_t>(ranks));
    std::optional<arena::SeenMemory> memory;
    if (pace) memory.emplace(arena::Space::device);
    std::vector<std::unique_ptr<EmulatedDevice>> devices;
    std::vector<std::unique_ptr<Streaming>> streaming(static_cast<size_t>(ranks));
    for (int rank = 0; pace && rank < ranks; ++rank) {
        devices.push_back(std::make_unique<EmulatedDevice>(
            seed * static_cast<uint64_t>(ranks) + static_cast<uint64_t>(rank), -1, *pace));
        devices.back()->see(*memory);
        devices.back()->forget(forgotten);
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
                world.compute_on({own->compute.get(), own->exchange.get()});
            }
            if (nccl) world.carry_rows(comm::join_nccl(world, nccl->parts(world.slot()), 0));
            Trainee trainee(world, problem, what.training, *what.row);
            const int64_t steps = kIterations / what.training.span;
            for (int64_t k = 0; k < steps; ++k) trainee.step();
            const auto rank = static_cast<size_t>(world.rank());
            played.outcome[rank] = trainee.save();
            const Record record = trainee.last_record();
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
                member.queues = {device.add_queue(), device.add_queue()};
            }
            member.rows = std::make_unique<WatchedRows>(std::move(member.rows), device,
                                                        carrier == Carrier::device_aware_messages);
        });
    for (const std::string& problem_of_rank : problems) {
        if (!problem_of_rank.empty()) played.conflicts.insert(problem_of_rank);
    }
    for (const auto& device : devices) {
        device->finish();  // what would still be under way when all memory has gone
        played.reasons.insert(device->reasons().begin(), device->reasons().end());
        played.conflicts.insert(device->conflicts().begin(), device->conflicts().end());
    }
    if (nccl && !nccl->problem().empty()) played.conflicts.insert(nccl->problem());
    return played;
}

int ranks_of(const Case& what, int most) {
    return unsuitable(what.row->accepts, what.training.graph, kReplicas, most).empty() ? most : 1;
}

uint64_t seeds() {
    const char* const wanted = std::getenv("DBENCH_DEVICE_SEEDS");
    return wanted ? std::stoull(wanted) : 2;
}

TEST_CASE("on queues every algorithm has the host's bits, and nothing touches what is under way") {
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
                // Either for each case, in turn with what is recorded.
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

/// Whether training without a wait goes wrong: it conflicts, has other bits, or crashes, since
/// memory goes that a launch is yet to touch. So it has a process of its own.
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
        // Not all: the waits of records hide that others are needed.
        const std::string name = all[k].row->name;
        if (name != "dsgd" && name != "ad_psgd") continue;
        all.push_back(all[k]);
        all.back().training.profiled = true;
    }
    std::vector<std::pair<const Case*, int>> on_ranks;
    for (const Case& what : all) {
        on_ranks.emplace_back(&what, ranks_of(what, 3));
        // One rank sends no moments, and so waits for none that are sent.
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
    CHECK(met.erase("what moves before it is measured") == 1);  // for the times alone
    CHECK(met.contains("rows that have come"));
    CHECK(met == needed);
    CHECK(met.size() > 12);
}

TEST_CASE("recording alone makes a step wait no more for its device") {
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
            // Queues wait for these, not the host.
            for (const char* order : {"moments that are exchanged", "moments that have come",
                                      "what moves before it is measured"}) {
                CHECK(waits.erase(order) == (ranks > 1 ? 1 : 0));
            }
            CHECK(waits == reasons(false));
        }
    }
}

}  // namespace
}  // namespace dbench::conform
