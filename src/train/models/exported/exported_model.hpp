#pragma once
// A user's own PyTorch model as a model of this program.

#include <cstdint>
#include <memory>
#include <string>

#include "train/models/model.hpp"

namespace dbench::train {

/// The memory order in which the model reads images. `automatic`: channels last if the graphs have
/// convolutions of images and accept that order, otherwise contiguous. With channels last BatchNorm
/// and ReLU are computed as in built-in models; contiguous images are computed by the operators of
/// the file alone.
enum class MemoryFormat : uint8_t { automatic, contiguous, channels_last };

/// Makes the model from `bytes`, the contents of the file `path` that dbench-export wrote. Throws
/// UserError if the file is damaged, uses something that this program cannot compute, or does not
/// suit the data.
std::unique_ptr<Model> make_exported_model(const std::string& path, std::string bytes,
                                           MemoryFormat format, const ModelContext& context);

}  // namespace dbench::train
