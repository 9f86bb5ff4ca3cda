#pragma once
// LibTorch tensors over rows of the arena. Only src/train may include it (it includes torch).

#include "arena/layout.hpp"
#include "arena/rows.hpp"
#include "train/device/device.hpp"
#include "train/models/model.hpp"

namespace dbench::train {

/// Returns the place where LibTorch computes for a device.
inline torch::Device torch_device_of(const Device& device) {
    if (const auto gpu = device.gpu()) {
        return {torch::kCUDA, static_cast<torch::DeviceIndex>(*gpu)};
    }
    return torch::kCPU;
}

/// Returns tensors over one local row, in the layout's order, without copies. `place` must be that
/// of the row's memory.
std::vector<torch::Tensor> views(const arena::Layout& layout, const arena::Rows& rows,
                                 int64_t local, torch::Device place = torch::kCPU);

/// Copies numbers (float64) to `to`, which the host can read, ordered after the work so far. The
/// host does not wait.
inline void store(const torch::Tensor& numbers, double* to) {
    torch::from_blob(to, numbers.sizes(), torch::kFloat64).copy_(numbers, /*non_blocking=*/true);
}

}  // namespace dbench::train
