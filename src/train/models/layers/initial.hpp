#pragma once  // Private to train/models/layers.
// Distributions of initial parameters, drawn with torch's default generator.

#include <functional>

#include "train/torch.hpp"

namespace dbench::train {

/// Fills a tensor with initial values.
using Initial = std::function<void(torch::Tensor&)>;

inline Initial uniform(double bound) {
    return [bound](torch::Tensor& t) { t.uniform_(-bound, bound); };
}

inline Initial normal(double deviation) {
    return [deviation](torch::Tensor& t) { t.normal_(0, deviation); };
}

inline Initial constant(double value) {
    return [value](torch::Tensor& t) { t.fill_(value); };
}

}  // namespace dbench::train
