#pragma once
// Types for algorithms that use a linearised model, at parameters that may belong to any replica.

#include <cstdint>
#include <functional>

#include "arena/rows.hpp"

namespace dbench::algorithms {

/// Describes the minibatch of each replica.
struct Minibatch {
    int64_t samples = 0;  ///< m
    int64_t outputs = 0;  ///< C: classes, or 1 for real targets
    /// Loss: cross-entropy of softmax f; if false, half the squared difference.
    bool classes = true;
};

/// A model linearised at parameters w on m samples, in one block of memory that this struct does
/// not own: the Jacobian J [m, C, P] of the outputs, the outputs f [m, C] and the targets Y [m, C]
/// (one-hot for classes). P counts true parameters without padding, in the layout's order.
struct Linearised {
    char* data;
    arena::DType type;
    int64_t samples, outputs, parameters;

    int64_t elements() const { return samples * outputs * (parameters + 2); }
    int64_t bytes() const { return elements() * arena::size_of(type); }

    template <class T>
    T* jacobian(int64_t sample, int64_t output) const {
        return reinterpret_cast<T*>(data) + (sample * outputs + output) * parameters;
    }
    template <class T>
    T* f() const {
        return jacobian<T>(samples, 0);
    }
    template <class T>
    T* y() const {
        return f<T>() + samples * outputs;
    }
};

/// Functions that evaluate a model on the minibatch of local replica i in iteration t. They may be
/// called any number of times. `weights` points to a row of parameters of any replica.
struct Linearisation {
    /// Writes the model linearised at `weights` to `out`. First waits for the launches on the
    /// step's queue.
    std::function<void(const char* weights, int64_t i, int64_t t, const Linearised& out)> linearise;
    /// Returns the mean loss at `weights`.
    std::function<double(const char* weights, int64_t i, int64_t t)> loss;
};

}  // namespace dbench::algorithms
