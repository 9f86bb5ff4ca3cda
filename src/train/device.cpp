#include "train/device.hpp"

#include <torch/torch.h>
#include <torch/version.h>

#include <algorithm>
#include <cstdlib>

#if DBENCH_CUDA
#include <cuda_runtime_api.h>
#include <torch/cuda.h>
#endif

namespace dbench::train {

std::string torch_version() { return TORCH_VERSION; }

#if DBENCH_CUDA
bool cuda_available() { return torch::cuda::is_available(); }

std::string cuda_status() {
    int runtime = 0;
    cudaRuntimeGetVersion(&runtime);
    const std::string built = "built (CUDA " + std::to_string(runtime / 1000) + "." +
                              std::to_string(runtime % 1000 / 10) + ")";
    if (!cuda_available()) return built + ", no device";
    const auto count = torch::cuda::device_count();
    cudaDeviceProp properties{};
    cudaGetDeviceProperties(&properties, 0);
    return built + ", " + std::to_string(count) + (count == 1 ? " device: " : " devices: ") +
           properties.name;
}
#else
bool cuda_available() { return false; }
std::string cuda_status() { return "not built"; }
#endif

int use_threads() {
    const char* asked = std::getenv("OMP_NUM_THREADS");
    const int threads = asked ? std::max(1, std::atoi(asked)) : 1;
    torch::set_num_threads(threads);
    return threads;
}

}  // namespace dbench::train
