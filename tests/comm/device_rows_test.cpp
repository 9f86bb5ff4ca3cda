// Rows and moments between ranks that compute on devices and whose rows move over NCCL: queues
// alone order them, and the bits are those of the host in any order that the queues allow.

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "arena/emulated_device.hpp"
#include "arena/kernels.hpp"
#include "arena/seen_memory.hpp"
#include "catch.hpp"
#include "comm/mixing_checks.hpp"
#include "comm/nccl_ranks.hpp"
#include "comm/nccl_stand_in.hpp"
#include "comm/ranks.hpp"
#include "comm/schedules.hpp"

namespace dbench::comm::tests {
namespace {

using arena::EmulatedDevice;
using Bits = std::vector<double>;  // of all ranks, one after another

/// The work of a rank in an exchange of n replicas, and its result.
using Work = std::function<Bits(World&, const Placement&, arena::Queue&)>;

Bits alone_on_host(int n, const Work& work) {
    World solitary{alone()};
    return work(solitary, {n, 1}, arena::host_queue());
}

struct Played {
    std::vector<Bits> ranks;
    std::set<std::string> problems, reasons;
};

Played play_on_devices(int n, int ranks, uint64_t seed, const Work& work) {
    Played played;
    played.ranks.resize(static_cast<size_t>(ranks));
    std::deque<arena::SeenMemory> memory;  // of each rank's device
    std::vector<std::unique_ptr<EmulatedDevice>> devices;
    NcclStandIn nccl(ranks, seed);
    for (int rank = 0; rank < ranks; ++rank) {
        const auto pace = seed % 2 == 0 ? EmulatedDevice::Pace::late : EmulatedDevice::Pace::random;
        devices.push_back(std::make_unique<EmulatedDevice>(
            seed * static_cast<uint64_t>(ranks) + static_cast<uint64_t>(rank), -1, pace));
        devices.back()->set_visible_memory(memory.emplace_back());
        nccl.give(rank, *devices.back());
    }
    const auto problems = play(
        ranks,
        [&](World& world) {
            world.compute_on(world.place());
            world.use_row_transport(join_nccl(world, nccl.parts(world.slot()), 0));
            played.ranks[static_cast<size_t>(world.rank())] =
                work(world, {n, ranks}, world.place().compute());
            return "";
        },
        [&](Membership& member) {
            EmulatedDevice& device = *devices[static_cast<size_t>(member.rank)];
            member.place = {device.add_queue(), device.add_queue()};
        });
    for (const std::string& problem : problems) played.problems.insert(problem);
    played.problems.insert(nccl.problem());
    for (const auto& device : devices) {
        device->finish();
        played.problems.insert(device->conflicts().begin(), device->conflicts().end());
        played.reasons.insert(device->reasons().begin(), device->reasons().end());
    }
    played.problems.erase("");
    return played;
}

const std::set<std::string> kNone;

}  // namespace

TEST_CASE("Moments of many blocks reuse the same memory one after another without host waits") {
    arena::Layout layout;  // has more segments than a block
    for (int k = 0; k < 1100; ++k) {
        layout.add("t" + std::to_string(k), {1 + k % 3}, arena::TensorKind::bias);
    }
    layout.add("long", {9000}, arena::TensorKind::weight);
    constexpr int kReplicas = 5;
    const Work work = [&](World& world, const Placement& placement, arena::Queue& queue) {
        Exchange exchange(world, placement, layout, nullptr, Reduction::reproducible);
        const arena::Buffer x =
            replicas(layout, arena::DType::float32, placement.begin(world.rank()),
                     placement.count(world.rank()), world.place());
        std::vector<DeferredMoments> spreads;
        for (int t = 0; t < 3; ++t) {
            spreads.push_back(exchange.deferred_moments(x.rows()));
            arena::scale(x.rows(), layout.all(), -0.5, queue);
        }
        arena::finish(queue, "all of it");
        Bits bits;
        for (const DeferredMoments& each : spreads) {
            bits.insert(bits.end(), each.m2->begin(), each.m2->end());
        }
        return bits;
    };
    const Bits host = alone_on_host(kReplicas, work);
    for (const int ranks : {2, 3, 5}) {
        for (uint64_t seed = 0; seed < 4; ++seed) {
            INFO(ranks << " ranks, order " << seed);
            const Played played = play_on_devices(kReplicas, ranks, seed, work);
            CHECK(played.problems == kNone);
            for (const Bits& bits : played.ranks) CHECK((bits == host));
            CHECK(played.reasons.contains("moments that have come"));
            CHECK(!played.reasons.contains("moments that are sent"));  // the host does not wait
        }
    }
}

TEST_CASE("Computation on received rows does not wait for rows that are sent later") {
    const arena::Layout layout = short_layout();
    const DenseSchedule pair = circulant(2, {1});
    const arena::Columns front{0, 512}, back{512, layout.columns()};
    std::atomic<bool> computed = false;
    // Rank 1 sends its second part after rank 0 has computed with the first part.
    const Work work = [&](World& world, const Placement& placement, arena::Queue& queue) {
        Exchange exchange(world, placement, layout, &pair, Reduction::reproducible);
        const arena::Buffer x = replicas(layout, arena::DType::float32,
                                         placement.begin(world.rank()), 1, world.place());
        const Token early = exchange.start_mix(pair.at(0), x.rows(), front);
        Token late;
        if (world.rank() == 0) late = exchange.start_mix(pair.at(0), x.rows(), back);
        exchange.finish_mix(early, x.rows());
        arena::finish(queue, "the first part");
        if (world.rank() == 0) {
            computed = true;
        } else {
            const auto begin = std::chrono::steady_clock::now();
            while (!computed && std::chrono::steady_clock::now() - begin < std::chrono::seconds(5))
                std::this_thread::yield();
            if (!computed) return Bits{0};
            late = exchange.start_mix(pair.at(0), x.rows(), back);
        }
        exchange.finish_mix(late, x.rows());
        arena::finish(queue, "the second part");
        return Bits{1};
    };
    for (uint64_t seed = 0; seed < 4; ++seed) {
        computed = false;
        const Played played = play_on_devices(2, 2, seed, work);
        CHECK(played.problems == kNone);
        for (const Bits& bits : played.ranks) CHECK((bits == Bits{1}));
    }
}

TEST_CASE("Rows that are mixed in tiles move concurrently with earlier computation") {
    arena::Layout layout;  // two tiles
    layout.add("long", {(int64_t{1} << 20) + 5000}, arena::TensorKind::weight);
    const DenseSchedule ring = circulant(3, {1, -1});
    const Work work = [&](World& world, const Placement& placement, arena::Queue& queue) {
        Exchange exchange(world, placement, layout, &ring, Reduction::reproducible);
        const int64_t first = placement.begin(world.rank()), count = placement.count(world.rank());
        const arena::Buffer x =
            replicas(layout, arena::DType::float32, first, count, world.place());
        for (int t = 0; t < 2; ++t) {
            arena::scale(x.rows(), layout.all(), -0.5, queue);
            exchange.mix(ring.at(t), x.rows(), layout.all(), x.rows());
        }
        arena::finish(queue, "all of it");
        Bits bits;  // of replica 0, or of the rank's first replica
        for (int64_t c = 0; c < layout.columns(); ++c) bits.push_back(get(x.rows(), 0, c));
        return bits;
    };
    const Bits host = alone_on_host(3, work);
    for (uint64_t seed = 0; seed < 2; ++seed) {
        const Played played = play_on_devices(3, 3, seed, work);
        CHECK(played.problems == kNone);
        CHECK((played.ranks[0] == host));
        CHECK(!played.reasons.contains("data to send"));
    }
}

}  // namespace dbench::comm::tests
