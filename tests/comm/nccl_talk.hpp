#pragma once
// A rank that says what a test wants over the stand-in for NCCL, right or wrong.

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

/// Rows of all ranks, which outlive them: who has failed is read from still.
struct TalkMemory {
    std::vector<char> out = std::vector<char>(1 << 16), in = out;
    Message message(int rank, int tag, int64_t bytes, bool sends) {
        return {rank, tag, (sends ? out : in).data(), bytes};
    }
};

/// Sends and receives on a rank's transport, and waits; what goes wrong.
class Talk {
public:
    /// Group 1 is what all say to all: they are connected.
    Talk(World& world, TalkMemory& memory) : world_(world), memory_(memory) {
        std::vector<std::pair<int, int64_t>> all;
        for (int rank = 0; rank < world.size(); ++rank) {
            if (rank != world.rank()) all.emplace_back(rank, 16);
        }
        start(all, all);
    }

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
    /// Waits for the first thing that was started, and no other.
    void connect() {
        while (!transfers_.front()->test()) std::this_thread::yield();
    }
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
