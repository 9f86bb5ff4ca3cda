#include "comm/peers/mailbox.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.hpp"

namespace dbench::comm {
namespace {

/// Notes: a row with this stamp follows; the last row was received.
constexpr int64_t kRowFollows = 0, kRowReceived = 1;

/// Returns both lists in one.
std::vector<int> together(std::vector<int> some, const std::vector<int>& others) {
    some.insert(some.end(), others.begin(), others.end());
    return some;
}

template <class Links>
auto& link_of(Links& links, int rank) {
    const auto at = std::find_if(links.begin(), links.end(),
                                 [rank](const auto& link) { return link.rank == rank; });
    DBENCH_EXPECT(at != links.end());
    return *at;
}

}  // namespace

Mailbox::Mailbox(World& world, int64_t bytes, const std::vector<int>& to,
                 const std::vector<int>& from)
    : Service(world, together(to, from)), bytes_(bytes) {
    for (const int other : to) out_.push_back({other});
    for (const int other : from) in_.push_back({other});
}

void Mailbox::publish(const void* row, int64_t stamp) {
    const std::shared_ptr<char> copy = pool_.take(bytes_);
    std::memcpy(copy.get(), row, static_cast<size_t>(bytes_));
    const std::lock_guard lock(mutex_);
    for (Outgoing& link : out_) link.next = {copy, stamp};
    advance_requests();  // not through the engine, which skips an operation that another thread is
                         // advancing
}

Mailbox::StampedRow Mailbox::last(size_t k) const {
    const std::lock_guard lock(mutex_);
    return in_[k].last;
}

void Mailbox::wait_for(int64_t stamp) {
    {
        const std::lock_guard lock(mutex_);
        awaited_ = stamp;
    }
    wait_until("the neighbours' first rows", [&] { return ranks_without(stamp).empty(); });
    const std::lock_guard lock(mutex_);
    awaited_.reset();
}

std::vector<int64_t> Mailbox::take_sent(int64_t first, int64_t count) {
    const std::lock_guard lock(mutex_);
    std::vector<int64_t> counts;
    for (int64_t stamp = first; stamp < first + count; ++stamp) counts.push_back(sent_[stamp]);
    sent_.clear();
    return counts;
}

void Mailbox::handle_derived_note(int from, Kind kind, int64_t value) {
    if (kind == own(kRowReceived)) link_of(out_, from).taken = true;
    if (kind != own(kRowFollows)) return;
    Incoming& link = link_of(in_, from);
    link.row = pool_.take(bytes_);
    link.stamp = value;
    const Message in{from, row_tag(), link.row.get(), bytes_};
    link.transfer = world_impl().rows().start({}, {&in, 1});
}

void Mailbox::advance_requests() {
    for (Incoming& link : in_) {
        if (!link.transfer || !link.transfer->test()) continue;
        link.transfer.reset();
        link.last = {std::move(link.row), link.stamp};
        send(link.rank, own(kRowReceived));
    }
    for (Outgoing& link : out_) {
        if (link.transfer && link.transfer->test()) {
            link.transfer.reset();
            link.mail = {};
        }
        if (link.transfer || !link.taken || !link.next.row) continue;
        link.mail = std::exchange(link.next, {});
        link.taken = false;
        send(link.rank, own(kRowFollows), link.mail.stamp);
        char* const row = const_cast<char*>(link.mail.row.get());  // sends only read it
        const Message out{link.rank, row_tag(), row, bytes_};
        link.transfer = world_impl().rows().start({&out, 1}, {});
        ++sent_[link.mail.stamp];
    }
}

bool Mailbox::has_own_requests() const { return !awaited_by_requests().empty(); }

std::vector<int> Mailbox::ranks_without(int64_t stamp) const {
    std::vector<int> ranks;
    for (const Incoming& link : in_) {
        if (!link.last.row || link.last.stamp < stamp) ranks.push_back(link.rank);
    }
    return ranks;
}

bool Mailbox::has_peer_requests() const {
    return std::any_of(in_.begin(), in_.end(),
                       [](const Incoming& link) { return !!link.transfer; });
}

std::vector<int> Mailbox::awaited_by_requests() const {
    if (awaited_) return ranks_without(*awaited_);
    std::vector<int> ranks;
    for (const Outgoing& link : out_) {
        if (link.transfer || !link.taken || link.next.row) ranks.push_back(link.rank);
    }
    return ranks;
}

}  // namespace dbench::comm
