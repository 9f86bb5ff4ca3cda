#pragma once  // Private to train/device.
// Facts about the GPUs of this machine, from CUDA, and whether this program's kernels run on them.
// The functions compute nothing on the GPUs. A build without CUDA finds no GPU.

#include <string>
#include <string_view>

namespace dbench::train {

/// Returns the number of GPUs that this process sees.
int gpu_count();
/// Returns why CUDA finds no GPU, in CUDA's words.
std::string no_gpu_reason();
/// True if kernels that were compiled for `architectures`, in the form of CMake's
/// CUDA_ARCHITECTURES but separated by spaces ("80 90-real"), run on a GPU of compute capability
/// `major`.`minor`. They run from machine code of the same generation, or from PTX, which the
/// driver compiles for newer GPUs. Words that are not numbers, such as "native", count as a match.
bool has_code(const std::string& architectures, int major, int minor);
/// Returns why this program's kernels cannot run on GPU `number`, such as "has compute capability
/// 7.5, ..."; "" if they can.
std::string gpu_obstacle(int number);
/// Returns bytes that identify the GPU among the GPUs of its machine, in every process.
std::string gpu_identity(int number);
/// Returns the 16 bytes of a GPU's UUID as nvidia-smi prints them, without its prefix "GPU-" or
/// "MIG-": "8a4f00c2-...".
std::string uuid_text(std::string_view bytes);
/// Returns the GPU's bus id and UUID: "0000:1b:00.0 8a4f00c2-...".
std::string gpu_address(int number);
/// Returns the version of cuDNN, such as "9.19.0".
std::string cudnn_version();
/// Returns the version of NVIDIA's driver in NVIDIA's numbering (not that of CUDA); "unknown" if
/// the system does not report it.
std::string driver_version();

}  // namespace dbench::train
