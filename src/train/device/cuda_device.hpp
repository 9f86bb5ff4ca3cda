#pragma once
// Cards that CUDA computes on. A build without CUDA finds none.

#include <memory>

#include "comm/nccl/nccl_transport.hpp"
#include "train/device/device.hpp"

namespace dbench::train {

/// The one of that number, which becomes the one that this thread's LibTorch works on: on its
/// compute stream, convolutions by the fastest algorithm that cuDNN finds, float32 without TF32.
/// Throws UserError where it cannot be had.
std::unique_ptr<Device> make_card(int number);
/// What connects a card to those of other ranks. Throws UserError where the device is none, or NCCL
/// is not there.
comm::NcclParts nccl_of(Device& device);

}  // namespace dbench::train
