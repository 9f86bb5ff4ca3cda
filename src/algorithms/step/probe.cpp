#include "algorithms/step/probe.hpp"

#include <cmath>

namespace dbench::algorithms {
namespace {

// Norms are kept in the run's precision, and so are the dispersion measures' inputs: what is
// computed from them can be computed again from the file.
double as_stored(double value, arena::DType type) {
    return type == arena::DType::float32 ? static_cast<float>(value) : value;
}

}  // namespace

Probe::Probe(const ProfilePlan& plan, const arena::Layout& layout, int64_t replicas,
             int64_t local_replicas, comm::Exchange& exchange, Timers& timers)
    : plan_(plan),
      layout_(layout),
      replicas_(replicas),
      local_(local_replicas),
      exchange_(exchange),
      timers_(timers),
      queue_(exchange.queues().compute) {
    const size_t cells = static_cast<size_t>(local_) * layout.segments().size();
    if (plan_.rows.ever()) {
        gradient_.resize(cells);
        update_.resize(cells);
    }
    squares_.resize(cells);
}

void Probe::begin(int64_t t, IterationRecord& record, Needs needs) {
    record_ = &record;
    needs_ = needs;
    profiled_ = plan_.rows.due(t);
    variance_due_ = plan_.variance.due(t);
    record.profiled = profiled_;
    record.has_variance = variance_due_;
}

void Probe::finish() {
    if (!profiled_) return;
    const TimedScope scope(timers_, Time::profile);
    arena::finish(queue_, "norms of gradients and updates");
    const size_t segments = layout_.segments().size();
    const auto row_norm = [&](const arena::Values<double>& squares, int64_t i) {
        double sum = 0;
        for (size_t s = 0; s < segments; ++s) sum += squares[i * segments + s];
        return std::sqrt(sum);
    };
    record_->gradient_norm.resize(local_);
    record_->update_norm.resize(local_);
    for (int64_t i = 0; i < local_; ++i) {
        record_->gradient_norm[i] = row_norm(gradient_, i);
        record_->update_norm[i] = row_norm(update_, i);
    }
}

void Probe::gradient(arena::Rows g, arena::Columns columns, int64_t first) {
    if (!profiled_) return;
    const TimedScope scope(timers_, Time::profile);
    arena::squares(layout_, g, columns, gradient_.data() + cell(first), queue_);
}

void Probe::about_to_average(arena::Rows x) {
    if (measures_before()) {
        const TimedScope scope(timers_, Time::exchange);
        exchange_.settle();
    }
    if (profiled_ || needs_.norms) {
        const TimedScope scope(timers_, profiled_ ? Time::profile : Time::control);
        const size_t segments = layout_.segments().size(), tensors = layout_.tensors().size();
        arena::squares(layout_, x, layout_.all(), squares_.data(), queue_);
        arena::finish(queue_, "norms of parameters");
        norms_.resize(local_ * tensors);
        for (int64_t i = 0; i < local_; ++i) {
            double* norms = norms_.data() + i * tensors;
            layout_.sum_segments(squares_.data() + i * segments, norms);
            for (size_t k = 0; k < tensors; ++k) norms[k] = as_stored(std::sqrt(norms[k]), x.type);
        }
        if (profiled_) record_->norm = norms_;
    }
    if (variance_due_ || needs_.variance) {
        const TimedScope scope(timers_, variance_due_ ? Time::profile : Time::control);
        const uint64_t bytes = spread(x, variance_, distance_);
        if (variance_due_) {
            record_->profile_bytes += static_cast<double>(bytes);
            record_->variance = variance_;
            record_->consensus_distance = distance_;
        }
    }
}

void Probe::averaged(arena::Rows x) {
    if (!wants_after()) return;
    const TimedScope scope(timers_, Time::profile);
    const uint64_t bytes = spread(x, record_->variance_after, record_->consensus_distance_after);
    record_->profile_bytes += static_cast<double>(bytes);
}

uint64_t Probe::spread(arena::Rows x, std::vector<double>& variance, double& consensus_distance) {
    const comm::Spread spread = exchange_.moments(x, nullptr);
    const auto n = static_cast<double>(replicas_);
    variance.resize(spread.m2.size());
    double total = 0;
    for (size_t k = 0; k < spread.m2.size(); ++k) {
        variance[k] = spread.m2[k] / (n * static_cast<double>(layout_.tensors()[k].numel));
        total += spread.m2[k];
    }
    consensus_distance = std::sqrt(total / n);
    return spread.bytes;
}

}  // namespace dbench::algorithms
