#include "algorithms/step/timers.hpp"

#include <exception>
#include <limits>
#include <utility>

namespace dbench::algorithms {
namespace {

constexpr std::array kPartsOfStep{Time::data,     Time::gradient, Time::update,
                                  Time::exchange, Time::control,  Time::rest};

}  // namespace

void Times::add(const Times& other, double share) {
    for (size_t k = 0; k < seconds_.size(); ++k) seconds_[k] += share * other.seconds_[k];
    for (const Pending& each : other.pending_) {
        pending_.push_back({each.phases, share * each.share});
    }
}

void Times::add(std::shared_ptr<const DevicePhases> phases) {
    pending_.push_back({std::move(phases), 1});
}

void Times::receive_device_values() {
    for (const auto& [phases, share] : std::exchange(pending_, {})) {
        Times measured;
        const arena::Timestamp* since = phases->begin.get();
        for (const DevicePhases::Part& part : phases->parts) {
            measured[part.phase] += part.end->since(*since);
            since = part.end.get();
        }
        for (const Time part : kPartsOfStep) measured[Time::step] += measured[part];
        add(measured, share);
    }
}

void Times::set_details_unknown() {
    for (const Time time :
         {Time::start, Time::forward, Time::backward, Time::wait, Time::mix, Time::progress}) {
        (*this)[time] = std::numeric_limits<double>::quiet_NaN();
    }
}

void Timers::start() {
    spent_ = {};
    awaited_rank_ = -1;
    if (counted_) seen_ = *counted_;
    current_ = Time::rest;
    base::note_phase(phase_name(current_));
    since_ = base::now();
    if (!queue_.immediate()) {
        device_phases_ = std::make_shared<DevicePhases>(DevicePhases{queue_.timestamp(), {}});
    }
}

Time Timers::enter(Time phase) {
    const Time before = std::exchange(current_, phase);
    if (!queue_.immediate()) {
        device_phases_->parts.push_back({before, queue_.timestamp()});
    } else {
        const double at = base::now();
        spent_[before] += at - since_;
        since_ = at;
    }
    if (counted_) divide_exchange(before);
    base::note_phase(phase_name(phase));
    return before;
}

void Timers::divide_exchange(Time before) {
    if (before == Time::exchange) {
        spent_[Time::wait] += counted_->wait - seen_.wait;
        spent_[Time::mix] += counted_->mix - seen_.mix;
        if (counted_->attributed_waits != seen_.attributed_waits) {
            awaited_rank_ = counted_->awaited_rank;
        }
    }
    seen_ = *counted_;
}

std::optional<base::Work> traced_work(Time phase) {
    switch (phase) {
        case Time::gradient:
            return std::nullopt;
        case Time::data:
            return base::Work::load;
        case Time::update:
            return base::Work::update;
        case Time::exchange:
            return base::Work::exchange;
        default:
            return base::Work::measure;
    }
}

void Timers::leave(Time phase) noexcept {
    try {
        enter(phase);
    } catch (const std::exception&) {
        current_ = phase;
    }
}

double Timers::seconds(Time phase) const {
    if (queue_.immediate()) return spent_[phase];
    arena::finish(queue_, "times that a graph controller requests");
    Times times = all();
    times.receive_device_values();
    return times[phase];
}

Times Timers::all() const {
    Times out = spent_;
    if (!queue_.immediate()) {
        out.add(std::make_shared<const DevicePhases>(*device_phases_));
        return out;
    }
    for (const Time part : kPartsOfStep) out[Time::step] += spent_[part];
    return out;
}

}  // namespace dbench::algorithms
