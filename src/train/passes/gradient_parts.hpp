#pragma once
// Gradients of tensors from where backward leaves them into gradient rows: on a device in one
// launch for all that are there, where LibTorch's copies would be one for each.

#include <torch/torch.h>

#include <vector>

#include "arena/device/queue.hpp"
#include "arena/layout.hpp"
#include "arena/rows.hpp"

namespace dbench::train {

class GradientParts {
public:
    /// Of a layout that lives on.
    explicit GradientParts(const arena::Layout& layout);

    /// The gradient of tensor k, of one row or [rows, shape...] of several, which is to be added to
    /// what stands there or to replace it.
    void take(size_t k, torch::Tensor gradient, bool adds);
    /// Those taken since into the rows, of the tensors in `columns`. LibTorch computes on `queue`;
    /// null: at once.
    void put(const arena::Rows& to, arena::Columns columns, arena::Queue* queue);
    /// Zeros for the tensors that have not been `reached`.
    void zero(const arena::Rows& to, const std::vector<bool>& reached, arena::Queue* queue) const;
    /// Those taken are not wanted.
    void drop();

private:
    const arena::Layout& layout_;
    struct Taken {
        torch::Tensor gradient;  // undefined: none, or it is where it should be
        bool adds = false;
    };
    std::vector<Taken> taken_;
};

}  // namespace dbench::train
