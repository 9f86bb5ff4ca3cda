// Runs whose LibTorch work and kernels are launched on a device's queues: what they record,
// evaluate and save is the host's to the bit, in every order that the queues and waits allow, and
// each wait of the trainer is needed. DBENCH_DEVICE_SEEDS says how many orders are tried (2);
// DBENCH_DEVICE_STUMBLES lets threads meet in more of them.

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "algorithms/optimizers/optimizer_spec.hpp"
#include "arena/emulated_device.hpp"
#include "arena/memory.hpp"
#include "base/error.hpp"
#include "catch.hpp"
#include "comm/nccl_stand_in.hpp"
#include "comm/ranks.hpp"
#include "train/device.hpp"
#include "train/models/names.hpp"
#include "train/on_device.hpp"
#include "train/session.hpp"

namespace dbench::train {
namespace {

namespace fs = std::filesystem;
using arena::EmulatedDevice;
using base::Json;
using Pace = EmulatedDevice::Pace;

/// A spec as the program would resolve it.
struct Resolved {
    Json spec, algorithm, graph;
    RunSpec run;
};

Resolved resolve(const Json& given) {
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

std::string bits(const std::vector<double>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)};
}

/// What an observer is told, in order: the bits of all but times, which have to be there.
class Told final : public algorithms::Observer {
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

/// Queues of a device beside the step's.
struct Beside {
    std::vector<arena::Queue*> passes;
    arena::StepQueue* step = nullptr;
};

/// It never does the work of LibTorch's that is called `left_out`.
class Emulated final : public Device {
public:
    Emulated(const arena::Queues& queues, const Beside& beside, std::string left_out)
        : queues_(queues), beside_(beside), left_out_(std::move(left_out)) {}
    std::string name() const override { return "emulated"; }
    arena::Space space() const override { return arena::Space::device; }
    arena::Queues queues() const override { return queues_; }
    std::vector<arena::Queue*> side_queues() override { return beside_.passes; }
    arena::StepQueue* step_queue() override { return beside_.step; }
    std::unique_ptr<Captured> capture(const char* name,
                                      std::vector<std::vector<arena::Access>> parts,
                                      std::function<void(const PartEnds&)> work) override {
        ++captures_;
        return Device::capture(name, std::move(parts), std::move(work));
    }
    int64_t captures() const { return captures_; }

private:
    void launch(arena::Queue& queue, const char* name, std::vector<arena::Access> accesses,
                std::function<void()> work) override {
        if (name == left_out_) return;
        queue.launch(
            {name, std::move(accesses), 1, [work](int64_t, uint64_t) { work(); }, nullptr});
    }

    arena::Queues queues_;
    Beside beside_;
    std::string left_out_;
    int64_t captures_ = 0;
};

/// A folder of its own, removed at the end.
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

std::string contents(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// What a session has to say of what it chose.
struct Chosen {
    std::string stacking, resident;
};

using Nccl = std::optional<comm::tests::NcclStandIn>;

/// While one lives, rows are a device's own: who would have them on the host must ask for a copy.
struct OwnMemory {
    OwnMemory() { arena::use_memory(nullptr, nullptr, arena::Space::device); }
    ~OwnMemory() { arena::use_memory(nullptr); }
    OwnMemory(const OwnMemory&) = delete;
    OwnMemory& operator=(const OwnMemory&) = delete;
};

/// Trains this rank's replicas, from the newest checkpoint in `folder` on if there is one; what was
/// told, then what was saved. Rows go over NCCL where there is one. Adds the passes that were
/// captured to `captures`.
std::vector<std::string> train(comm::World& world, const Json& given, const Beside& beside,
                               const fs::path& folder, Nccl& nccl, const std::string& left_out,
                               std::atomic<int64_t>& captures, Chosen* chosen) {
    const Resolved r = resolve(given);
    const comm::Placement placement{r.run.replicas, world.size()};
    Emulated queues(world.queues(), beside, left_out);
    std::optional<OnDevice> on_device;
    if (nccl) {
        on_device.emplace(world, queues);
        on_device->connect([&] { return nccl->parts(world.slot()); });
        DBENCH_EXPECT(on_device->carrier() == "NCCL 2.28.9");
    }
    SessionOptions options{r.run, r.spec, r.algorithm, nullptr, {}, queues};
    options.graph = [&](const graphs::RunFacts& run) {
        return graphs::make_graph(
            r.graph, {static_cast<int>(placement.replicas), r.run.seed.graph, run}, "/graph");
    };
    if (r.algorithm.at("type") == "centralized") options.graph = nullptr;
    Session session(world, placement, options);
    session.connect();
    {
        static std::mutex one_at_a_time;  // all have one generator for initial values
        const std::lock_guard lock(one_at_a_time);
        session.prepare();
    }
    session.choose_stacking();
    if (chosen) *chosen = {session.stacking(), session.resident()};
    Checkpoints checkpoints(world, placement, folder.string(), 3);
    if (fs::exists(folder)) {
        if (const auto head = checkpoints.newest()) session.resume(checkpoints, *head);
    }
    Told told;
    session.train(told, checkpoints, base::Stopwatch());
    for (int64_t t = 1; t < session.plan().iterations; ++t) {
        told.all.push_back(contents(folder / std::to_string(t) /
                                    ("part-" + std::to_string(world.rank()) + ".bin")));
    }
    captures += queues.captures();
    return told.all;
}

/// What a run comes to: by rank, what was told and saved.
struct Played {
    std::vector<std::vector<std::string>> outcome;
    std::set<std::string> reasons, conflicts;
    Chosen chosen;  ///< by rank 0
    int64_t captures = 0;
};

/// Trains on `ranks` threads, each with a device of its own, or with none where `pace` is null.
Played play(const Json& spec, int ranks, const Pace* pace, uint64_t seed, const fs::path& folder,
            const std::string& forgotten = "", bool over_nccl = false,
            const std::string& left_out = "") {
    use_threads();
    std::atomic<int64_t> captures = 0;
    Played played;
    played.outcome.resize(static_cast<size_t>(ranks));
    std::vector<std::unique_ptr<EmulatedDevice>> devices;
    std::vector<std::unique_ptr<arena::StepQueue>> steps(static_cast<size_t>(ranks));
    std::vector<Beside> beside(static_cast<size_t>(ranks));
    for (int rank = 0; pace && rank < ranks; ++rank) {
        devices.push_back(std::make_unique<EmulatedDevice>(
            seed * static_cast<uint64_t>(ranks) + static_cast<uint64_t>(rank), -1, *pace));
        devices.back()->forget(forgotten);
    }
    Nccl nccl;
    if (pace && over_nccl) nccl.emplace(ranks, seed);
    std::optional<OwnMemory> own;
    if (pace) own.emplace();
    for (int rank = 0; nccl && rank < ranks; ++rank) {
        nccl->give(rank, *devices[static_cast<size_t>(rank)]);
    }
    const auto problems = comm::tests::play(
        ranks,
        [&](comm::World& world) {
            const auto rank = static_cast<size_t>(world.rank());
            played.outcome[rank] = train(world, spec, beside[rank], folder, nccl, left_out,
                                         captures, rank == 0 ? &played.chosen : nullptr);
            return "";
        },
        [&](comm::Membership& member) {
            if (!pace) return;
            const auto rank = static_cast<size_t>(member.rank);
            EmulatedDevice& device = *devices[rank];
            steps[rank] =
                std::make_unique<arena::StepQueue>(*device.add_queue(), *device.add_queue());
            member.queues = {steps[rank].get(), device.add_queue()};
            beside[rank] = {{device.add_queue(), device.add_queue()}, steps[rank].get()};
        });
    for (const std::string& problem : problems) {
        if (!problem.empty()) played.conflicts.insert(problem);
    }
    for (const auto& device : devices) {
        played.reasons.insert(device->reasons().begin(), device->reasons().end());
        played.conflicts.insert(device->conflicts().begin(), device->conflicts().end());
    }
    if (nccl && !nccl->problem().empty()) played.conflicts.insert(nccl->problem());
    played.captures = captures;
    return played;
}

Json spec_of(const char* changes) {
    Json spec = Json::parse(R"({
        "replicas": 3, "length": {"iterations": 6},
        "model": {"type": "mlp", "hidden": [6]},
        "data": {"type": "shapes", "train": 48, "test": 12, "batch_size": 4},
        "algorithm": "dsgd", "optimizer": {"type": "sgd", "lr": 0.05, "momentum": 0.9},
        "evaluate": {"every": {"iterations": 3}, "batch_size": 6, "replicas": 2},
        "checkpoint": {"every": {"iterations": 2}, "keep": 3},
        "profile": {"norms": false, "variance": {"kind": "off"}}})");
    spec.merge_patch(Json::parse(changes));
    return spec;
}

/// Of more than a bucket.
constexpr const char* kBuckets = R"({"model": {"hidden": [20, 150, 150, 150]}})";

/// A text of which bytes are predicted.
std::string text_file(const Folder& folder) {
    const fs::path path = folder.path() / "text";
    std::ofstream file(path, std::ios::binary);
    for (int k = 0; k < 900; ++k) file << static_cast<char>('a' + (k * k + k / 7) % 23);
    return path.string();
}

struct Case {
    std::string title;
    Json spec;
    int ranks = 1;
    bool over_nccl = false;

    /// As the host, which has no streams, would run it.
    Json on_host() const {
        Json plain = spec;
        if (plain.value("stacking", "") == "streams") plain.erase("stacking");
        return plain;
    }
};

std::vector<Case> cases(const Folder& files) {
    Json text = spec_of(R"({"model": {"type": "lstm", "hidden": 6, "layers": 2, "dropout": 0.3},
        "optimizer": {"type": "adam", "lr": 0.01, "momentum": null},
        "evaluate": {"every": {"iterations": 6}}, "checkpoint": {"every": {"iterations": 5}}})");
    text["data"] = {{"type", "text"},
                    {"path", text_file(files)},
                    {"sequence", 5},
                    {"batch_size", 2},
                    {"partition", "stream"}};
    return {
        {"an mlp, in parts, clipped", spec_of(R"({"data": {"accumulate": 2, "resident": "off"},
                     "optimizer": {"clip_norm": 0.5}})")},
        {"BatchNorm, estimated anew",
         spec_of(R"({"model": {"type": "cnn", "hidden": null, "width": 2},
                     "evaluate": {"batchnorm": "recalibrate"}, "data": {"augment": true},
                     "algorithm": {"type": "dsgd", "order": "combine_while_adapt"}})")},
        {"dropout and carried state", text},
        {"profiled", spec_of(R"({"profile": {"norms": true, "variance": {"kind": "exact"}},
                                 "optimizer": {"momentum": 0}, "algorithm": "gradient_tracking"})")},
        {"distillation", spec_of(R"({"algorithm": {"type": "feddkd", "period": 2}})")},
        {"linearised", spec_of(R"({"algorithm": {"type": "ntk_dfl"}, "model": {"hidden": [3]},
                                   "optimizer": {"momentum": 0}})")},
        {"asynchronous", spec_of(R"({"algorithm": "ad_psgd"})")},
        {"on streams, in parts",
         spec_of(R"({"stacking": "streams", "data": {"accumulate": 2, "augment": true},
                     "precision": "float64",
                     "algorithm": {"type": "dsgd", "order": "combine_while_adapt"}})")},
        {"BatchNorm on streams", spec_of(R"({"stacking": "streams", "replicas": 5,
                     "model": {"type": "cnn", "hidden": null, "width": 2},
                     "algorithm": "gradient_tracking", "optimizer": {"momentum": 0}})")},
        {"two ranks on streams", spec_of(R"({"stacking": "streams", "replicas": 5,
                     "model": {"type": "softmax_regression", "hidden": null}})"),
         2},
        {"together",
         spec_of(
             R"({"stacking": "batched", "model": {"type": "cnn", "hidden": null, "width": 2}})")},
        {"two ranks", spec_of(R"({"replicas": 5})"), 2},
        {"two ranks, several buckets",
         spec_of(R"({"model": {"hidden": [20, 150, 150, 150]}, "replicas": 4})"), 2},
    };
}

/// Whether a device would make its minibatches of images that lie there.
bool makes_batches(const Json& spec) {
    const Json& data = spec.at("data");
    return data.at("type") == "shapes" && data.value("resident", "auto") == "auto";
}

uint64_t seeds() {
    const char* const wanted = std::getenv("DBENCH_DEVICE_SEEDS");
    return wanted ? std::stoull(wanted) : 2;
}

/// Runs of ranks with a card each, some with several replicas.
std::vector<Case> cases_over_nccl() {
    const auto spec = [](const char* changes) {
        Json all = spec_of(R"({"model": {"type": "softmax_regression", "hidden": null}})");
        all.merge_patch(Json::parse(changes));
        return all;
    };
    const auto buckets = [](const char* changes) {
        Json all = spec_of(kBuckets);
        all.merge_patch(Json::parse(changes));
        return all;
    };
    return {
        {"AWC on a ring",
         spec(R"({"algorithm": {"type": "dsgd", "order": "combine_while_adapt"}})"), 3, true},
        {"ATC, profiled, several replicas a rank",
         spec(R"({"replicas": 5, "profile": {"norms": true, "variance": {"kind": "exact"}}})"), 2,
         true},
        {"one peer", spec(R"({"replicas": 4, "graph": "one_peer_exponential"})"), 4, true},
        {"all-reduce", spec(R"({"replicas": 4, "algorithm": "centralized"})"), 3, true},
        {"gradient tracking",
         spec(R"({"optimizer": {"momentum": 0}, "algorithm": "gradient_tracking"})"), 3, true},
        {"in 16 bits", spec(R"({"message": "bfloat16"})"), 2, true},
        {"ATC in several buckets", buckets(R"({"replicas": 4})"), 2, true},
        {"AWC in several buckets",
         buckets(R"({"algorithm": {"type": "dsgd", "order": "combine_while_adapt"}})"), 3, true},
        {"all-reduce in several buckets, in 16 bits",
         buckets(R"({"algorithm": "centralized", "message": "bfloat16"})"), 3, true},
    };
}

TEST_CASE("on queues a run records, evaluates and saves what it does on the host") {
    const Folder files;
    std::vector<Case> all = cases(files);
    for (Case& what : cases_over_nccl()) all.push_back(std::move(what));
    for (const Case& what : all) {
        INFO(what.title);
        const Folder folder;
        const Played host = play(what.on_host(), what.ranks, nullptr, 0, folder.path() / "host");
        REQUIRE(host.conflicts == std::set<std::string>());
        REQUIRE(host.outcome[0].size() > 10);
        for (uint64_t seed = 0; seed < seeds(); ++seed) {
            INFO("order " << seed);
            const Pace pace = seed % 2 == 0 ? Pace::late : Pace::random;
            const Played device = play(what.spec, what.ranks, &pace, seed,
                                       folder.path() / std::to_string(seed), "", what.over_nccl);
            CHECK(device.conflicts == std::set<std::string>());
            CHECK(device.chosen.resident.starts_with("on (") == makes_batches(what.spec));
            const bool same = device.outcome == host.outcome;
            CHECK(same);
        }
    }
}

TEST_CASE("a run goes on to the bit where another device has saved it") {
    const Folder folder;
    const Json spec = spec_of(R"({"model": {"type": "cnn", "hidden": null, "width": 2}})");
    const Pace pace = Pace::random;
    for (const bool begins_on_host : {true, false}) {
        const fs::path saved = folder.path() / (begins_on_host ? "host" : "device");
        const auto run = [&](bool on_host) {
            return play(spec, 1, on_host ? nullptr : &pace, 1, saved);
        };
        const Played whole = run(begins_on_host), rest = run(!begins_on_host);
        REQUIRE(whole.conflicts == std::set<std::string>());
        REQUIRE(rest.conflicts == std::set<std::string>());
        // From iteration 4 on: two iterations and the last evaluation, then what is saved.
        const auto& all = whole.outcome[0];
        const auto& end = rest.outcome[0];
        const size_t states = 5, tail = 3;
        REQUIRE(end.size() == states + tail);
        for (size_t k = 0; k < states + tail; ++k) {
            const bool same = end[k] == all[all.size() - states - tail + k];
            CHECK(same);
        }
    }
}

TEST_CASE("auto on a device measures every way that it has, and changes nothing by that") {
    const Folder folder;
    // Replicas drop out, each by draws of its own: no pass of all. What is carried stays zero.
    const Json spec = cases(folder)[2].spec;
    const Pace pace = Pace::random;
    const auto run = [&](const char* stacking) {
        Json changed = spec;
        changed["stacking"] = stacking;
        const Played played = play(changed, 1, &pace, 1, folder.path() / stacking);
        CHECK(played.conflicts == std::set<std::string>());
        return played;
    };
    const Played off = run("off"), any = run("auto");
    CHECK(off.chosen.stacking == "off");
    CHECK_THAT(any.chosen.stacking, Catch::Matchers::ContainsSubstring("ms on streams, "));
    CHECK_THAT(any.chosen.stacking, Catch::Matchers::EndsWith("ms one by one)"));
    const bool same = any.outcome == off.outcome;
    CHECK(same);
}

struct CapturedCase {
    const char* title;
    const char* spec;
    int64_t places;  // where parameters lie in turn
};

const CapturedCase kCaptured[] = {
    {"several rounds, a rate that changes",
     R"({"replicas": 4, "graph": "one_peer_exponential", "schedule": "cosine"})", 1},
    {"averaging meanwhile, a step that counts",
     R"({"algorithm": {"type": "dsgd", "order": "combine_while_adapt"}, "schedule": "cosine",
         "graph": "complete", "optimizer": {"type": "adam", "lr": 0.01, "momentum": null}})",
     2},
    {"BatchNorm, in parts, clipped",
     R"({"model": {"type": "cnn", "hidden": null, "width": 2}, "data": {"accumulate": 2},
         "optimizer": {"clip_norm": 0.5}, "algorithm": {"type": "local_sgd", "period": 2}})",
     1},
    {"buckets that are updated inside the pass", kBuckets, 1},
    {"a state beside the parameters",
     R"({"optimizer": {"momentum": 0}, "algorithm": "gradient_tracking",
         "length": {"iterations": 5}})",
     1},
};

TEST_CASE("captured passes give the bits of those that are launched anew, and of the host") {
    for (const CapturedCase& what : kCaptured) {
        INFO(what.title);
        Json spec = spec_of(what.spec);
        const int64_t replicas = spec.at("replicas");
        const Folder folder;
        const Played host = play(spec, 1, nullptr, 0, folder.path() / "host");
        REQUIRE(host.conflicts == std::set<std::string>());
        CHECK(host.captures == 0);
        for (const char* capture : {"on", "off"}) {
            spec["capture"] = capture;
            const Pace pace = Pace::random;
            const Played device = play(spec, 1, &pace, 3, folder.path() / capture);
            CHECK(device.conflicts == std::set<std::string>());
            CHECK(device.captures == (capture == std::string("on") ? replicas * what.places : 0));
            const bool same = device.outcome == host.outcome;
            CHECK(same);
        }
    }
}

TEST_CASE("what changes from pass to pass is put before a captured one") {
    const Folder files;
    const Case text = cases(files)[2];
    const Pace pace = Pace::late;
    const Folder folder;
    const Played whole = play(text.spec, 1, &pace, 1, folder.path() / "whole");
    CHECK(whole.captures == 3);
    for (const char* left_out : {"minibatch", "beginning of a pass", "captured gradient"}) {
        INFO(left_out);
        const Played part =
            play(text.spec, 1, &pace, 1, folder.path() / left_out, "", false, left_out);
        const bool same = part.outcome == whole.outcome;
        CHECK_FALSE(same);
    }
}

/// Whether a run without a wait goes wrong: it conflicts, says something else, or crashes, since
/// memory goes that a launch is yet to touch. So it has a process of its own.
bool goes_wrong(const Case& what, const Played& whole, const std::string& without) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        for (const int crash : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE}) std::signal(crash, SIG_DFL);
        if (!std::freopen("/dev/null", "w", stderr)) _exit(2);
        const Pace pace = Pace::late;
        bool right = false;
        {
            const Folder folder;
            const Played played = play(what.spec, what.ranks, &pace, 1, folder.path() / "run",
                                       without, what.over_nccl);
            right = played.conflicts.empty() && played.outcome == whole.outcome;
        }
        _exit(right ? 0 : 1);
    }
    int status = 0;
    REQUIRE(child > 0);
    REQUIRE(waitpid(child, &status, 0) == child);
    return status != 0;
}

TEST_CASE("each wait of the trainer is needed") {
    const std::set<std::string> waits = {"losses that are recorded",
                                         "state that is evaluated or saved",
                                         "the loss of a single gradient",
                                         "statistics of a batch",
                                         "parameters that a model is linearised at",
                                         "rows that are saved",
                                         "statistics that are pooled",
                                         "the mean model",
                                         "the mean model's statistics",
                                         "a part of a captured pass",
                                         "what left beside a captured pass",
                                         "the step before passes side by side",
                                         "passes side by side"};
    const Folder files;
    const Pace pace = Pace::late;
    std::set<std::string> met, needed;
    std::vector<Case> all = cases(files);
    all.push_back({"captured, in several buckets", spec_of(kBuckets)});
    for (const Case& what : all) {
        if (what.ranks > 1 || what.title == "profiled") continue;  // they wait for more than this
        const Folder folder;
        const Played whole = play(what.spec, 1, &pace, 1, folder.path() / "run");
        for (const std::string& why : whole.reasons) {
            if (!waits.contains(why)) continue;
            met.insert(why);
            if (!needed.contains(why) && goes_wrong(what, whole, why)) needed.insert(why);
        }
    }
    CHECK(met == waits);
    CHECK(needed == waits);
}

TEST_CASE("rows over NCCL are ordered before and after what is computed, by events") {
    const Pace pace = Pace::late;
    for (const Case& what : cases_over_nccl()) {
        std::vector<const char*> waits = {"rows that are exchanged", "rows that have come"};
        if (what.title == "ATC in several buckets") {
            waits.push_back("a part of a captured pass");
        } else if (what.title != "AWC on a ring") {
            continue;
        }
        const Folder folder;
        const Played whole = play(what.spec, what.ranks, &pace, 1, folder.path() / "run", "", true);
        CHECK(whole.captures > 0);
        CHECK(!whole.reasons.contains("what is sent"));  // the host does not wait for it
        for (const char* const why : waits) {
            INFO(what.title << ", " << why);
            CHECK(whole.reasons.contains(why));
            CHECK(goes_wrong(what, whole, why));
        }
    }
}

}  // namespace
}  // namespace dbench::train
