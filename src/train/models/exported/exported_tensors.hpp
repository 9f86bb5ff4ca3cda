#pragma once  // Private to train/models/exported.
// Tensors of the file as LibTorch's tensors.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "train/models/exported/file.hpp"
#include "train/torch.hpp"

namespace dbench::train {

/// Returns a tensor over the file's bytes, which must outlive it. Nobody may write to it.
torch::Tensor view_of(const ExportedTensor& tensor);

/// Tensors that are the same for all replicas, and that nothing changes.
class ConstantTensors {
public:
    /// Adds a copy and returns its number. Equal elements of the file are added once.
    size_t add(const ExportedTensor& tensor);
    /// Returns the tensors at `place`; float32 becomes `type`. One thread makes all calls.
    const std::vector<torch::Tensor>& on(torch::ScalarType type, torch::Device place) const;

private:
    std::vector<ExportedTensor> sources_;  ///< By the number of their copy.
    std::vector<torch::Tensor> constants_;
    mutable std::map<std::pair<torch::ScalarType, std::string>, std::vector<torch::Tensor>>
        prepared_;
};

}  // namespace dbench::train
