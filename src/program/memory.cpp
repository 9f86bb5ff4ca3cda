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

namespace dbench::bench {
namespace {

constexpr const char* kRemedy =
    "fewer samples, a smaller model, fewer replicas or more ranks need less; dbench check says how "
    "much a run takes";
constexpr const char* kCardRemedy =
    "a smaller /data/batch_size, /data/accumulate, \"stacking\": \"off\", fewer replicas a rank or "
    "a smaller model need less";

bool is_of_card(const std::exception& error) {
    return std::string(error.what()).find("CUDA out of memory") != std::string::npos;
}
std::string text_of(int64_t bytes) { return base::bytes_text(static_cast<double>(bytes)); }

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
           is_of_card(error);
}

std::string memory_message(const std::exception& error, const MemoryNeed& need) {
    std::string text = "there is not enough memory for what the spec names";
    if (need.bytes > 0) {
        text += ": this rank needs at least " + text_of(need.bytes) + ", and activations and data";
    }
    const auto room = need.device ? need.device->room() : std::nullopt;
    const bool of_card = is_of_card(error);
    const int64_t left = of_card ? 0 : available();
    const char* const and_then = need.bytes > 0 ? "; " : ": ";
    if (of_card && room) {
        text += and_then + need.device->name() + " has " + text_of(room->all) + ", of which " +
                text_of(room->free) + " are free now";
    } else if (left > 0) {
        text += and_then + text_of(left) + " are free for it on " + host() + " now";
    }
    return text + " (" + (of_card ? kCardRemedy : kRemedy) + ")";
}

std::string memory_obstacle(const MemoryNeed& need, int ranks) {
    const std::string begin = "there is not enough memory for what the spec names: ";
    if (const auto room = need.device ? need.device->room() : std::nullopt) {
        if (need.bytes <= room->all) return "";
        return begin + "a rank needs at least " + text_of(need.bytes) + ", and activations, and " +
               need.device->name() + " has " + text_of(room->all) + " (" + kCardRemedy + ")";
    }
    if (need.device && !need.device->is_host()) return "";  // of a card that is not here
    const int64_t all =
        kibibytes("/proc/meminfo", "MemTotal") + kibibytes("/proc/meminfo", "SwapTotal");
    const double wanted = static_cast<double>(need.bytes) * ranks;
    if (all == 0 || wanted <= static_cast<double>(all)) return "";
    const std::string of = ranks == 1 ? "the rank" : "the " + std::to_string(ranks) + " ranks";
    return begin + of + " on " + host() + (ranks == 1 ? " needs at least " : " need at least ") +
           base::bytes_text(wanted) + ", and activations and data; the machine has " +
           text_of(all) + " (" + kRemedy + ")";
}

}  // namespace dbench::bench
