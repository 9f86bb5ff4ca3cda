#pragma once  // Private to train/device.
// GPUs as devices of LibTorch, through CUDA. make_device() (device.hpp) calls make_gpu_device(),
// and DeviceScope::connect() calls nccl_of(). A build without CUDA compiles both to errors.

#include <memory>

#include "comm/nccl/nccl_transport.hpp"
#include "train/device/device.hpp"

namespace dbench::train {

/// Makes the device of the GPU with CUDA's index `number`, of a run in which up to
/// `ranks_per_gpu` ranks compute on the same GPU. LibTorch on the calling thread uses that
/// GPU and its compute stream from then on. cuDNN searches for the fastest algorithm of each
/// convolution, and float32 arithmetic does not use TF32. Throws UserError if this program was
/// built without CUDA.
std::unique_ptr<Device> make_gpu_device(int number, int ranks_per_gpu);
/// Returns the parts that connect the GPU to the GPUs of other ranks. Throws UserError if the
/// device is not a GPU or if NCCL cannot be loaded.
comm::NcclParts nccl_of(Device& device);

}  // namespace dbench::train
