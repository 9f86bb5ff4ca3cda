#include "algorithms/step/control.hpp"

#include <fnmatch.h>

#include <cmath>
#include <stdexcept>

#include "arena/sums/dispersion.hpp"
#include "base/error.hpp"
#include "base/framing.hpp"

namespace dbench::algorithms {
namespace {

using graphs::Measure;

double measure(const arena::Dispersion& d, Measure which) {
    switch (which) {
        case Measure::gini:
            return d.gini;
        case Measure::index_of_dispersion:
            return d.index_of_dispersion;
        case Measure::quartile_coefficient:
            return d.quartile_coefficient;
        case Measure::coefficient_of_variation:
            return d.coefficient_of_variation;
        case Measure::variance:
        case Measure::consensus_distance:
        case Measure::step_time:
            break;  // not measured by norms
    }
    throw std::logic_error("a measure that norms do not give");
}

// Plans with more changes than this, for example two graphs that alternate, do not report each
// change.
constexpr size_t kMaxReportedStages = 100;

bool needs_variance(Measure which) {
    return which == Measure::variance || which == Measure::consensus_distance;
}

}  // namespace

std::vector<size_t> requested_tensors(const graphs::MeasureRequest& request,
                                      const arena::Layout& layout) {
    std::vector<size_t> chosen;
    const auto& tensors = layout.tensors();
    std::vector<bool> used(request.tensors.size(), false);
    for (size_t k = 0; k < tensors.size(); ++k) {
        bool wanted = request.tensors.empty() &&
                      (!request.weights_only || tensors[k].kind == arena::TensorKind::weight);
        for (size_t p = 0; p < request.tensors.size(); ++p) {
            if (fnmatch(request.tensors[p].c_str(), tensors[k].name.c_str(), 0) != 0) continue;
            wanted = used[p] = true;
        }
        if (wanted) chosen.push_back(k);
    }
    for (size_t p = 0; p < used.size(); ++p) {
        if (used[p]) continue;
        std::vector<std::string> names;
        for (const auto& tensor : tensors) names.push_back(tensor.name);
        throw base::UserError("/graph/tensors: the model has no tensor '" + request.tensors[p] +
                              "'" + base::suggest_name(request.tensors[p], names));
    }
    return chosen;
}

Control::Control(graphs::StagedSchedule* staged, comm::World& world,
                 const comm::Placement& placement, const arena::Layout& layout,
                 comm::Exchange& exchange, Timers& timers)
    : staged_(staged),
      world_(world),
      placement_(placement),
      layout_(layout),
      exchange_(exchange),
      timers_(timers) {}

void Control::resume_at(int64_t t) {
    if (!staged_) return;
    while (reported_ < staged_->stage_count() && staged_->stage(reported_).first < t) ++reported_;
}

Needs Control::begin(int64_t t, Observer& observer) {
    bytes_ = 0;
    if (!staged_) return {};
    if (const size_t count = staged_->stage_count(); reported_ < count) {
        const graphs::StagedSchedule::Stage stage = staged_->stage(reported_);
        if (stage.first <= t) {
            ++reported_;
            if (world_.rank() == 0 && (staged_->measure_request() || count <= kMaxReportedStages)) {
                observer.event(t, "graph", staged_->name(stage.graph) + ": " + stage.reason);
            }
        }
    }
    request_ = staged_->is_measured(t) ? staged_->measure_request() : std::nullopt;
    if (!request_) return {};
    if (needs_variance(request_->measure)) return {.variance = true};
    return {.norms = request_->measure != Measure::step_time};
}

void Control::end(int64_t t, const Probe& probe) {
    if (!request_) return;
    const TimedScope scope(timers_, Time::control);
    const auto n = static_cast<double>(placement_.replicas);
    std::vector<double> values;
    if (request_->measure == Measure::step_time) {
        values = step_times();
        bytes_ += n * (n - 1) * 8;
    } else if (request_->measure == Measure::consensus_distance) {
        values = {probe.distance()};
        bytes_ += 2 * (n - 1) * 8 * static_cast<double>(layout_.numel());
    } else {
        if (tensors_.empty()) tensors_ = requested_tensors(*request_, layout_);
        values = measure_tensors(probe);
        bytes_ += request_->measure == Measure::variance
                      ? 2 * (n - 1) * 8 * static_cast<double>(layout_.numel())
                      : n * (n - 1) * 8 * static_cast<double>(tensors_.size());
    }
    staged_->decide(t, broadcast_from_rank_0(std::move(values)));
}

bool Control::mix_again(int64_t t, int averagings, double before, arena::Rows rows) {
    const TimedScope scope(timers_, Time::control);
    const auto n = static_cast<double>(placement_.replicas);
    const comm::SecondMoments spread = exchange_.moments(rows, nullptr);
    bytes_ += 2 * (n - 1) * 8 * static_cast<double>(layout_.numel());
    double total = 0;
    for (const double m2 : spread.m2) total += m2;
    const auto both = broadcast_from_rank_0({before, std::sqrt(total / n)});
    return staged_->mix_again(t, averagings, both[0], both[1]);
}

std::vector<double> Control::measure_tensors(const Probe& probe) const {
    std::vector<double> values;
    if (request_->measure == Measure::variance) {
        for (const size_t k : tensors_) values.push_back(probe.variance()[k]);
        return values;
    }
    const size_t count = layout_.tensors().size();
    const std::vector<double> norms = gather_replicas(probe.norms());
    std::vector<double> of_tensor;
    for (const size_t k : tensors_) {
        of_tensor.clear();
        for (size_t at = k; at < norms.size(); at += count) of_tensor.push_back(norms[at]);
        values.push_back(measure(arena::dispersion(of_tensor), request_->measure));
    }
    return values;
}

std::vector<double> Control::gather_replicas(const std::vector<double>& local) const {
    return base::doubles_of(world_.all_gather(base::bytes_of(local)));
}

std::vector<double> Control::step_times() const {
    const double local = timers_.seconds(Time::data) + timers_.seconds(Time::gradient) +
                         timers_.seconds(Time::update);
    const auto count = static_cast<size_t>(placement_.count(world_.rank()));
    return gather_replicas(std::vector<double>(count, local / static_cast<double>(count)));
}

std::vector<double> Control::broadcast_from_rank_0(std::vector<double> values) const {
    std::string bytes = base::bytes_of(values);
    world_.broadcast(bytes);
    return base::doubles_of(bytes);
}

}  // namespace dbench::algorithms
