#pragma once
// The optimizers in front of the dense references, by PyTorch's rules: x+ = x - lr d.

#include <memory>

#include "base/json.hpp"
#include "conform/reference.hpp"

namespace dbench::conform {

/// Turns gradients into directions d, each replica (row) with a state of its own.
class LocalOptimizer {
public:
    explicit LocalOptimizer(const base::Json& optimizer);
    virtual ~LocalOptimizer() = default;

    /// The gradients at `point` as iteration t draws them, each row clipped to its norm:
    /// g *= min(1, c / ||g||).
    Matrix gradient(const Iteration& iteration, const Matrix& point) const;

    /// d for gradients g taken at `point`; weight decay takes `point` as the parameters.
    virtual Matrix direction(const Matrix& point, Matrix g) = 0;

    /// Both of them: d(g(point)).
    Matrix direction_at(const Iteration& iteration, const Matrix& point) {
        return direction(point, gradient(iteration, point));
    }

    /// The iteration's local update where nothing else happens before an exchange, told to whoever
    /// records: x <- x - lr d(g(x)).
    void step(const Iteration& iteration, Matrix& x);

protected:
    /// g += wd x, where `decay` is "weights" without the biases.
    void add_decay(Matrix& g, const Matrix& point) const;

private:
    double weight_decay_, clip_norm_;  ///< infinity: no clipping
    int64_t spared_;                   ///< last columns, which do not decay
};

/// sgd, adam, adamw, accum_adam or accum_adamw; null where there is no reference of it.
std::unique_ptr<LocalOptimizer> make_local_optimizer(const base::Json& optimizer);

/// Whether d is the gradient with weight decay and nothing else (SGD without momentum), as the
/// algorithms with a direction of their own need it.
bool is_plain(const base::Json& optimizer);

}  // namespace dbench::conform
