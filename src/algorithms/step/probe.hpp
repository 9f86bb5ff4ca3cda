#pragma once
// Measures parameters for the profile: norms just before averaging, exact variance over replicas,
// gradient and update norms. Asked by algorithms at the points that docs/numerics.md names ("one
// iteration, in order"); does nothing in iterations that are not profiled. What a device measures
// for the record alone is read when that is told (IterationRecord::late): the host does not wait.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "algorithms/step/observer.hpp"
#include "algorithms/step/timers.hpp"
#include "arena/device/memory.hpp"
#include "arena/kernels.hpp"
#include "arena/layout.hpp"
#include "base/cadence.hpp"
#include "comm/exchange/exchange.hpp"

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
        return profiled_ ? squares_->update.data() + cell(first) : nullptr;
    }
    /// Where a pass that averages leaves the squares of what it averages, per row and segment; null
    /// where not asked for. Who does so for all columns says that it has: about_to_average finds
    /// them there.
    double* squared_before() {
        return profiled_ || needs_.norms ? squares_->averaged.data() : nullptr;
    }
    void has_squared_before() { squared_ = true; }
    /// The whole of x as it is just before averaging, or after the update where there is none.
    /// Collective where variance is due.
    void about_to_average(arena::Rows x);
    /// The whole result of the averaging alone.
    void averaged(arena::Rows x);

    /// Just before averaging in this iteration, where needed.
    const std::vector<double>& norms() const { return norms_; }        ///< [R, T], as stored
    const std::vector<double>& variance() const { return variance_; }  ///< [T]
    double distance() const { return distance_; }                      ///< consensus distance

    /// Whether about_to_average measures: what is on its way has then moved before it does, so that
    /// measuring, which no time of the step contains, hides nothing of an exchange.
    bool measures_before() const {
        return profiled_ || variance_due_ || needs_.norms || needs_.variance;
    }
    /// Whether that takes more than norms, and so the rows themselves.
    bool measures_rows() const { return variance_due_ || needs_.variance; }
    /// Whether the plan has it measure in iteration t.
    bool due(int64_t t) const { return plan_.rows.due(t) || plan_.variance.due(t); }
    bool wants_after() const { return variance_due_ && plan_.after; }

private:
    int64_t cell(int64_t local) const {
        return local * static_cast<int64_t>(layout_.segments().size());
    }
    /// What kernels leave of an iteration, per row and segment [R * S].
    struct Squares {
        arena::Values<double> gradient, update, averaged;
    };
    std::shared_ptr<Squares> free_squares();
    std::vector<double> norms(const Squares& squares, arena::DType type) const;
    /// Consensus distance; variances of tensors in `variance`.
    double spread(const arena::Values<double>& m2, std::vector<double>& variance) const;
    /// Completes the record: at once, or when the device has come so far.
    void tell(std::function<void(IterationRecord&)> write);
    /// Variance and distance of the record. Collective.
    void tell_spread(arena::Rows x, std::vector<double> IterationRecord::*variance,
                     double IterationRecord::*distance);

    ProfilePlan plan_;
    const arena::Layout& layout_;
    int64_t replicas_, local_;
    comm::Exchange& exchange_;
    Timers& timers_;
    arena::Queue* queue_;
    IterationRecord* record_ = nullptr;
    Needs needs_;
    bool profiled_ = false, variance_due_ = false;
    bool squared_ = false;  // there are squares of what is averaged
    // Of this iteration, and of those whose records wait for the device.
    std::shared_ptr<Squares> squares_;
    std::vector<std::shared_ptr<Squares>> all_squares_;
    std::vector<double> norms_, variance_;
    double distance_ = 0;
};

}  // namespace dbench::algorithms
