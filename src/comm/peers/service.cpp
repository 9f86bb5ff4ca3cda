#include "comm/peers/service.hpp"

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "comm/wait.hpp"

namespace dbench::comm {
namespace {

/// Returns the ranks that send notes to `rank`: its peers, and rank 0; for rank 0 all ranks.
std::set<int> note_senders(int rank, int size, const std::vector<int>& peers) {
    std::set<int> ranks(peers.begin(), peers.end());
    if (rank != 0) ranks.insert(0);
    for (int other = 0; rank == 0 && other < size; ++other) ranks.insert(other);
    ranks.erase(rank);
    return ranks;
}

/// A fraction of the seconds that a wait may take.
double heartbeat_interval() { return std::min(timeout(), stop_timeout()) / 4; }

}  // namespace

Service::Service(World& world, const std::vector<int>& peers)
    : world_(world),
      world_impl_(world.impl()),
      heartbeat_interval_(heartbeat_interval()),
      finished_(static_cast<size_t>(world.size())),
      answered_(static_cast<size_t>(world.size())) {
    if (world_impl_.rows().queue()) {
        throw base::UserError(
            "ranks that do not wait for each other send rows whenever they have some, but what "
            "carries rows here (NCCL) moves them in one order: take an algorithm whose ranks wait, "
            "or run on the CPU");
    }
    const std::set<int> ranks = note_senders(world.rank(), world.size(), peers);
    channels_.reserve(ranks.size());  // receives write into the elements
    for (const int other : ranks) listen(channels_.emplace_back(Channel{other, {}, nullptr}));
}

void Service::listen(Channel& channel) {
    const Message in{channel.rank, world_impl_.service_tag(0), &channel.note, sizeof channel.note};
    channel.transfer = world_impl_.rows().start({}, {&in, 1});
}

void Service::send(int to, Kind kind, int64_t value) {
    std::list<Sent> one;  // kept only if its transfer could be started
    Sent& sent = one.emplace_back(Sent{{static_cast<int64_t>(kind), value}, nullptr});
    const Message out{to, world_impl_.service_tag(0), &sent.note, sizeof sent.note};
    sent.transfer = world_impl_.rows().start({&out, 1}, {});
    sent_.splice(sent_.end(), one);
}

void Service::send_to_all(Kind kind, int64_t value) {
    for (int other = 1; other < world_impl_.size(); ++other) send(other, kind, value);
    handle_note(0, kind, value);
}

void Service::send_to_coordinator(Kind kind, int64_t value) {
    if (rank() == 0) return handle_note(0, kind, value);
    send(0, kind, value);
}

bool Service::advance() {
    const std::lock_guard lock(mutex_);
    std::erase_if(sent_, [](const Sent& sent) { return sent.transfer->test(); });
    for (Channel& channel : channels_) {
        while (channel.transfer && channel.transfer->test()) {
            const Note note = channel.note;
            channel.transfer.reset();
            const auto kind = static_cast<Kind>(note.kind);
            if (kind == Kind::closing) break;
            listen(channel);
            handle_note(channel.rank, kind, note.value);
        }
    }
    advance_requests();
    const auto silent = [](const Channel& channel) { return !channel.transfer; };
    return closing_ && sent_.empty() && std::all_of(channels_.begin(), channels_.end(), silent);
}

void Service::handle_note(int from, Kind kind, int64_t value) {
    const auto sender = static_cast<size_t>(from);
    switch (kind) {
        case Kind::finished:
            finished_[sender] = true;
            return announce_end_if_finished();
        case Kind::all_finished:
            all_finished_ = true;
            return;
        case Kind::stop_request:
            if (querying_ || stopping_) return;
            querying_ = true;
            answered_.assign(answered_.size(), false);
            return send_to_all(Kind::progress_query);
        case Kind::progress_query:
            awaiting_limit_ = true;
            return send_to_coordinator(Kind::progress, begun_);
        case Kind::progress:
            answered_[sender] = true;
            furthest_ = std::max(furthest_, value);
            if (std::count(answered_.begin(), answered_.end(), false) > 0) return;
            querying_ = false;
            send_to_all(Kind::limit, furthest_);
            return announce_end_if_finished();
        case Kind::limit:
            limit_ = value;
            stopping_ = true;
            awaiting_limit_ = false;
            return;
        case Kind::heartbeat:
            ++heartbeats_;
            if (rank() == 0) send_heartbeat(base::now());
            return;
        case Kind::closing:
            return;
        default:
            return handle_derived_note(from, kind, value);
    }
}

void Service::announce_end_if_finished() {
    if (querying_ || std::count(finished_.begin(), finished_.end(), false) > 0) return;
    send_to_all(Kind::all_finished);
}

void Service::send_heartbeat(double now) {
    if (now - last_heartbeat_ < heartbeat_interval_) return;
    last_heartbeat_ = now;
    if (rank() != 0) return send(0, Kind::heartbeat);
    for (int other = 1; other < world_impl_.size(); ++other) {
        if (finished_[static_cast<size_t>(other)]) send(other, Kind::heartbeat);
    }
}

std::vector<int> Service::awaited_ranks() const {
    const std::lock_guard lock(mutex_);
    std::vector<int> ranks = awaited_by_requests();
    if (!ranks.empty()) return ranks;
    if (rank() != 0) return {0};
    const std::vector<bool>& there = querying_ ? answered_ : finished_;
    for (size_t other = 1; other < there.size(); ++other) {
        if (!there[other]) ranks.push_back(static_cast<int>(other));
    }
    return ranks;
}

void Service::wait_until(const std::string& what, const std::function<bool()>& condition) {
    const auto look = [&] {
        world_impl_.engine.test(*this);
        const std::lock_guard lock(mutex_);
        return condition();
    };
    if (look()) return;
    const Engine::Waiting waiting(world_impl_.engine);
    world_impl_.wait(what, look, [this] { return world_impl_.engine.awaited_ranks(*this); });
}

void Service::begin(int64_t first, int64_t end) {
    {
        const std::lock_guard lock(mutex_);
        begun_ = furthest_ = first;
        limit_ = end;
        last_heartbeat_ = base::now();
        stop_requested_ = awaiting_limit_ = stopping_ = all_finished_ = querying_ = false;
        finished_.assign(finished_.size(), false);
    }
    world_.barrier();  // all notes of the previous span have been handled
}

bool Service::may_begin(int64_t t, bool stop_requested) {
    {
        const std::lock_guard lock(mutex_);
        send_heartbeat(base::now());
        if (stop_requested && !stop_requested_ && !stopping_) {
            stop_requested_ = true;
            send_to_coordinator(Kind::stop_request);
        }
    }
    bool begins = false;
    wait_until("the agreement on where to stop", [&] {
        if (awaiting_limit_) return false;
        begins = t < limit_;
        if (begins) begun_ = t + 1;
        return true;
    });
    return begins;
}

bool Service::stopping() const {
    const std::lock_guard lock(mutex_);
    return stopping_;
}

Service::SpanEnd Service::finish_span() {
    const std::string what = "the end of asynchronous iterations";
    wait_until(what, [this] { return !has_own_requests(); });
    {
        const std::lock_guard lock(mutex_);
        send_to_coordinator(Kind::finished);
    }
    for (bool together = false; !together;) {
        int64_t beats = 0;
        {
            const std::lock_guard lock(mutex_);
            beats = heartbeats_;
        }
        wait_until(what, [&] {
            together = all_finished_ && !has_peer_requests();
            return together || heartbeats_ != beats;
        });
    }
    const std::lock_guard lock(mutex_);
    return {limit_, stopping_};
}

void Service::close() {
    {
        const std::lock_guard lock(mutex_);
        closing_ = true;
        for (const Channel& channel : channels_) send(channel.rank, Kind::closing);
    }
    world_impl_.wait("the end of asynchronous service", *this);
}

}  // namespace dbench::comm
