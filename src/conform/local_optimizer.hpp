#pragma once
// Optimizers for the dense references, by PyTorch's rules: x+ = x - lr d.

#include <memory>

#include "base/json.hpp"
#include "conform/reference.hpp"

namespace dbench::conform {

/// Turns gradients into directions d. Each replica (row) has its own optimizer state.
class LocalOptimizer {
public:
    explicit LocalOptimizer(const base::Json& optimizer);
    virtual ~LocalOptimizer() = default;

    /// Returns the gradients at `point` as iteration t draws them, each row clipped to its norm: g
    /// *= min(1, c / ||g||).
    Matrix gradient(const Iteration& iteration, const Matrix& point) const;

    /// Returns d for the gradients g at `point`; weight decay uses `point` as the parameters.
    virtual Matrix direction(const Matrix& point, Matrix g) = 0;

    /// Returns d(g(point)).
    Matrix direction_at(const Iteration& iteration, const Matrix& point) {
        return direction(point, gradient(iteration, point));
    }

    /// Performs a local update x <- x - lr d(g(x)) and records it. References use it in iterations
    /// in which nothing else happens before an exchange.
    void step(const Iteration& iteration, Matrix& x);

protected:
    /// g += wd x. If `decay` is "weights", the biases are left out.
    void add_decay(Matrix& g, const Matrix& point) const;

private:
    double weight_decay_, clip_norm_;  ///< infinity: no clipping
    int64_t spared_;                   ///< Number of last columns that do not decay.
};

/// Builds sgd, adam, adamw, accum_adam or accum_adamw. Returns null for other optimizers.
std::unique_ptr<LocalOptimizer> make_local_optimizer(const base::Json& optimizer);

/// True if d is the gradient with weight decay and nothing else (SGD without momentum). Algorithms
/// with their own direction require that.
bool is_plain(const base::Json& optimizer);

}  // namespace dbench::conform
