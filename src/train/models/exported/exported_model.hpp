#pragma once
// A user's own PyTorch model as a model of this program.

#include <memory>
#include <string>

#include "train/models/model.hpp"

namespace dbench::train {

/// Makes the model from `bytes`, the contents of the file `path` that dbench-export wrote. It reads
/// images in the memory order `order`. Throws UserError if the file is damaged, uses something that
/// this program cannot compute, or does not suit the data.
std::unique_ptr<Model> make_exported_model(const std::string& path, std::string bytes,
                                           data::Order order, const ModelContext& context);

}  // namespace dbench::train
