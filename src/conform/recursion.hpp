#pragma once
// The linear recursion of an algorithm: its reference with gradients 0 and learning rate 1. The
// caller can read and write x and the rows that the reference keeps. Internal to this module.

#include <memory>

#include "conform/reference.hpp"

namespace dbench::conform {

/// Returns W of round k of a graph.
using Rounds = std::function<Weights(int64_t k)>;

/// Runs a reference with gradients 0.
class Recursion {
public:
    /// States have `columns` columns; `mean` is J/n. The constructor runs the first cycle, because
    /// iteration 0 may differ from all later ones. `reference` must be new and built for the same
    /// number of replicas and columns.
    Recursion(std::unique_ptr<Reference> reference, Rounds w, Weights mean, Eigen::Index columns);

    /// Returns the number of matrices of the state: x, and the rows that the reference keeps.
    size_t matrices() const { return 1 + reference_->rows().size(); }
    Matrix& matrix(size_t k) { return k == 0 ? x_ : *reference_->rows().at(k - 1); }
    void step();  ///< the next iteration

private:
    std::unique_ptr<Reference> reference_;
    Iteration iteration_;
    Matrix x_;
};

/// Builds the reference of `algorithm` for its recursion: with plain SGD, and with an exchange in
/// every iteration if only local steps happen between exchanges. Null if there is no reference.
std::unique_ptr<Reference> recursion_of(const base::Json& algorithm, int64_t replicas,
                                        int64_t columns);

/// True if only local steps happen between the algorithm's exchanges.
bool only_local_steps_between_exchanges(const base::Json& algorithm);

}  // namespace dbench::conform
