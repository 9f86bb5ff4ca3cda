#pragma once
// Torch's view of arena rows. Stays inside src/train/ (includes torch).

#include "arena/layout.hpp"
#include "arena/rows.hpp"
#include "train/device/device.hpp"
#include "train/models/model.hpp"

namespace dbench::train {

/// Where LibTorch computes for a device.
inline torch::Device place_of(const Device& device) {
    if (const auto card = device.card()) {
        return {torch::kCUDA, static_cast<torch::DeviceIndex>(*card)};
    }
    return torch::kCPU;
}

/// Tensors over one local row, in the layout's order, no copies; on a card, if its memory is.
std::vector<torch::Tensor> views(const arena::Layout& layout, const arena::Rows& rows,
                                 int64_t local, torch::Device place = torch::kCPU);

/// Puts numbers (float64) where the host reads them once the work so far is done; waits for no
/// card.
inline void store(const torch::Tensor& numbers, double* to) {
    torch::from_blob(to, numbers.sizes(), torch::kFloat64).copy_(numbers, /*non_blocking=*/true);
}

}  // namespace dbench::train
