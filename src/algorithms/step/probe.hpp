#pragma once
// Measures parameters for the profile: norms just before averaging, exact variance over replicas,
// gradient and update norms. Algorithms call it at the points that docs/numerics.md names ("one
// iteration, in order"); it does nothing in iterations that are not profiled. Measurements that
// only the record needs are read from the device later (IterationRecord::deferred): the host does
// not wait for them.

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

/// The iterations in which something is measured; by default none.
struct ProfilePlan {
    base::Cadence rows;      ///< Iterations of /parameters: norms, gradients, updates.
    base::Cadence variance;  ///< Iterations with exact variance.
    bool after = false;      ///< Measure the variance after averaging, too.
};

/// Measurements that a controller requires in an iteration, profiled or not.
struct Needs {
    bool norms = false, variance = false;
};

/// Measures one rank's rows. Belongs to Stepper, which begins and finishes every iteration; only
/// the main thread calls it.
class Probe {
public:
    Probe(const ProfilePlan& plan, const arena::Layout& layout, int64_t replicas,
          int64_t local_replicas, comm::Exchange& exchange, Timers& timers);

    /// Begins iteration t. Results are written to `record`, which must remain valid until its
    /// `receive_device_values`.
    void begin(int64_t t, IterationRecord& record, Needs needs = {});
    /// Ends the iteration: adds gradient and update norms to the record.
    void finish();

    /// Measures the gradients of `columns`: complete, not yet reduced. `first` is the local index
    /// of the first row of g.
    void gradient(arena::Rows g, arena::Columns columns, int64_t first = 0);
    /// Returns the array into which optimizers write ||lr d||^2 per row and segment, from local row
    /// `first` on; null if it is not measured.
    double* squared_update(int64_t first = 0) {
        return profiled_ ? squares_->update.data() + cell(first) : nullptr;
    }
    /// Returns the array into which a pass that averages writes the squares of its input, per row
    /// and segment; null if they are not measured. A pass that has covered all columns calls
    /// set_squares_before_averaging, so that about_to_average does not compute them again.
    double* squares_before_averaging() {
        return profiled_ || needs_.norms ? squares_->averaged.data() : nullptr;
    }
    void set_squares_before_averaging() { squared_ = true; }
    /// Measures x just before averaging (or after the update if the iteration does not average), in
    /// all columns. Collective if variance is due.
    void about_to_average(arena::Rows x);
    /// Measures the result of the averaging alone, in all columns.
    void averaged(arena::Rows x);

    /// The following were measured just before this iteration's averaging, if a controller
    /// required them.
    const std::vector<double>& norms() const { return norms_; }  ///< [R, T], rounded as in the file
    const std::vector<double>& variance() const { return variance_; }  ///< [T]
    double distance() const { return distance_; }                      ///< Consensus distance.

    /// True if about_to_average measures anything. Exchanges in flight are then completed before
    /// the measurement, which no time of the step contains: the measurement must not hide
    /// communication.
    bool measures_before_averaging() const {
        return profiled_ || variance_due_ || needs_.norms || needs_.variance;
    }
    /// True if the measurement needs the rows themselves and not only their norms.
    bool measures_rows() const { return variance_due_ || needs_.variance; }
    /// True if the plan measures anything in iteration t.
    bool due(int64_t t) const { return plan_.rows.due(t) || plan_.variance.due(t); }
    /// True if `averaged` measures.
    bool measures_after_averaging() const { return variance_due_ && plan_.after; }

private:
    int64_t cell(int64_t local) const {
        return local * static_cast<int64_t>(layout_.segments().size());
    }
    /// Squares that kernels write in one iteration, per row and segment [R * S].
    struct Squares {
        arena::HostVisibleArray<double> gradient, update, averaged;
    };
    /// Returns an object that no unfinished record uses.
    std::shared_ptr<Squares> free_squares();
    std::vector<double> norms(const Squares& squares, arena::DType type) const;
    /// Returns the consensus distance; writes the variance per tensor to `variance`.
    double spread(const arena::HostVisibleArray<double>& m2, std::vector<double>& variance) const;
    /// Runs `write` on the record: at once on the host, or later when the device has computed its
    /// inputs.
    void complete_record(std::function<void(IterationRecord&)> write);
    /// Computes variance and consensus distance of x for the record. Collective.
    void record_spread(arena::Rows x, std::vector<double> IterationRecord::*variance,
                       double IterationRecord::*distance);

    ProfilePlan plan_;
    const arena::Layout& layout_;
    int64_t replicas_, local_;
    comm::Exchange& exchange_;
    Timers& timers_;
    arena::Queue& queue_;
    IterationRecord* record_ = nullptr;
    Needs needs_;
    bool profiled_ = false, variance_due_ = false;
    bool squared_ = false;  // squares_->averaged is already computed.
    // Squares of this iteration, and all that exist, including those of records that wait for the
    // device.
    std::shared_ptr<Squares> squares_;
    std::vector<std::shared_ptr<Squares>> all_squares_;
    std::vector<double> norms_, variance_;
    double distance_ = 0;
};

}  // namespace dbench::algorithms
