#include "train/device/device.hpp"

#include <torch/torch.h>
#include <torch/version.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "base/error.hpp"
#include "train/device/cuda_device.hpp"
#include "train/device/gpu_facts.hpp"

namespace dbench::train {
namespace {

using base::UserError;

/// What this rank would compute on, for the others to see.
CardClaim claim(const comm::World& world) {
    const int cards = card_count();
    if (!cuda_built()) {
        return {
            "this program was built without CUDA: build it by scripts/setup --cuda, or use "
            "\"auto\" or \"cpu\"",
            "", 0};
    }
    if (cards == 0) {
        return {"CUDA finds no card on " + world.host() + " (" + card_absence() +
                    "): look at dbench doctor, or use \"auto\" or \"cpu\"",
                "", 0};
    }
    // Some launchers show each rank its own, or those that are near to it.
    const int number = world.local_rank() % cards;
    const std::string obstacle = card_obstacle(number);
    if (!obstacle.empty()) {
        return {"card " + std::to_string(number) + " of " + world.host() + " " + obstacle +
                    ": use another one (CUDA_VISIBLE_DEVICES), \"auto\" or \"cpu\"",
                "", 0};
    }
    return {"", world.host() + " " + card_identity(number), number};
}

/// The host, since there is no card for each rank.
class HostInstead final : public Device {
public:
    explicit HostInstead(std::string why) : why_(std::move(why)) {}
    std::string instead_of_card() const override { return why_; }
    std::vector<std::pair<std::string, std::string>> settings() const override {
        return {{"device", "cpu (" + why_ + ")"}};
    }

private:
    std::string why_;
};

/// A card of another host, for whoever asks what it would do.
class CardElsewhere final : public Device {
public:
    std::string name() const override { return "cuda (no card here)"; }
    bool is_host() const override { return false; }
};

}  // namespace

void Device::launch(arena::Queue& queue, const char* name, std::vector<arena::Access> accesses,
                    std::function<void()> work) {
    queue.launch({name, std::move(accesses), 1, [work](int64_t, uint64_t) { work(); }, nullptr});
}

// What a device would do without the host is emulated by doing it as before. That is a launch;
// those of its other parts, behind it, do nothing but touch what these do.
std::unique_ptr<Captured> Device::capture(const char* name,
                                          std::vector<std::vector<arena::Access>> parts,
                                          std::function<void(const PartEnds&)> work,
                                          arena::Queue* queue) {
    class Again final : public Captured {
    public:
        Again(Device& device, arena::Queue& queue, const char* name,
              std::vector<std::vector<arena::Access>> parts,
              std::function<void(const PartEnds&)> work)
            : device_(device),
              queue_(queue),
              name_(name),
              parts_(std::move(parts)),
              work_(std::move(work)) {}
        void put() override {
            ends_.clear();
            for (const auto& accesses : parts_) {
                const bool first = ends_.empty();
                device_.launch(queue_, name_, accesses,
                               first ? Work([work = work_] { work(nullptr); }) : Work([] {}));
                ends_.push_back(queue_.record());
            }
        }
        void order(int64_t part, arena::Queue& queue) override {
            queue.wait(ends_.at(static_cast<size_t>(part)), "a part of a captured pass");
        }

    private:
        using Work = std::function<void()>;

        Device& device_;
        arena::Queue& queue_;
        const char* name_;
        std::vector<std::vector<arena::Access>> parts_;
        std::function<void(const PartEnds&)> work_;
        std::vector<arena::Event> ends_;
    };
    return std::make_unique<Again>(*this, queue ? *queue : *queues().compute, name,
                                   std::move(parts), std::move(work));
}

Device& host_device() {
    static Device host;
    return host;
}

std::string refusal_of(const std::vector<CardClaim>& claims) {
    std::map<std::string, size_t> ranks;
    for (size_t rank = 0; rank < claims.size(); ++rank) {
        if (!claims[rank].obstacle.empty()) return claims[rank].obstacle;
        const auto [first, alone] = ranks.emplace(claims[rank].card, rank);
        if (alone) continue;
        return "ranks " + std::to_string(first->second) + " and " + std::to_string(rank) +
               " would have the same card (ranks of a host take the cards that they see in turn): "
               "start at most one rank for each card, with several replicas a rank";
    }
    return "";
}

std::unique_ptr<Device> make_device(DeviceChoice wanted, comm::World& world, Use use) {
    if (wanted == DeviceChoice::cpu) return std::make_unique<Device>();
    const CardClaim mine = claim(world);
    std::vector<CardClaim> claims;  // of all ranks, so that they decide alike
    for (const std::string& obstacle : world.all_gather(mine.obstacle)) {
        claims.push_back({obstacle, "", 0});
    }
    const std::vector<std::string> cards = world.all_gather(mine.card);
    for (size_t rank = 0; rank < cards.size(); ++rank) claims[rank].card = cards[rank];
    const std::string why = refusal_of(claims);
    if (why.empty()) return make_card(mine.number);
    if (wanted == DeviceChoice::cuda) {
        std::vector<double> seen = {static_cast<double>(card_count())};
        world.sum(seen);
        if (use == Use::planning && cuda_built() && seen[0] == 0) {
            return std::make_unique<CardElsewhere>();
        }
        throw UserError("/device: cuda is refused: " + why);
    }
    if (!cuda_built()) return std::make_unique<Device>();
    return std::make_unique<HostInstead>(why.substr(0, why.find(": ")));
}

std::string torch_version() { return TORCH_VERSION; }

int use_threads() {
    const char* asked = std::getenv("OMP_NUM_THREADS");
    const int threads = asked ? std::max(1, std::atoi(asked)) : 1;
    torch::set_num_threads(threads);
    return threads;
}

}  // namespace dbench::train
