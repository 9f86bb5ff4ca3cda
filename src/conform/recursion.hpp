#pragma once
// An algorithm's linear recursion: its reference at gradients of 0 and a learning rate of 1, with
// x and the rows that it keeps open to whoever drives it. Internal to this room.

#include <memory>

#include "conform/reference.hpp"

namespace dbench::conform {

/// The rounds of a graph.
using Rounds = std::function<Weights(int64_t k)>;

class Recursion {
public:
    /// States of `columns` columns; `mean` stands for J/n. The first cycle, whose iteration 0 may
    /// differ from all others, is behind it. `reference` is fresh, for as many replicas and
    /// parameters.
    Recursion(std::unique_ptr<Reference> reference, Rounds w, Weights mean, Eigen::Index columns);

    size_t parts() const { return 1 + reference_->rows().size(); }  ///< x and the rows
    Matrix& part(size_t k) { return k == 0 ? x_ : *reference_->rows().at(k - 1); }
    void step();  ///< the next iteration

private:
    std::unique_ptr<Reference> reference_;
    Iteration iteration_;
    Matrix x_;
};

/// The reference of `algorithm` as its recursion needs it: an exchange in every iteration where
/// nothing happens between exchanges, plain SGD. Null where there is no reference.
std::unique_ptr<Reference> recursion_of(const base::Json& algorithm, int64_t replicas,
                                        int64_t columns);

/// Whether nothing but local steps lies between the algorithm's exchanges.
bool rests_between_exchanges(const base::Json& algorithm);

}  // namespace dbench::conform
