#pragma once
// Transports that delay messages, or that fail.

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/random.hpp"
#include "comm/forwarding_transports.hpp"

namespace dbench::comm::tests {

/// Sends every message up to `longest` seconds late; the delay is drawn from `seed`. Reads the
/// memory when it sends. Messages of the same receiver and tag keep their order; others overtake
/// each other.
class DelayedRows : public ForwardingRows {
public:
    DelayedRows(std::unique_ptr<RowTransport> inner, uint64_t seed, double longest)
        : ForwardingRows(std::move(inner)),
          longest_(longest),
          random_(seed, base::Purpose::shuffle) {}

    std::unique_ptr<Transfer> start(std::span<const Message> out,
                                    std::span<const Message> in) override {
        auto received = ForwardingRows::start({}, in);
        std::vector<std::shared_ptr<Late>> sent;
        const std::lock_guard lock(mutex_);
        for (const Message& message : out) {
            sent.push_back(std::make_shared<Late>());
            sent.back()->message = message;
            sent.back()->due = base::now() + longest_ * random_.uniform();
            waiting_[{message.rank, message.tag}].push_back(sent.back());
        }
        return std::make_unique<LateTransfer>(*this, std::move(received), std::move(sent));
    }

private:
    struct Late {
        Message message;
        double due;
        std::unique_ptr<Transfer> travel;  // set once the message has been sent
    };

    class LateTransfer : public Transfer {
    public:
        LateTransfer(DelayedRows& transport, std::unique_ptr<Transfer> received,
                     std::vector<std::shared_ptr<Late>> sent)
            : transport_(transport), received_(std::move(received)), sent_(std::move(sent)) {}

        bool test() override {
            transport_.send_what_is_due();
            const std::lock_guard lock(transport_.mutex_);
            std::erase_if(sent_,
                          [](const auto& late) { return late->travel && late->travel->test(); });
            return received_->test() && sent_.empty();
        }
        std::vector<int> awaited_ranks() const override { return received_->awaited_ranks(); }

    private:
        DelayedRows& transport_;
        std::unique_ptr<Transfer> received_;
        std::vector<std::shared_ptr<Late>> sent_;
    };

    void send_what_is_due() {
        const std::lock_guard lock(mutex_);
        for (auto& [receiver, messages] : waiting_) {
            for (; !messages.empty(); messages.pop_front()) {
                const std::shared_ptr<Late> late = messages.front().lock();
                if (!late) continue;  // its transfer has been destroyed
                if (late->due > base::now()) break;
                late->travel = ForwardingRows::start({&late->message, 1}, {});
            }
        }
        std::erase_if(waiting_, [](const auto& queue) { return queue.second.empty(); });
    }

    double longest_;
    std::mutex mutex_;
    base::Random random_;
    std::map<std::pair<int, int>, std::deque<std::weak_ptr<Late>>> waiting_;  // by rank and tag
};

/// Works for `starts` starts and then always throws. `Forwarding`: as for CountingTransport.
template <class Forwarding>
class BreakingTransport : public Forwarding {
public:
    BreakingTransport(std::unique_ptr<typename Forwarding::Kind> inner, int starts)
        : Forwarding(std::move(inner)), left_(starts) {}

    std::unique_ptr<Transfer> start(std::span<const Message> out,
                                    std::span<const Message> in) override {
        if (left_-- <= 0) throw base::RunError("the cable is cut");
        return Forwarding::start(out, in);
    }

private:
    std::atomic<int> left_;
};

using BreakingRows = BreakingTransport<ForwardingRows>;
using BreakingControl = BreakingTransport<ForwardingControl>;

}  // namespace dbench::comm::tests
