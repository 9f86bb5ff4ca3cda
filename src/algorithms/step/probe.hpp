#pragma once
// Measures parameters for the profile: norms just before averaging, exact variance over replicas,
// gradient and update norms. Asked by algorithms at the points that docs/numerics.md names ("one
// iteration, in order"); does nothing in iterations that are not profiled.

#include <cstdint>
#include <optional>
#include <vector>

#include "algorithms/step/observer.hpp"
#include "algorithms/step/timers.hpp"
#include "arena/kernels.hpp"
#include "arena/layout.hpp"
#include "arena/memory.hpp"
#include "base/cadence.hpp"
#include "comm/exchange.hpp"

namespace dbench::algorithms {

/// What is measured when; by default nothing.
struct ProfilePlan {
    base::Cadence rows;  ///< of /parameters: norms, gradients, updates
    base::Cadence variance;
    bool after = false;  ///< variance after averaging too
};

/// What is to be measured in an iteration whether or not it is profiled.
struct Needs {
    bool norms = false, variance = false;
};

class Probe {
public:
    Probe(const ProfilePlan& plan, const arena::Layout& layout, int64_t replicas,
          int64_t local_replicas, comm::Exchange& exchange, Timers& timers);

    /// Begins iteration t; what is due goes to `record`.
    void begin(int64_t t, IterationRecord& record, Needs needs = {});
    void finish();

    /// Gradients of `columns`, complete and not yet reduced, from local row `first` on.
    void gradient(arena::Rows g, arena::Columns columns, int64_t first = 0);
    /// Where optimizers leave ||lr d||^2 per row and segment, from local row `first` on; null where
    /// not asked for.
    double* squared_update(int64_t first = 0) {
        return profiled_ ? update_.data() + cell(first) : nullptr;
    }
    /// The whole of x as it is just before averaging, or after the update where there is none.
    /// Collective where variance is due.
    void about_to_average(arena::Rows x);
    /// The whole result of the averaging alone.
    void averaged(arena::Rows x);

    /// Just before averaging in this iteration, where needed or due.
    const std::vector<double>& norms() const { return norms_; }        ///< [R, T], as stored
    const std::vector<double>& variance() const { return variance_; }  ///< [T]
    double distance() const { return distance_; }                      ///< consensus distance

    /// Whether about_to_average measures: what is on its way has then moved before it does, so that
    /// measuring, which no time of the step contains, hides nothing of an exchange.
    bool measures_before() const {
        return profiled_ || variance_due_ || needs_.norms || needs_.variance;
    }
    /// Whether the plan has it measure in iteration t.
    bool due(int64_t t) const { return plan_.rows.due(t) || plan_.variance.due(t); }
    bool wants_after() const { return variance_due_ && plan_.after; }

private:
    int64_t cell(int64_t local) const {
        return local * static_cast<int64_t>(layout_.segments().size());
    }
    /// Returns the bytes that this rank sent for it.
    uint64_t spread(arena::Rows x, std::vector<double>& variance, double& consensus_distance);

    ProfilePlan plan_;
    const arena::Layout& layout_;
    int64_t replicas_, local_;
    comm::Exchange& exchange_;
    Timers& timers_;
    arena::Queue* queue_;
    IterationRecord* record_ = nullptr;
    Needs needs_;
    bool profiled_ = false, variance_due_ = false;
    arena::Values<double> gradient_, update_, squares_;  // per row and segment [R * S]
    std::vector<double> norms_, variance_;
    double distance_ = 0;
};

}  // namespace dbench::algorithms
