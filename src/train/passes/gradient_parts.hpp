#pragma once  // Private to train/passes.
// Writes gradients from the memory where backward leaves them into gradient rows. On a device it
// needs one launch for all gradients that are there; LibTorch's copies would need one each.

#include <vector>

#include "arena/device/queue.hpp"
#include "arena/layout.hpp"
#include "arena/rows.hpp"
#include "train/torch.hpp"

namespace dbench::train {

/// A list of gradients that backward has computed and that are not in their rows yet.
class GradientParts {
public:
    /// `layout` must outlive this object.
    explicit GradientParts(const arena::Layout& layout);

    /// Records the gradient of tensor k, of one row or [rows, shape...] of several. write() will
    /// add it to the row's values if `adds`, else replace them.
    void take(size_t k, torch::Tensor gradient, bool adds);
    /// Writes the recorded gradients of the tensors in `columns` into the rows and forgets them.
    /// `queue` is the queue on which LibTorch computes.
    void write(const arena::Rows& to, arena::Columns columns, arena::Queue& queue);
    /// Writes zeros for the tensors that are not `reached`.
    void zero(const arena::Rows& to, const std::vector<bool>& reached, arena::Queue& queue) const;
    /// Forgets all recorded gradients.
    void drop();

private:
    const arena::Layout& layout_;
    struct Taken {
        torch::Tensor gradient;  // undefined: none, or written already
        bool adds = false;
    };
    std::vector<Taken> taken_;
};

}  // namespace dbench::train
