#include "comm/local_transport.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <stdexcept>
#include <utility>

#include "base/error.hpp"

namespace dbench::comm {

void LocalGroup::put(Channel channel, int from, int to, int tag, std::string bytes) {
    const std::lock_guard lock(mutex_);
    boxes_[{channel, to, from, tag}].push_back(std::move(bytes));
}

std::optional<std::string> LocalGroup::take(Channel channel, int from, int to, int tag) {
    const std::lock_guard lock(mutex_);
    const auto box = boxes_.find({channel, to, from, tag});
    if (box == boxes_.end()) return {};
    std::string bytes = std::move(box->second.front());
    box->second.pop_front();
    if (box->second.empty()) boxes_.erase(box);
    return bytes;
}

std::optional<Letter> LocalGroup::take_any(Channel channel, int to) {
    int from, tag;
    {
        const std::lock_guard lock(mutex_);
        const auto box = boxes_.lower_bound({channel, to, 0, 0});
        if (box == boxes_.end() || std::get<0>(box->first) != channel ||
            std::get<1>(box->first) != to) {
            return {};
        }
        from = std::get<2>(box->first);
        tag = std::get<3>(box->first);
    }
    return Letter{from, take(channel, from, to, tag).value()};
}

namespace {

class LocalTransfer : public Transfer {
public:
    LocalTransfer(LocalGroup& group, Channel channel, int me, std::span<const Message> in)
        : group_(group), channel_(channel), me_(me), in_(in.begin(), in.end()) {}

    bool test() override {
        std::set<std::pair<int, int>> late;  // what follows a late message waits for its turn
        std::erase_if(in_, [&](const Message& message) {
            if (late.count({message.rank, message.tag})) return false;
            const auto bytes = group_.take(channel_, message.rank, me_, message.tag);
            if (!bytes) {
                late.insert({message.rank, message.tag});
                return false;
            }
            if (static_cast<int64_t>(bytes->size()) > message.bytes) {
                throw base::RunError("a message of " + std::to_string(bytes->size()) +
                                     " bytes came where " + std::to_string(message.bytes) +
                                     " were expected");
            }
            std::memcpy(message.data, bytes->data(), bytes->size());
            return true;
        });
        return in_.empty();
    }

    std::vector<int> owing() const override {
        std::set<int> ranks;
        for (const Message& message : in_) ranks.insert(message.rank);
        return {ranks.begin(), ranks.end()};
    }

private:
    LocalGroup& group_;
    Channel channel_;
    int me_;
    std::vector<Message> in_;
};

class LocalTransport : public Transport {
public:
    LocalTransport(std::shared_ptr<LocalGroup> group, int rank)
        : group_(std::move(group)), rank_(rank) {}

    int rank() const override { return rank_; }
    int size() const override { return group_->size(); }
    int tags() const override { return 32768; }

    std::unique_ptr<Transfer> start(Channel channel, std::span<const Message> out,
                                    std::span<const Message> in) override {
        for (const Message& message : out) {
            group_->put(channel, rank_, message.rank, message.tag,
                        std::string(static_cast<const char*>(message.data),
                                    static_cast<size_t>(message.bytes)));
        }
        return std::make_unique<LocalTransfer>(*group_, channel, rank_, in);
    }

    std::unique_ptr<Transfer> start_sum(arena::DType, const void*, void*, int64_t) override {
        throw std::logic_error("threads that play ranks have no library to sum with");
    }

    std::optional<Letter> letter() override { return group_->take_any(Channel::failure, rank_); }
    void abandon() override {}
    void abort(int status) override { _exit(status); }

private:
    std::shared_ptr<LocalGroup> group_;
    int rank_;
};

}  // namespace

std::unique_ptr<Transport> local_transport(std::shared_ptr<LocalGroup> group, int rank) {
    return std::make_unique<LocalTransport>(std::move(group), rank);
}

}  // namespace dbench::comm
