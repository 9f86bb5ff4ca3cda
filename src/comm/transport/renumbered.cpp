#include "comm/transport/renumbered.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace dbench::comm {
namespace {

/// A permutation of ranks and its inverse.
struct Numbers {
    std::vector<int> slot_of, rank_of;

    explicit Numbers(const std::vector<int>& slots) : slot_of(slots), rank_of(slots.size(), -1) {
        for (size_t rank = 0; rank < slots.size(); ++rank) {
            DBENCH_EXPECT(slots[rank] >= 0 && slots[rank] < static_cast<int>(slots.size()));
            DBENCH_EXPECT(rank_of[slots[rank]] < 0);
            rank_of[slots[rank]] = static_cast<int>(rank);
        }
    }
    std::vector<Message> translated(std::span<const Message> messages) const {
        std::vector<Message> out(messages.begin(), messages.end());
        for (Message& message : out) message.rank = slot_of[message.rank];
        return out;
    }
};
using NumbersPtr = std::shared_ptr<const Numbers>;

/// Reports the awaited ranks under their new numbers.
class RenumberedTransfer : public Transfer {
public:
    RenumberedTransfer(std::unique_ptr<Transfer> inner, NumbersPtr numbers)
        : inner_(std::move(inner)), numbers_(std::move(numbers)) {}
    bool test() override { return inner_->test(); }
    std::vector<int> awaited_ranks() const override {
        std::vector<int> ranks = inner_->awaited_ranks();
        for (int& rank : ranks) rank = numbers_->rank_of[rank];
        std::sort(ranks.begin(), ranks.end());
        return ranks;
    }

private:
    std::unique_ptr<Transfer> inner_;
    NumbersPtr numbers_;
};

/// The part that both renumbered transports share.
template <class Kind>
class Renumbered : public Kind {
public:
    Renumbered(std::unique_ptr<Kind> inner, NumbersPtr numbers)
        : inner_(std::move(inner)), numbers_(std::move(numbers)) {}

    int tags() const override { return inner_->tags(); }
    std::unique_ptr<Transfer> start(std::span<const Message> out,
                                    std::span<const Message> in) override {
        return renamed(inner_->start(numbers_->translated(out), numbers_->translated(in)));
    }
    void abandon() override { inner_->abandon(); }

    std::unique_ptr<Kind> release() { return std::move(inner_); }

protected:
    Kind& inner() { return *inner_; }
    const Numbers& numbers() const { return *numbers_; }
    std::unique_ptr<Transfer> renamed(std::unique_ptr<Transfer> transfer) const {
        return std::make_unique<RenumberedTransfer>(std::move(transfer), numbers_);
    }

private:
    std::unique_ptr<Kind> inner_;
    NumbersPtr numbers_;
};

class RenumberedRows : public Renumbered<RowTransport> {
public:
    using Renumbered::Renumbered;
    std::unique_ptr<Transfer> start_sum(arena::DType type, const void* from, void* to,
                                        int64_t count) override {
        return renamed(inner().start_sum(type, from, to, count));
    }
    arena::Queue* queue() override { return inner().queue(); }
    bool reads_devices() override { return inner().reads_devices(); }
};

class RenumberedControl : public Renumbered<ControlTransport> {
public:
    using Renumbered::Renumbered;
    std::unique_ptr<Transfer> start_control_message(int to, const std::string& text) override {
        return renamed(inner().start_control_message(numbers().slot_of[to], text));
    }
    std::optional<ControlMessage> take_control_message() override {
        auto message = inner().take_control_message();
        if (message) message->rank = numbers().rank_of[message->rank];
        return message;
    }
    void abort(int status) override { inner().abort(status); }
};

}  // namespace

Membership renumbered(Membership member, std::vector<int> slots) {
    if (!member.slots.empty()) {
        member.rank = member.slot();
        member.slots.clear();
        member.rows = static_cast<RenumberedRows&>(*member.rows).release();
        member.control = static_cast<RenumberedControl&>(*member.control).release();
    }
    if (slots.empty()) return member;
    DBENCH_EXPECT(static_cast<int>(slots.size()) == member.size);
    const auto numbers = std::make_shared<const Numbers>(slots);
    member.rank = numbers->rank_of[member.rank];
    member.slots = std::move(slots);
    member.rows = std::make_unique<RenumberedRows>(std::move(member.rows), numbers);
    member.control = std::make_unique<RenumberedControl>(std::move(member.control), numbers);
    return member;
}

}  // namespace dbench::comm
