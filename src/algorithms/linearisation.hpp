#pragma once
// What an algorithm may ask of the model around parameters that need not be its replica's own.

#include <cstdint>
#include <functional>

#include "arena/rows.hpp"

namespace dbench::algorithms {

/// What each replica's minibatch is to such an algorithm.
struct Minibatch {
    int64_t samples = 0;  ///< m
    int64_t outputs = 0;  ///< C: classes, or 1 for real targets
    bool classes = true;  ///< loss: cross-entropy of softmax f, or half the squared difference
};

/// A model around parameters w on m samples, in one piece of memory that it does not own: the
/// Jacobian J [m, C, P] of the outputs, the outputs f [m, C], the targets Y [m, C], of classes
/// one-hot. P counts true parameters, in the layout's order.
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

/// Both on the minibatch that the local replica i has in iteration t, as often as asked for;
/// `weights`: the memory of a row of parameters, anyone's.
struct Linearisation {
    /// Writes the model around the weights into `out`, when what is on the step's queue has been
    /// computed.
    std::function<void(const char* weights, int64_t i, int64_t t, const Linearised& out)> around;
    /// Mean loss at the weights.
    std::function<double(const char* weights, int64_t i, int64_t t)> loss;
};

}  // namespace dbench::algorithms
