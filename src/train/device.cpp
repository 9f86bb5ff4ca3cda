#include "train/device.hpp"

#include <torch/torch.h>
#include <torch/version.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.hpp"
#include "train/cards.hpp"

namespace dbench::train {
namespace {

using base::UserError;

std::string counted(int64_t count, const std::string& what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

/// Why a rank cannot have the card that is its own; "" where it can.
std::string obstacle(int local_rank, int cards) {
    if (!cuda_built()) return "this program was built without CUDA";
    if (cards == 0) return "this machine has no card that CUDA finds";
    if (local_rank < cards) return "";
    return "rank " + std::to_string(local_rank) + " of this host (counted from 0) finds no card " +
           "of its own: there " + (cards == 1 ? "is " : "are ") + counted(cards, "card");
}

std::string remedy(bool built, int cards) {
    if (!built) return "build it by scripts/setup --cuda, or use \"auto\" or \"cpu\"";
    if (cards == 0) return "look at dbench doctor, or use \"auto\" or \"cpu\"";
    return "start at most one rank for each card, with several replicas a rank";
}

}  // namespace

void Device::launch(const char* name, std::vector<arena::Access> accesses,
                    std::function<void()> work) {
    queues().compute->launch(
        {name, std::move(accesses), 1, [work](int64_t, uint64_t) { work(); }, nullptr});
}

Device& host_device() {
    static Device host;
    return host;
}

std::unique_ptr<Device> make_device(DeviceChoice wanted, comm::World& world) {
    if (wanted == DeviceChoice::cpu) return std::make_unique<Device>();
    const int cards = card_count();
    const std::string own = obstacle(world.local_rank(), cards);
    // The first rank's that has any: all ranks decide alike.
    std::string why;
    for (const std::string& each : world.all_gather(own.empty() ? "" : own + ": " +
                                                             remedy(cuda_built(), cards))) {
        if (why.empty()) why = each;
    }
    if (why.empty()) return make_card(world.local_rank());
    if (wanted == DeviceChoice::cuda) throw UserError("/device: cuda is refused: " + why);
    return std::make_unique<Device>();
}

std::string torch_version() { return TORCH_VERSION; }

int use_threads() {
    const char* asked = std::getenv("OMP_NUM_THREADS");
    const int threads = asked ? std::max(1, std::atoi(asked)) : 1;
    torch::set_num_threads(threads);
    return threads;
}

}  // namespace dbench::train
