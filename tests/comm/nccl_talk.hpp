#pragma once
// A rank that makes the calls that a test prescribes, right or wrong, over the stand-in for NCCL.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "comm/world/world_impl.hpp"

namespace dbench::comm::tests {

/// The rows of one rank. They must outlive the rank: others still read from a rank that has failed.
struct TalkMemory {
    std::vector<char> out = std::vector<char>(1 << 16), in = out;
    Message message(int rank, int tag, int64_t bytes, bool sends) {
        return {rank, tag, (sends ? out : in).data(), bytes};
    }
};

/// Sends and receives on a rank's transport, waits, and collects errors.
class Talk {
public:
    /// Makes group 1, in which every rank sends to every rank, so that all are connected.
    Talk(World& world, TalkMemory& memory) : world_(world), memory_(memory) {
        std::vector<std::pair<int, int64_t>> all;
        for (int rank = 0; rank < world.size(); ++rank) {
            if (rank != world.rank()) all.emplace_back(rank, 16);
        }
        start(all, all);
    }

    /// Starts messages of the given ranks and sizes.
    void start(std::vector<std::pair<int, int64_t>> out, std::vector<std::pair<int, int64_t>> in) {
        std::vector<Message> sent, received;
        for (const auto& [rank, bytes] : out) {
            sent.push_back(memory_.message(rank, tag_, bytes, true));
        }
        for (const auto& [rank, bytes] : in) {
            received.push_back(memory_.message(rank, tag_, bytes, false));
        }
        ++tag_;
        keep([&] { return transport().start(sent, received); });
    }
    void sum(arena::DType type, int64_t count) {
        keep([&] {
            return transport().start_sum(type, memory_.out.data(), memory_.in.data(), count);
        });
    }
    /// Waits for group 1 only.
    void connect() {
        while (!transfers_.front()->test()) std::this_thread::yield();
    }
    /// Waits for everything that was started. Returns the first error, or "".
    std::string finish() {
        try {
            for (const auto& transfer : transfers_) {
                while (problem_.empty() && !transfer->test()) {
                    std::this_thread::sleep_for(std::chrono::microseconds(50));
                }
            }
        } catch (const base::RunError& error) {
            problem_ = error.what();
        }
        return problem_;
    }

private:
    RowTransport& transport() { return world_.impl().rows(); }
    template <class Start>
    void keep(Start&& start) {
        if (!problem_.empty()) return;
        try {
            transfers_.push_back(start());
        } catch (const base::RunError& error) {
            problem_ = error.what();
        }
    }

    World& world_;
    TalkMemory& memory_;
    int tag_ = 0;
    std::vector<std::unique_ptr<Transfer>> transfers_;
    std::string problem_;
};

}  // namespace dbench::comm::tests
