#include "program/memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <new>

#include "base/error.hpp"
#include "base/text.hpp"

namespace dbench::program {
namespace {

constexpr const char* kRemedy =
    "fewer samples, a smaller model, fewer replicas or more ranks need less; dbench check prints "
    "what a run needs";
constexpr const char* kGpuRemedy =
    "a smaller /data/batch_size, /data/accumulate, \"stacking\": \"off\", fewer replicas per rank "
    "or a smaller model need less";

bool is_gpu_error(const std::exception& error) {
    return std::string(error.what()).find("CUDA out of memory") != std::string::npos;
}
std::string memory_text_of(int64_t bytes) { return base::bytes_text(static_cast<double>(bytes)); }

/// Reads the number of a line such as "MemTotal:  8048456 kB". Returns bytes, or 0 if there is no
/// such line.
int64_t kibibytes(const char* path, const std::string& label) {
    std::ifstream file(path);
    std::string word;
    while (file >> word) {
        int64_t value = 0;
        if (word == label + ":" && file >> value) return value * 1024;
    }
    return 0;
}

/// Returns the bytes that this process can still allocate, or 0 if the system does not report it.
int64_t available() {
    int64_t bytes = kibibytes("/proc/meminfo", "MemAvailable");
    struct rlimit limit {};
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        const auto most = static_cast<int64_t>(std::min<rlim_t>(
            limit.rlim_cur, static_cast<rlim_t>(std::numeric_limits<int64_t>::max())));
        const int64_t left = std::max<int64_t>(0, most - kibibytes("/proc/self/status", "VmSize"));
        bytes = bytes > 0 ? std::min(bytes, left) : left;
    }
    return bytes;
}

std::string host() {
    std::array<char, 256> name{};
    gethostname(name.data(), name.size() - 1);
    return name.data();
}

}  // namespace

bool is_out_of_memory(const std::exception& error) {
    const std::string text = error.what();
    return dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
           text.find("can't allocate memory") != std::string::npos ||  // LibTorch, host memory
           is_gpu_error(error);
}

std::string memory_message(const std::exception& error, const MemoryNeed& need) {
    std::string text = "not enough memory for this spec";
    if (need.bytes > 0) {
        text += ": this rank needs at least " + memory_text_of(need.bytes) +
                " plus activations and data";
    }
    const auto memory_info = need.device ? need.device->memory_info() : std::nullopt;
    const bool on_gpu = is_gpu_error(error);
    const int64_t left = on_gpu ? 0 : available();
    const char* const separator = need.bytes > 0 ? "; " : ": ";
    if (on_gpu && memory_info) {
        text += separator + need.device->name() + " has " + memory_text_of(memory_info->all) +
                ", of which " + memory_text_of(memory_info->free) + " are free now";
    } else if (left > 0) {
        text += separator + memory_text_of(left) + " are free on " + host() + " now";
    }
    return text + " (" + (on_gpu ? kGpuRemedy : kRemedy) + ")";
}

std::string memory_obstacle(const MemoryNeed& need, int ranks) {
    const std::string begin = "not enough memory for this spec: ";
    if (const auto memory_info = need.device ? need.device->memory_info() : std::nullopt) {
        const int sharing = need.device->ranks_per_gpu();
        if (need.bytes <= memory_info->all / sharing) return "";
        return begin + "a rank needs at least " + memory_text_of(need.bytes) +
               " plus activations; " + need.device->name() +
               (sharing > 1 ? ", which " + std::to_string(sharing) + " ranks share," : "") +
               " has " + memory_text_of(memory_info->all) + " (" + kGpuRemedy + ")";
    }
    if (need.device && !need.device->is_host()) return "";  // a GPU that this machine does not have
    const int64_t all =
        kibibytes("/proc/meminfo", "MemTotal") + kibibytes("/proc/meminfo", "SwapTotal");
    const double wanted = static_cast<double>(need.bytes) * ranks;
    if (all == 0 || wanted <= static_cast<double>(all)) return "";
    const std::string of = ranks == 1 ? "the rank" : "the " + std::to_string(ranks) + " ranks";
    return begin + of + " on " + host() + (ranks == 1 ? " needs at least " : " need at least ") +
           base::bytes_text(wanted) + " plus activations and data; the machine has " +
           memory_text_of(all) + " (" + kRemedy + ")";
}

}  // namespace dbench::program
