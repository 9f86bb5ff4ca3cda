#pragma once
// Whole runs on queues of emulated devices: what they report and save, and the conflicts that the
// devices find.

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "algorithms/learning_rates/schedule.hpp"
#include "algorithms/optimizers/optimizer_spec.hpp"
#include "arena/device/place.hpp"
#include "arena/emulated_device.hpp"
#include "base/error.hpp"
#include "comm/nccl_stand_in.hpp"
#include "comm/ranks.hpp"
#include "train/device/device.hpp"
#include "train/device/device_scope.hpp"
#include "train/models/names.hpp"
#include "train/run/session.hpp"

namespace dbench::train::tests {

namespace fs = std::filesystem;
using arena::EmulatedDevice;
using base::Json;
using Pace = EmulatedDevice::Pace;

/// A spec with all defaults filled in, as the program resolves it.
struct Resolved {
    Json spec, algorithm, graph;
    RunSpec run;
};

inline Resolved resolve(const Json& given) {
    const auto& own = RunSpec::section().parameters();
    Json plain = {{"name", "device"}};
    for (const auto& p : own) {
        if (given.contains(p.name)) plain[p.name] = given.at(p.name);
    }
    Resolved r;
    r.spec = base::resolve_object(plain, "", own);
    r.run = RunSpec::section().read(r.spec);
    r.spec["model"] = base::resolve_member(given.at("model"), "/model", "model", model_entries());
    r.spec["data"] = data::resolve_data(given.at("data"), "/data");
    r.algorithm = algorithms::resolve_algorithm(given.at("algorithm"));
    r.spec["optimizer"] = algorithms::resolve_optimizer(given.at("optimizer"), "/optimizer");
    r.spec["schedule"] =
        algorithms::resolve_schedule(given.value("schedule", Json("constant")), "/schedule");
    r.graph = graphs::resolve_graph(given.value("graph", Json("ring")), "/graph");
    return r;
}

inline std::string bits(const std::vector<double>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)};
}

/// Records all calls of an observer, in order, with the bits of all values. Times are only checked
/// to be there.
class RecordedCalls final : public algorithms::Observer {
public:
    std::vector<std::string> all;

    void iteration(const algorithms::IterationRecord& r) override {
        all.push_back("iteration " + std::to_string(r.iteration) + bits(r.loss) + bits(r.accuracy) +
                      bits(r.norm) + bits(r.update_norm) + bits(r.gradient_norm) +
                      bits(r.variance));
        using algorithms::Time;
        const double gradient = r.times[Time::gradient];
        if (!(gradient > 0 && r.times[Time::step] > gradient)) all.back() += " without times";
    }
    void evaluation(const algorithms::EvaluationRecord& r) override {
        all.push_back("evaluation " + std::to_string(r.iteration) + bits(r.test.local_loss) +
                      bits(r.test.local_accuracy) + bits({r.test.mean_loss, r.test.mean_accuracy}));
    }
    void event(int64_t iteration, const std::string& kind, const std::string& text) override {
        all.push_back(kind + " " + std::to_string(iteration) + text);
    }
};

/// The queues of a device in addition to the step's.
struct SideQueues {
    std::vector<arena::Queue*> passes;
    arena::StepQueue* step = nullptr;
    arena::Queue* uploads = nullptr;
};

/// A device on emulated queues. It never runs LibTorch's work named `left_out`.
class EmulatedTrainingDevice final : public Device {
public:
    EmulatedTrainingDevice(const arena::Place& place, const SideQueues& side_queues,
                           std::string left_out)
        : place_(place), side_queues_(side_queues), left_out_(std::move(left_out)) {}
    std::string name() const override { return "emulated"; }
    arena::Place place() const override { return place_; }
    std::vector<arena::Queue*> side_queues() override { return side_queues_.passes; }
    arena::Queue* upload_queue() override { return side_queues_.uploads; }
    arena::StepQueue* step_queue() override { return side_queues_.step; }
    std::unique_ptr<CapturedWork> capture(const char* name,
                                          std::vector<std::vector<arena::Access>> parts,
                                          std::function<void(const EndPart&)> work,
                                          arena::Queue& queue) override {
        ++captures_;
        return Device::capture(name, std::move(parts), std::move(work), queue);
    }
    int64_t captures() const { return captures_; }

private:
    void launch(arena::Queue& queue, const char* name, std::vector<arena::Access> accesses,
                std::function<void()> work) override {
        if (name == left_out_) return;
        queue.launch(
            {name, std::move(accesses), 1, [work](int64_t, uint64_t) { work(); }, nullptr});
    }

    arena::Place place_;
    SideQueues side_queues_;
    std::string left_out_;
    int64_t captures_ = 0;
};

/// A new folder, which the destructor removes.
class Folder {
public:
    Folder() {
        static int made = 0;
        path_ = fs::temp_directory_path() /
                ("dbench-device-" + std::to_string(getpid()) + "-" + std::to_string(made++));
        fs::create_directories(path_);
    }
    ~Folder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    fs::path path() const { return path_; }

private:
    fs::path path_;
};

inline std::string contents(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// The choices of a session, as texts.
struct Chosen {
    std::string stacking, resident;
};

using Nccl = std::optional<comm::tests::NcclStandIn>;

/// Trains this rank's replicas, from the newest checkpoint in `folder` if there is one. Returns
/// what the session reported, then what it saved. If `nccl` is set, NCCL carries rows. Adds the
/// number of captured passes to `captures`.
inline std::vector<std::string> train(comm::World& world, const Json& given,
                                      const SideQueues& side_queues, const fs::path& folder,
                                      Nccl& nccl, const std::string& left_out,
                                      std::atomic<int64_t>& captures, Chosen* chosen) {
    const Resolved r = resolve(given);
    const comm::Placement placement{r.run.replicas, world.size()};
    EmulatedTrainingDevice device(world.place(), side_queues, left_out);
    std::optional<DeviceScope> on_device;
    if (nccl) {
        on_device.emplace(world, device);
        on_device->connect([&] { return nccl->parts(world.slot()); });
        DBENCH_EXPECT(on_device->transport_name() == "NCCL 2.28.9");
    }
    SessionOptions options{r.run,
                           std::make_shared<const Json>(r.spec),
                           std::make_shared<const Json>(r.algorithm),
                           nullptr,
                           {},
                           device};
    options.graph = [&](const graphs::RunFacts& run) {
        return graphs::make_graph(
            r.graph, {static_cast<int>(placement.replicas), r.run.seed.graph, run}, "/graph");
    };
    if (r.algorithm.at("type") == "centralized") options.graph = nullptr;
    Session session(world, placement, options);
    session.connect();
    {
        static std::mutex one_at_a_time;  // all ranks share LibTorch's generator of initial values
        const std::lock_guard lock(one_at_a_time);
        session.prepare();
    }
    session.choose_stacking();
    if (chosen) *chosen = {session.stacking(), session.resident()};
    Checkpoints checkpoints(world, placement, folder.string(), 3);
    if (fs::exists(folder)) {
        if (const auto head = checkpoints.newest()) session.resume(checkpoints, *head);
    }
    RecordedCalls recorded;
    session.train(recorded, checkpoints, base::Stopwatch());
    for (int64_t t = 1; t < session.plan().iterations; ++t) {
        recorded.all.push_back(contents(folder / std::to_string(t) /
                                        ("part-" + std::to_string(world.rank()) + ".bin")));
    }
    captures += device.captures();
    return recorded.all;
}

/// The result of a run: by rank, what it reported and saved.
struct RunResult {
    std::vector<std::vector<std::string>> outcome;
    std::set<std::string> reasons, conflicts;
    Chosen chosen;  ///< of rank 0
    int64_t captures = 0;
};

/// Trains on `ranks` threads, each with a device of its own; `pace` null: without devices.
inline RunResult play(const Json& spec, int ranks, const Pace* pace, uint64_t seed,
                      const fs::path& folder, const std::string& forgotten = "",
                      bool over_nccl = false, const std::string& left_out = "") {
    use_threads();
    std::atomic<int64_t> captures = 0;
    RunResult result;
    result.outcome.resize(static_cast<size_t>(ranks));
    std::vector<std::unique_ptr<EmulatedDevice>> devices;
    std::vector<std::unique_ptr<arena::StepQueue>> steps(static_cast<size_t>(ranks));
    std::vector<SideQueues> side_queues(static_cast<size_t>(ranks));
    for (int rank = 0; pace && rank < ranks; ++rank) {
        devices.push_back(std::make_unique<EmulatedDevice>(
            seed * static_cast<uint64_t>(ranks) + static_cast<uint64_t>(rank), -1, *pace));
        // Rows are in device memory: the host must copy them before it reads them.
        devices.back()->set_memories(
            {arena::host_memory(), arena::host_memory(), arena::Space::device});
        devices.back()->omit_wait(forgotten);
    }
    Nccl nccl;
    if (pace && over_nccl) nccl.emplace(ranks, seed);
    for (int rank = 0; nccl && rank < ranks; ++rank) {
        nccl->give(rank, *devices[static_cast<size_t>(rank)]);
    }
    const auto problems = comm::tests::play(
        ranks,
        [&](comm::World& world) {
            const auto rank = static_cast<size_t>(world.rank());
            result.outcome[rank] = train(world, spec, side_queues[rank], folder, nccl, left_out,
                                         captures, rank == 0 ? &result.chosen : nullptr);
            return "";
        },
        [&](comm::Membership& member) {
            if (!pace) return;
            const auto rank = static_cast<size_t>(member.rank);
            EmulatedDevice& device = *devices[rank];
            steps[rank] =
                std::make_unique<arena::StepQueue>(device.add_queue(), device.add_queue());
            member.place = {*steps[rank], device.add_queue()};
            side_queues[rank] = {
                {&device.add_queue(), &device.add_queue()}, steps[rank].get(), &device.add_queue()};
        });
    for (const std::string& problem : problems) {
        if (!problem.empty()) result.conflicts.insert(problem);
    }
    for (const auto& device : devices) {
        result.reasons.insert(device->reasons().begin(), device->reasons().end());
        result.conflicts.insert(device->conflicts().begin(), device->conflicts().end());
    }
    if (nccl && !nccl->problem().empty()) result.conflicts.insert(nccl->problem());
    result.captures = captures;
    return result;
}

}  // namespace dbench::train::tests
