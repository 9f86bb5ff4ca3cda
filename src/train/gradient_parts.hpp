#pragma once
// Gradients of tensors from where backward leaves them into gradient rows: on a device in one
// launch for all that are there, where LibTorch's copies would be one for each.

#include <torch/torch.h>

#include <vector>

#include "arena/layout.hpp"
#include "arena/queue.hpp"
#include "arena/rows.hpp"

namespace dbench::train {

class GradientParts {
public:
    /// Of a layout that lives on.
    explicit GradientParts(const arena::Layout& layout);

    /// The gradient of tensor k, of one row or [rows, shape...] of several.
    void take(size_t k, torch::Tensor gradient);
    /// Those taken since into the rows, of the tensors in `columns`; added to what stands there
    /// where `adds`. LibTorch computes on `queue`; null: at once.
    void put(const arena::Rows& to, arena::Columns columns, bool adds, arena::Queue* queue);
    /// Zeros for the tensors that have not been `reached`.
    void zero(const arena::Rows& to, const std::vector<bool>& reached, arena::Queue* queue) const;
    /// Those taken are not wanted.
    void drop();

private:
    const arena::Layout& layout_;
    std::vector<torch::Tensor> taken_;  // undefined: none, or it is where it should be
};

}  // namespace dbench::train
