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

#if DBENCH_CUDA
namespace {

std::string version_text(int number) {
    return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

std::string card_name(int number) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, number) != cudaSuccess) return "unknown";
    return properties.name;
}

}  // namespace

bool cuda_built() { return true; }

int card_count() { return arena::CudaDevice::count(); }

std::string card_absence() { return arena::CudaDevice::absence(); }

std::string card_obstacle(int number) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, number) != cudaSuccess) {
        return std::string("does not tell what it is (") + cudaGetErrorString(cudaGetLastError()) +
               ")";
    }
    if (has_code(DBENCH_CUDA_ARCHITECTURES, properties.major, properties.minor)) return "";
    return "is of compute capability " + std::to_string(properties.major) + "." +
           std::to_string(properties.minor) + ", and this program's kernels are for " +
           DBENCH_CUDA_ARCHITECTURES;
}

std::string card_identity(int number) {
    char bus[32] = "";
    cudaDeviceProp properties{};
    cudaDeviceGetPCIBusId(bus, sizeof bus, number);
    if (cudaGetDeviceProperties(&properties, number) != cudaSuccess) return bus;
    // Parts of one card have a bus in common, and identifiers of their own.
    return bus + std::string(properties.uuid.bytes, sizeof properties.uuid.bytes);
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
    const int count = card_count();
    if (count == 0) return built + ", no device (" + card_absence() + ")";
    return built + ", " + std::to_string(count) + (count == 1 ? " device: " : " devices: ") +
           card_name(0);
}

std::vector<std::pair<std::string, std::string>> card_facts() {
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
    const int count = card_count();
    std::string apart;
    for (int k = 0; k < count; ++k) {
        cudaDeviceProp properties{};
        if (cudaGetDeviceProperties(&properties, k) != cudaSuccess) continue;
        std::string card = properties.name;
        card += ", ";
        card += base::bytes_text(static_cast<double>(properties.totalGlobalMem));
        card += ", compute capability " + std::to_string(properties.major) + ".";
        card += std::to_string(properties.minor);
        const std::string obstacle = card_obstacle(k);
        if (!obstacle.empty()) card += "; it " + obstacle;
        facts.emplace_back("  card " + std::to_string(k), card);
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
                           apart.empty() ? "between all cards" : "not between" + apart);
    }
    return facts;
}
#else
bool cuda_built() { return false; }
int card_count() { return 0; }
std::string card_absence() { return "built without CUDA"; }
std::string card_obstacle(int) { return ""; }
std::string card_identity(int) { return ""; }
std::string cudnn_version() { return ""; }
std::string driver_version() { return ""; }
std::string cuda_status() { return "not built"; }
std::vector<std::pair<std::string, std::string>> card_facts() { return {}; }
#endif

}  // namespace dbench::train
