#include "train/device/gpu_facts.hpp"

#include <sstream>

#include "train/device/device.hpp"

#if DBENCH_CUDA
#include <ATen/detail/CUDAHooksInterface.h>
#include <cuda_runtime_api.h>

#include <fstream>

#include "arena/cuda/device.hpp"
#include "base/text.hpp"
#endif

namespace dbench::train {

bool has_code(const std::string& architectures, int major, int minor) {
    std::istringstream words(architectures);
    for (std::string word; words >> word;) {
        const size_t end = word.find('-');
        const std::string number = word.substr(0, end);
        if (number.find_first_not_of("0123456789") != std::string::npos) return true;
        const int built = std::stoi(number);
        const bool alone = end != std::string::npos && word.substr(end) == "-real";
        if (built <= 10 * major + minor && (!alone || built / 10 == major)) return true;
    }
    return false;
}

std::string uuid_text(std::string_view bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    for (size_t k = 0; k < bytes.size(); ++k) {
        if (k == 4 || k == 6 || k == 8 || k == 10) text += '-';
        const auto byte = static_cast<unsigned char>(bytes[k]);
        text += kDigits[byte >> 4];
        text += kDigits[byte & 15];
    }
    return text;
}

#if DBENCH_CUDA
namespace {

std::string version_text(int number) {
    return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

std::string gpu_name(int number) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, number) != cudaSuccess) return "unknown";
    return properties.name;
}

}  // namespace

bool cuda_built() { return true; }

int gpu_count() { return arena::CudaDevice::count(); }

std::string no_gpu_reason() { return arena::CudaDevice::why_unavailable(); }

std::string gpu_obstacle(int number) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, number) != cudaSuccess) {
        return std::string("does not report its properties (") +
               cudaGetErrorString(cudaGetLastError()) + ")";
    }
    if (has_code(DBENCH_CUDA_ARCHITECTURES, properties.major, properties.minor)) return "";
    return "has compute capability " + std::to_string(properties.major) + "." +
           std::to_string(properties.minor) + ", but this program's kernels are for " +
           DBENCH_CUDA_ARCHITECTURES;
}

std::string gpu_identity(int number) {
    char bus[32] = "";
    cudaDeviceProp properties{};
    cudaDeviceGetPCIBusId(bus, sizeof bus, number);
    if (cudaGetDeviceProperties(&properties, number) != cudaSuccess) return bus;
    // The parts (MIG instances) of one GPU share its bus id and have identifiers of their own.
    return bus + std::string(properties.uuid.bytes, sizeof properties.uuid.bytes);
}

std::string gpu_address(int number) {
    char bus[32] = "";
    cudaDeviceProp properties{};
    cudaDeviceGetPCIBusId(bus, sizeof bus, number);
    if (cudaGetDeviceProperties(&properties, number) != cudaSuccess) return bus;
    const std::string_view uuid(properties.uuid.bytes, sizeof properties.uuid.bytes);
    return std::string(bus) + " " + uuid_text(uuid);
}

std::string cudnn_version() {
    const long number = at::detail::getCUDAHooks().versionCuDNN();
    return std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." +
           std::to_string(number % 100);
}

std::string driver_version() {
    std::ifstream file("/sys/module/nvidia/version");
    std::string version;
    return file >> version ? version : "unknown";
}

std::string cuda_status() {
    int runtime = 0;
    cudaRuntimeGetVersion(&runtime);
    const std::string built = "built (CUDA " + version_text(runtime) + ")";
    const int count = gpu_count();
    if (count == 0) return built + ", no device (" + no_gpu_reason() + ")";
    return built + ", " + std::to_string(count) + (count == 1 ? " device: " : " devices: ") +
           gpu_name(0);
}

std::vector<std::pair<std::string, std::string>> gpu_facts() {
    std::vector<std::pair<std::string, std::string>> facts;
    int driver = 0;
    cudaDriverGetVersion(&driver);
    std::string of_driver = "none";
    if (driver != 0) {
        of_driver = "for CUDA " + version_text(driver);
        of_driver += ", version ";
        of_driver += driver_version();
    }
    facts.emplace_back("CUDA driver", of_driver);
    facts.emplace_back("cuDNN", cudnn_version());
    const int count = gpu_count();
    std::string apart;
    for (int k = 0; k < count; ++k) {
        cudaDeviceProp properties{};
        if (cudaGetDeviceProperties(&properties, k) != cudaSuccess) continue;
        std::string gpu = properties.name;
        gpu += ", ";
        gpu += base::bytes_text(static_cast<double>(properties.totalGlobalMem));
        gpu += ", compute capability " + std::to_string(properties.major) + ".";
        gpu += std::to_string(properties.minor);
        const std::string obstacle = gpu_obstacle(k);
        if (!obstacle.empty()) gpu += "; it " + obstacle;
        facts.emplace_back("  GPU " + std::to_string(k), gpu);
        for (int other = 0; other < count; ++other) {
            int reaches = 0;
            if (other == k) continue;
            cudaDeviceCanAccessPeer(&reaches, k, other);
            if (reaches) continue;
            apart += ' ';
            apart += std::to_string(k);
            apart += '-';
            apart += std::to_string(other);
        }
    }
    if (count > 1) {
        facts.emplace_back("  peer access",
                           apart.empty() ? "between all GPUs" : "not between" + apart);
    }
    return facts;
}
#else
bool cuda_built() { return false; }
int gpu_count() { return 0; }
std::string no_gpu_reason() { return "built without CUDA"; }
std::string gpu_obstacle(int) { return ""; }
std::string gpu_identity(int) { return ""; }
std::string gpu_address(int) { return ""; }
std::string cudnn_version() { return ""; }
std::string driver_version() { return ""; }
std::string cuda_status() { return "not built"; }
std::vector<std::pair<std::string, std::string>> gpu_facts() { return {}; }
#endif

}  // namespace dbench::train
