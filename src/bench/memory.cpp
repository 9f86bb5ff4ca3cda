#include "bench/memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <new>

#include "base/error.hpp"
#include "base/text.hpp"

namespace dbench::bench {
namespace {

constexpr const char* kRemedy =
    "fewer samples, a smaller model, fewer replicas or more ranks need less; dbench check says how "
    "much a run takes";

/// The number in a line such as "MemTotal:  8048456 kB", in bytes; 0 where there is none.
int64_t kibibytes(const char* path, const std::string& label) {
    std::ifstream file(path);
    std::string word;
    while (file >> word) {
        int64_t value = 0;
        if (word == label + ":" && file >> value) return value * 1024;
    }
    return 0;
}

/// What this process may still take; 0 where the system does not tell.
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
           text.find("can't allocate memory") != std::string::npos ||  // LibTorch's, of the host
           text.find("CUDA out of memory") != std::string::npos;       // and of a card
}

std::string memory_message(int64_t needed) {
    std::string text = "there is not enough memory for what the spec names";
    const int64_t left = available();
    if (needed > 0) {
        text += ": this rank needs at least " + base::bytes_text(static_cast<double>(needed)) +
                ", and activations and data";
    }
    if (left > 0) {
        text += (needed > 0 ? "; " : ": ") + base::bytes_text(static_cast<double>(left)) +
                " are free for it on " + host() + " now";
    }
    return text + " (" + kRemedy + ")";
}

void check_memory(int64_t needed, int ranks) {
    const int64_t all =
        kibibytes("/proc/meminfo", "MemTotal") + kibibytes("/proc/meminfo", "SwapTotal");
    const double wanted = static_cast<double>(needed) * ranks;
    if (all == 0 || wanted <= static_cast<double>(all)) return;
    throw base::UserError("there is not enough memory for what the spec names: the " +
                          std::to_string(ranks) + " ranks on " + host() + " need at least " +
                          base::bytes_text(wanted) +
                          ", and activations and data; the machine has " +
                          base::bytes_text(static_cast<double>(all)) + " (" + kRemedy + ")");
}

void check_memory(int64_t needed, int64_t all, const std::string& name) {
    if (needed <= all) return;
    throw base::UserError(
        "there is not enough memory for what the spec names: a rank needs at "
        "least " +
        base::bytes_text(static_cast<double>(needed)) + ", and activations, and " + name + " has " +
        base::bytes_text(static_cast<double>(all)) + " (" + kRemedy + ")");
}

}  // namespace dbench::bench
