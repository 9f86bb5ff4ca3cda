#include "train/device/device.hpp"

#include <torch/version.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <string_view>

#include "base/error.hpp"
#include "train/device/cuda_device.hpp"
#include "train/device/gpu_facts.hpp"
#include "train/torch.hpp"

namespace dbench::train {
namespace {

using base::UserError;

/// Returns the GPU that this rank would use, or why it has none.
GpuClaim claim(const comm::World& world) {
    const int gpus = gpu_count();
    if (!cuda_built()) {
        return {
            "this program was built without CUDA: build it by scripts/setup --cuda, or use "
            "\"auto\" or \"cpu\"",
            "", 0};
    }
    if (gpus == 0) {
        return {"CUDA finds no GPU on " + world.host() + " (" + no_gpu_reason() +
                    "): see the output of dbench doctor, or use \"auto\" or \"cpu\"",
                "", 0};
    }
    // Some launchers show each rank only its own GPUs, or those near its cores.
    const int number = world.local_rank() % gpus;
    const std::string obstacle = gpu_obstacle(number);
    if (!obstacle.empty()) {
        return {"GPU " + std::to_string(number) + " of " + world.host() + " " + obstacle +
                    ": choose another GPU (CUDA_VISIBLE_DEVICES), or use \"auto\" or \"cpu\"",
                "", 0};
    }
    return {"", world.host() + " " + gpu_identity(number), number};
}

/// Returns how often the most frequent name occurs.
int ranks_per_gpu(const std::vector<std::string>& gpus) {
    int64_t most = 0;
    for (const std::string& gpu : gpus) {
        most = std::max<int64_t>(most, std::count(gpus.begin(), gpus.end(), gpu));
    }
    return static_cast<int>(most);
}

/// The host, used because the ranks cannot have a GPU each.
class HostFallback final : public Device {
public:
    explicit HostFallback(std::string why) : why_(std::move(why)) {}
    std::string fallback_reason() const override { return why_; }
    std::vector<std::pair<std::string, std::string>> settings() const override {
        return {{"device", "cpu (" + why_ + ")"}};
    }

private:
    std::string why_;
};

/// Stands for a GPU of another host, in commands that only plan a run and compute nothing.
class PlannedGpu final : public Device {
public:
    std::string name() const override { return "cuda (no GPU here)"; }
    bool is_host() const override { return false; }
};

}  // namespace

void Device::launch(arena::Queue& queue, const char* name, std::vector<arena::Access> accesses,
                    std::function<void()> work) {
    queue.launch({name, std::move(accesses), 1, [work](int64_t, uint64_t) { work(); }, nullptr});
}

// Emulates a captured pass: submits all of `work` as the launch of part 0 each time. The launches
// of the later parts follow it, do nothing, and only declare the memory that their parts touch.
std::unique_ptr<CapturedWork> Device::capture(const char* name,
                                              std::vector<std::vector<arena::Access>> parts,
                                              std::function<void(const EndPart&)> work,
                                              arena::Queue& queue) {
    class Again final : public CapturedWork {
    public:
        Again(Device& device, arena::Queue& queue, const char* name,
              std::vector<std::vector<arena::Access>> parts,
              std::function<void(const EndPart&)> work)
            : device_(device),
              queue_(queue),
              name_(name),
              parts_(std::move(parts)),
              work_(std::move(work)) {}
        void replay() override {
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
        std::function<void(const EndPart&)> work_;
        std::vector<arena::Event> ends_;
    };
    return std::make_unique<Again>(*this, queue, name, std::move(parts), std::move(work));
}

Device& host_device() {
    static Device host;
    return host;
}

std::string refusal_of(const std::vector<GpuClaim>& claims, GpuSharing sharing) {
    std::map<std::string, size_t> ranks;
    for (size_t rank = 0; rank < claims.size(); ++rank) {
        if (!claims[rank].obstacle.empty()) return claims[rank].obstacle;
        const auto [first, alone] = ranks.emplace(claims[rank].gpu, rank);
        if (alone || sharing == GpuSharing::allowed) continue;
        return "ranks " + std::to_string(first->second) + " and " + std::to_string(rank) +
               " would use the same GPU (the ranks of a host use the GPUs that they see in turn): "
               "start at most one rank per GPU, with several replicas per rank; to try several "
               "ranks without comparing times, set \"share_gpus\": true";
    }
    return "";
}

std::unique_ptr<Device> make_device(DeviceChoice wanted, GpuSharing sharing, comm::World& world,
                                    DevicePurpose use) {
    if (wanted == DeviceChoice::cpu) return std::make_unique<Device>();
    const GpuClaim mine = claim(world);
    std::vector<GpuClaim> claims;  // of all ranks, so that all take the same decision
    for (const std::string& obstacle : world.all_gather(mine.obstacle)) {
        claims.push_back({obstacle, "", 0});
    }
    const std::vector<std::string> gpus = world.all_gather(mine.gpu);
    for (size_t rank = 0; rank < gpus.size(); ++rank) claims[rank].gpu = gpus[rank];
    const std::string why = refusal_of(claims, sharing);
    if (why.empty()) {
        return make_gpu_device(mine.number, ranks_per_gpu(gpus));
    }
    if (wanted == DeviceChoice::cuda) {
        std::vector<double> seen = {static_cast<double>(gpu_count())};
        world.sum(seen);
        if (use == DevicePurpose::planning && cuda_built() && seen[0] == 0) {
            return std::make_unique<PlannedGpu>();
        }
        throw UserError("/device: cuda is refused: " + why);
    }
    if (!cuda_built()) return std::make_unique<Device>();
    return std::make_unique<HostFallback>(why.substr(0, why.find(": ")));
}

std::string torch_version() { return TORCH_VERSION; }

int threads_of_environment() {
    constexpr int kMost = 1024;  // More threads than the largest hosts have processors.
    const char* asked = std::getenv("OMP_NUM_THREADS");
    int threads = 1;
    if (asked && *asked) {
        // OpenMP allows a list with a number for each level of nesting.
        const std::string_view text(asked);
        const std::string_view first = text.substr(0, text.find(','));
        const auto read = std::from_chars(first.data(), first.data() + first.size(), threads);
        const bool whole = read.ec == std::errc() && read.ptr == first.data() + first.size();
        if (!whole || threads < 1 || threads > kMost) {
            throw UserError("OMP_NUM_THREADS=" + std::string(text.substr(0, 40)) +
                            " is not a number of threads from 1 to " + std::to_string(kMost) +
                            ": set the number of threads of each rank, or unset it (1)");
        }
    }
    return threads;
}

int use_threads() {
    const int threads = threads_of_environment();
    torch::set_num_threads(threads);
    return threads;
}

}  // namespace dbench::train
