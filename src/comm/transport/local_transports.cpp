#include "comm/transport/local_transports.hpp"

#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>

#include "base/error.hpp"

namespace dbench::comm {
namespace {

/// Separate kinds of traffic: their messages never match each other.
enum class Channel : uint8_t { rows, control, control_messages };

}  // namespace

/// The message boxes of the group, one per channel, receiver, sender and tag. Sends never wait.
/// Receives take numbers, so that messages match receives in the order of their starts.
class LocalGroup {
public:
    explicit LocalGroup(int size) : size_(size) {}

    int size() const { return size_; }

    void put(Channel channel, int from, int to, int tag, std::string bytes) {
        const std::lock_guard lock(mutex_);
        Box& box = boxes_[{channel, to, from, tag}];
        box.messages.emplace(box.sent++, std::move(bytes));
    }

    // Returns the number of the message that a receive started now will get.
    uint64_t expect(Channel channel, int from, int to, int tag) {
        const std::lock_guard lock(mutex_);
        return boxes_[{channel, to, from, tag}].expected++;
    }

    // Returns the message with this number if it has been sent.
    std::optional<std::string> take(Channel channel, int from, int to, int tag, uint64_t number) {
        const std::lock_guard lock(mutex_);
        return take(boxes_.find({channel, to, from, tag}), number);
    }

    // Returns a message of the lowest rank that has sent one.
    std::optional<ControlMessage> take_control_message(int to) {
        const std::lock_guard lock(mutex_);
        const auto box = boxes_.lower_bound({Channel::control_messages, to, 0, 0});
        if (box == boxes_.end() || std::get<0>(box->first) != Channel::control_messages ||
            std::get<1>(box->first) != to) {
            return {};
        }
        const int from = std::get<2>(box->first);
        const uint64_t number = box->second.expected++;
        return ControlMessage{from, take(box, number).value()};
    }

private:
    struct Box {
        std::map<uint64_t, std::string> messages;
        uint64_t sent = 0, expected = 0;
    };
    using Boxes = std::map<std::tuple<Channel, int, int, int>, Box>;  // channel, to, from, tag

    std::optional<std::string> take(Boxes::iterator at, uint64_t number) {
        if (at == boxes_.end()) return {};
        Box& box = at->second;
        const auto found = box.messages.find(number);
        if (found == box.messages.end()) return {};
        std::string bytes = std::move(found->second);
        box.messages.erase(found);
        if (box.messages.empty() && box.sent == box.expected) boxes_.erase(at);
        return bytes;
    }

    int size_;
    std::mutex mutex_;
    Boxes boxes_;
};

namespace {

class LocalTransfer : public Transfer {
public:
    LocalTransfer(LocalGroup& group, Channel channel, int me, std::span<const Message> in)
        : group_(group), channel_(channel), me_(me) {
        for (const Message& message : in) {
            in_.push_back({message, group.expect(channel, message.rank, me, message.tag)});
        }
    }

    bool test() override {
        std::erase_if(in_, [&](const Expected& expected) {
            const Message& message = expected.message;
            const auto bytes =
                group_.take(channel_, message.rank, me_, message.tag, expected.number);
            if (!bytes) return false;
            if (static_cast<int64_t>(bytes->size()) > message.bytes) {
                throw base::RunError("a message of " + std::to_string(bytes->size()) +
                                     " bytes arrived where " + std::to_string(message.bytes) +
                                     " were expected");
            }
            std::memcpy(message.data, bytes->data(), bytes->size());
            return true;
        });
        return in_.empty();
    }

    std::vector<int> awaited_ranks() const override {
        std::set<int> ranks;
        for (const Expected& expected : in_) ranks.insert(expected.message.rank);
        return {ranks.begin(), ranks.end()};
    }

private:
    LocalGroup& group_;
    Channel channel_;
    int me_;
    struct Expected {
        Message message;
        uint64_t number;  // among the messages of its sender and tag
    };
    std::vector<Expected> in_;
};

/// The part that both transports share: `start` copies messages into the group's boxes at once.
template <class Kind, Channel channel>
class LocalTransport : public Kind {
public:
    LocalTransport(std::shared_ptr<LocalGroup> group, int rank)
        : group_(std::move(group)), rank_(rank) {}

    int tags() const override { return 32768; }

    std::unique_ptr<Transfer> start(std::span<const Message> out,
                                    std::span<const Message> in) override {
        for (const Message& message : out) {
            group_->put(channel, rank_, message.rank, message.tag,
                        std::string(static_cast<const char*>(message.data),
                                    static_cast<size_t>(message.bytes)));
        }
        return std::make_unique<LocalTransfer>(*group_, channel, rank_, in);
    }

    void abandon() override {}

protected:
    std::shared_ptr<LocalGroup> group_;
    int rank_;
};

class LocalRows : public LocalTransport<RowTransport, Channel::rows> {
public:
    using LocalTransport::LocalTransport;

    std::unique_ptr<Transfer> start_sum(arena::DType, const void*, void*, int64_t) override {
        throw base::RunError(
            "ranks in one process have no library that sums: use \"reduction\": \"reproducible\"");
    }
};

class LocalControl : public LocalTransport<ControlTransport, Channel::control> {
public:
    using LocalTransport::LocalTransport;

    std::unique_ptr<Transfer> start_control_message(int to, const std::string& text) override {
        group_->put(Channel::control_messages, rank_, to, 0, text);
        return std::make_unique<LocalTransfer>(*group_, Channel::control_messages, rank_,
                                               std::span<const Message>());
    }
    std::optional<ControlMessage> take_control_message() override {
        return group_->take_control_message(rank_);
    }
    void abort(int status) override { _exit(status); }
};

std::string host_name() {
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    return name;
}

}  // namespace

std::shared_ptr<LocalGroup> local_group(int size) { return std::make_shared<LocalGroup>(size); }

Membership join_local(std::shared_ptr<LocalGroup> group, int rank) {
    Membership member;
    member.rank = member.local_rank = rank;
    member.size = member.local_size = group->size();
    member.host = host_name();
    member.control = std::make_unique<LocalControl>(group, rank);
    member.rows = std::make_unique<LocalRows>(std::move(group), rank);
    return member;
}

}  // namespace dbench::comm
