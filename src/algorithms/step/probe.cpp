#include "algorithms/step/probe.hpp"

#include <cmath>

#include "arena/sums/dispersion.hpp"

namespace dbench::algorithms {

Probe::Probe(const ProfilePlan& plan, const arena::Layout& layout, int64_t replicas,
             int64_t local_replicas, comm::Exchange& exchange, Timers& timers)
    : plan_(plan),
      layout_(layout),
      replicas_(replicas),
      local_(local_replicas),
      exchange_(exchange),
      timers_(timers),
      queue_(exchange.place().compute()) {}

std::shared_ptr<Probe::Squares> Probe::free_squares() {
    for (const auto& squares : all_squares_) {
        if (squares.use_count() == 1) return squares;  // No unfinished record uses them.
    }
    const size_t cells = static_cast<size_t>(local_) * layout_.segments().size();
    const size_t of_rows = plan_.rows.any_due() ? cells : 0;
    const arena::Memories& memories = queue_.memories();
    return all_squares_.emplace_back(std::make_shared<Squares>(
        Squares{memories.values<double>(of_rows), memories.values<double>(of_rows),
                memories.values<double>(cells)}));
}

void Probe::complete_record(std::function<void(IterationRecord&)> write) {
    queue_.immediate() ? write(*record_) : record_->deferred.push_back(std::move(write));
}

void Probe::begin(int64_t t, IterationRecord& record, Needs needs) {
    record_ = &record;
    needs_ = needs;
    profiled_ = plan_.rows.due(t);
    variance_due_ = plan_.variance.due(t);
    squared_ = false;
    record.profiled = profiled_;
    record.has_variance = variance_due_;
    squares_.reset();
    squares_ = free_squares();
}

void Probe::finish() {
    if (!profiled_) return;
    const TimedScope scope(timers_, Time::profile);
    arena::keep(queue_, squares_);
    complete_record([this, squares = squares_](IterationRecord& record) {
        const size_t segments = layout_.segments().size();
        const auto row_norms = [&](const arena::HostVisibleArray<double>& of) {
            std::vector<double> norms;
            for (int64_t i = 0; i < local_; ++i) {
                double sum = 0;
                for (size_t s = 0; s < segments; ++s) sum += of[i * segments + s];
                norms.push_back(std::sqrt(sum));
            }
            return norms;
        };
        record.gradient_norm = row_norms(squares->gradient);
        record.update_norm = row_norms(squares->update);
    });
}

void Probe::gradient(arena::Rows g, arena::Columns columns, int64_t first) {
    if (!profiled_) return;
    const TimedScope scope(timers_, Time::profile);
    arena::squares(layout_, g, columns, squares_->gradient.data() + cell(first), queue_);
}

void Probe::about_to_average(arena::Rows x) {
    if (measures_before_averaging()) {
        const TimedScope scope(timers_, Time::exchange);
        exchange_.drain_for_step();
    }
    if (profiled_ || needs_.norms) {
        const TimedScope scope(timers_, profiled_ ? Time::profile : Time::control);
        if (!squared_) {
            arena::squares(layout_, x, layout_.all(), squares_->averaged.data(), queue_);
        }
        if (needs_.norms) {
            arena::finish(queue_, "norms that a graph controller requests");
            norms_ = norms(*squares_, x.type);
        }
        if (profiled_) {
            complete_record([this, squares = squares_, type = x.type](IterationRecord& record) {
                record.norm = norms(*squares, type);
            });
        }
    }
    if (needs_.variance) {
        const TimedScope scope(timers_, variance_due_ ? Time::profile : Time::control);
        const comm::DeferredMoments late = exchange_.deferred_moments(x);
        arena::finish(queue_, "variance that a graph controller requests");
        distance_ = spread(*late.m2, variance_);
        if (variance_due_) {
            record_->profile_bytes += static_cast<double>(late.bytes);
            record_->variance = variance_;
            record_->consensus_distance = distance_;
        }
    } else if (variance_due_) {
        record_spread(x, &IterationRecord::variance, &IterationRecord::consensus_distance);
    }
}

void Probe::averaged(arena::Rows x) {
    if (!measures_after_averaging()) return;
    record_spread(x, &IterationRecord::variance_after, &IterationRecord::consensus_distance_after);
}

void Probe::record_spread(arena::Rows x, std::vector<double> IterationRecord::*variance,
                          double IterationRecord::*distance) {
    const TimedScope scope(timers_, Time::profile);
    const comm::DeferredMoments late = exchange_.deferred_moments(x);
    record_->profile_bytes += static_cast<double>(late.bytes);
    complete_record([this, m2 = late.m2, variance, distance](IterationRecord& record) {
        record.*distance = spread(*m2, record.*variance);
    });
}

std::vector<double> Probe::norms(const Squares& squares, arena::DType type) const {
    const size_t segments = layout_.segments().size(), tensors = layout_.tensors().size();
    std::vector<double> norms(static_cast<size_t>(local_) * tensors);
    for (int64_t i = 0; i < local_; ++i) {
        layout_.sum_segments(squares.averaged.data() + i * segments, norms.data() + i * tensors);
    }
    for (double& norm : norms) norm = arena::as_stored(std::sqrt(norm), type);
    return norms;
}

double Probe::spread(const arena::HostVisibleArray<double>& m2,
                     std::vector<double>& variance) const {
    variance.resize(layout_.tensors().size());
    layout_.sum_segments(m2.data(), variance.data());
    const auto n = static_cast<double>(replicas_);
    double total = 0;
    for (size_t k = 0; k < variance.size(); ++k) {
        total += variance[k];
        variance[k] /= n * static_cast<double>(layout_.tensors()[k].numel);
    }
    return std::sqrt(total / n);
}

}  // namespace dbench::algorithms
