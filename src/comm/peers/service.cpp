#include "comm/peers/service.hpp"

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "comm/wait.hpp"

namespace dbench::comm {
namespace {

/// Rank 0 hears everybody, everybody hears rank 0.
std::set<int> heard_by(int rank, int size, const std::vector<int>& peers) {
    std::set<int> ranks(peers.begin(), peers.end());
    if (rank != 0) ranks.insert(0);
    for (int other = 0; rank == 0 && other < size; ++other) ranks.insert(other);
    ranks.erase(rank);
    return ranks;
}

/// A fraction of what a wait may take.
double beat_seconds() { return std::min(timeout(), stop_timeout()) / 4; }

}  // namespace

Service::Service(World& world, const std::vector<int>& peers)
    : owner_(world),
      world_(world.impl()),
      beat_(beat_seconds()),
      finished_(static_cast<size_t>(world.size())),
      answered_(static_cast<size_t>(world.size())) {
    if (world_.rows().queue()) {
        throw base::UserError(
            "ranks that do not wait for each other send rows whenever they have some, but what "
            "carries rows here (NCCL) moves them in one order: take an algorithm whose ranks wait, "
            "or run on the CPU");
    }
    const std::set<int> ranks = heard_by(world.rank(), world.size(), peers);
    channels_.reserve(ranks.size());  // receives write into them
    for (const int other : ranks) listen(channels_.emplace_back(Channel{other, {}, nullptr}));
}

void Service::listen(Channel& channel) {
    const Message in{channel.rank, world_.service_tag(0), &channel.note, sizeof channel.note};
    channel.transfer = world_.rows().start({}, {&in, 1});
}

void Service::send(int to, Kind kind, int64_t value) {
    std::list<Sent> one;  // kept only if it could be started
    Sent& sent = one.emplace_back(Sent{{static_cast<int64_t>(kind), value}, nullptr});
    const Message out{to, world_.service_tag(0), &sent.note, sizeof sent.note};
    sent.transfer = world_.rows().start({&out, 1}, {});
    sent_.splice(sent_.end(), one);
}

void Service::tell_all(Kind kind, int64_t value) {
    for (int other = 1; other < world_.size(); ++other) send(other, kind, value);
    hear(0, kind, value);
}

void Service::tell_coordinator(Kind kind, int64_t value) {
    if (rank() == 0) return hear(0, kind, value);
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
            if (kind == Kind::bye) break;
            listen(channel);
            hear(channel.rank, kind, note.value);
        }
    }
    serve();
    const auto silent = [](const Channel& channel) { return !channel.transfer; };
    return closing_ && sent_.empty() && std::all_of(channels_.begin(), channels_.end(), silent);
}

void Service::hear(int from, Kind kind, int64_t value) {
    const auto sender = static_cast<size_t>(from);
    switch (kind) {
        case Kind::finished:
            finished_[sender] = true;
            return release();
        case Kind::go:
            released_ = true;
            return;
        case Kind::wish:
            if (querying_ || stopping_) return;
            querying_ = true;
            answered_.assign(answered_.size(), false);
            return tell_all(Kind::query);
        case Kind::query:
            frozen_ = true;
            return tell_coordinator(Kind::begun, begun_);
        case Kind::begun:
            answered_[sender] = true;
            foremost_ = std::max(foremost_, value);
            if (std::count(answered_.begin(), answered_.end(), false) > 0) return;
            querying_ = false;
            tell_all(Kind::limit, foremost_);
            return release();
        case Kind::limit:
            limit_ = value;
            stopping_ = true;
            frozen_ = false;
            return;
        case Kind::beat:
            ++beats_;
            if (rank() == 0) show_life(base::now());
            return;
        case Kind::bye:
            return;
        default:
            return heard(from, kind, value);
    }
}

/// All have finished, and nobody is yet to answer where to stop.
void Service::release() {
    if (querying_ || std::count(finished_.begin(), finished_.end(), false) > 0) return;
    tell_all(Kind::go);
}

/// Now and then: to rank 0, and from there to those that wait.
void Service::show_life(double now) {
    if (now - last_beat_ < beat_) return;
    last_beat_ = now;
    if (rank() != 0) return send(0, Kind::beat);
    for (int other = 1; other < world_.size(); ++other) {
        if (finished_[static_cast<size_t>(other)]) send(other, Kind::beat);
    }
}

std::vector<int> Service::owing() const {
    const std::lock_guard lock(mutex_);
    std::vector<int> ranks = awaited();
    if (!ranks.empty()) return ranks;
    if (rank() != 0) return {0};
    const std::vector<bool>& there = querying_ ? answered_ : finished_;
    for (size_t other = 1; other < there.size(); ++other) {
        if (!there[other]) ranks.push_back(static_cast<int>(other));
    }
    return ranks;
}

void Service::wait_until(const std::string& what, const std::function<bool()>& there) {
    const auto look = [&] {
        world_.engine.test(*this);
        const std::lock_guard lock(mutex_);
        return there();
    };
    if (look()) return;
    const Engine::Waiting waiting(world_.engine);
    world_.wait(what, look, [this] { return world_.engine.owing(*this); });
}

void Service::begin(int64_t first, int64_t end) {
    {
        const std::lock_guard lock(mutex_);
        begun_ = foremost_ = first;
        limit_ = end;
        last_beat_ = base::now();
        wished_ = frozen_ = stopping_ = released_ = querying_ = false;
        finished_.assign(finished_.size(), false);
    }
    owner_.barrier();  // notes of this segment find those of the last one done with
}

bool Service::may_begin(int64_t t, bool wish) {
    {
        const std::lock_guard lock(mutex_);
        show_life(base::now());
        if (wish && !wished_ && !stopping_) {
            wished_ = true;
            tell_coordinator(Kind::wish);
        }
    }
    bool begins = false;
    wait_until("the agreement on where to stop", [&] {
        if (frozen_) return false;
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

Service::Reached Service::rest() {
    const std::string what = "the end of asynchronous iterations";
    wait_until(what, [this] { return !asks(); });
    {
        const std::lock_guard lock(mutex_);
        tell_coordinator(Kind::finished);
    }
    for (bool together = false; !together;) {
        int64_t beats = 0;
        {
            const std::lock_guard lock(mutex_);
            beats = beats_;
        }
        wait_until(what, [&] {
            together = released_ && !serves();
            return together || beats_ != beats;
        });
    }
    const std::lock_guard lock(mutex_);
    return {limit_, stopping_};
}

void Service::close() {
    {
        const std::lock_guard lock(mutex_);
        closing_ = true;
        for (const Channel& channel : channels_) send(channel.rank, Kind::bye);
    }
    world_.wait("the end of asynchronous service", *this);
}

}  // namespace dbench::comm
