#pragma once
// Torch's view of arena rows. Stays inside src/train/ (includes torch).

#include "arena/layout.hpp"
#include "arena/rows.hpp"
#include "train/models/model.hpp"

namespace dbench::train {

/// Tensors over one local row, in the layout's order, no copies.
std::vector<torch::Tensor> views(const arena::Layout& layout, const arena::Rows& rows,
                                 int64_t local);

}  // namespace dbench::train
