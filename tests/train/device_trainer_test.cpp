// Runs whose LibTorch work and kernels are launched on a device's queues. They record, evaluate and
// save the same bits as the host, in every order that the queues and waits allow, and each wait of
// the trainer is necessary. DBENCH_DEVICE_SEEDS is the number of orders (default 2);
// DBENCH_DEVICE_STUMBLES adds random delays of threads.

#include <sys/wait.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "catch.hpp"
#include "train/device_runs.hpp"

namespace dbench::train::tests {
namespace {

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

/// A model whose gradient has several buckets.
constexpr const char* kBuckets = R"({"model": {"hidden": [20, 150, 150, 150]}})";

/// Writes a text whose bytes a model predicts.
std::string text_file(const Folder& folder) {
    const fs::path path = folder.path() / "text";
    std::ofstream file(path, std::ios::binary);
    for (int k = 0; k < 900; ++k) file << static_cast<char>('a' + (k * k + k / 7) % 23);
    return path.string();
}

struct DeviceTrainerCase {
    std::string title;
    Json spec;
    int ranks = 1;
    bool over_nccl = false;
};

/// Returns the spec in the form for the host, which has no streams.
Json on_host(Json spec) {
    if (spec.value("stacking", "") == "streams") spec.erase("stacking");
    return spec;
}

std::vector<DeviceTrainerCase> cases(const Folder& files) {
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
        {"BatchNorm, recalibrated",
         spec_of(R"({"model": {"type": "cnn", "hidden": null, "width": 2},
                     "evaluate": {"batchnorm": "recalibrate"}, "data": {"augment": true},
                     "algorithm": {"type": "dsgd", "order": "combine_while_adapt"}})")},
        {"dropout and carried state", text},
        {"minibatches uploaded during the pass before",
         spec_of(R"({"model": {"type": "softmax_regression", "hidden": null},
                     "data": {"batch_size": 24, "train": 96, "resident": "off"}})")},
        {"the same, all replicas in one pass",
         spec_of(R"({"stacking": "batched", "replicas": 2, "graph": "complete",
                     "model": {"type": "softmax_regression", "hidden": null},
                     "data": {"batch_size": 12, "train": 96, "resident": "off"}})")},
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
        {"all in one pass",
         spec_of(
             R"({"stacking": "batched", "model": {"type": "cnn", "hidden": null, "width": 2}})")},
        {"two ranks", spec_of(R"({"replicas": 5})"), 2},
        {"two ranks, several buckets",
         spec_of(R"({"model": {"hidden": [20, 150, 150, 150]}, "replicas": 4})"), 2},
    };
}

/// True if a device would gather the minibatches from images that it stores.
bool makes_batches(const Json& spec) {
    const Json& data = spec.at("data");
    return data.at("type") == "shapes" && data.value("resident", "auto") == "auto";
}

uint64_t seeds() {
    const char* const wanted = std::getenv("DBENCH_DEVICE_SEEDS");
    return wanted ? std::stoull(wanted) : 2;
}

/// Runs of ranks with a GPU each, some with several replicas.
std::vector<DeviceTrainerCase> cases_over_nccl() {
    // Reductions along the tree give the host's bits; with GPUs the default is a library's
    // reduction.
    const auto changed = [](Json all, const char* changes) {
        all["reduction"] = "reproducible";
        all.merge_patch(Json::parse(changes));
        return all;
    };
    const auto spec = [&](const char* changes) {
        return changed(spec_of(R"({"model": {"type": "softmax_regression", "hidden": null}})"),
                       changes);
    };
    const auto buckets = [&](const char* changes) { return changed(spec_of(kBuckets), changes); };
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

TEST_CASE("A run on queues records, evaluates and saves the same as on the host") {
    const Folder files;
    std::vector<DeviceTrainerCase> all = cases(files);
    for (DeviceTrainerCase& what : cases_over_nccl()) all.push_back(std::move(what));
    for (const DeviceTrainerCase& what : all) {
        INFO(what.title);
        const Folder folder;
        const RunResult host =
            play(on_host(what.spec), what.ranks, nullptr, 0, folder.path() / "host");
        REQUIRE(host.conflicts == std::set<std::string>());
        REQUIRE(host.outcome[0].size() > 10);
        for (uint64_t seed = 0; seed < seeds(); ++seed) {
            INFO("order " << seed);
            const Pace pace = seed % 2 == 0 ? Pace::late : Pace::random;
            const RunResult device = play(what.spec, what.ranks, &pace, seed,
                                          folder.path() / std::to_string(seed), "", what.over_nccl);
            CHECK(device.conflicts == std::set<std::string>());
            CHECK(device.chosen.resident.starts_with("on (") == makes_batches(what.spec));
            const bool same = device.outcome == host.outcome;
            CHECK(same);
        }
    }
}

TEST_CASE("A loss that is not finite stops a run, on a device up to two iterations later") {
    const Folder folder;
    const Json spec = spec_of(R"({"optimizer": {"lr": 1e30}, "nonfinite": "stop"})");
    const auto stops = [&](const Pace* pace, const std::string& saved) {
        const RunResult played = play(spec, 1, pace, 0, folder.path() / saved);
        REQUIRE(played.conflicts.size() == 1);
        return *played.conflicts.begin();
    };
    const Pace pace = Pace::late;
    const std::string host = stops(nullptr, "host"), device = stops(&pace, "device");
    CHECK(host.ends_with("/nonfinite says stop"));
    CHECK(device == host + ", noticed up to 2 iterations later: the device's losses arrive late");
}

TEST_CASE("A run continues to the same bits from a checkpoint of another device") {
    const Folder folder;
    const Json spec = spec_of(R"({"model": {"type": "cnn", "hidden": null, "width": 2}})");
    const Pace pace = Pace::random;
    for (const bool begins_on_host : {true, false}) {
        const fs::path saved = folder.path() / (begins_on_host ? "host" : "device");
        const auto run = [&](bool on_host) {
            return play(spec, 1, on_host ? nullptr : &pace, 1, saved);
        };
        const RunResult whole = run(begins_on_host), rest = run(!begins_on_host);
        REQUIRE(whole.conflicts == std::set<std::string>());
        REQUIRE(rest.conflicts == std::set<std::string>());
        // From iteration 4 on: two iterations and the last evaluation, then the saved state.
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

TEST_CASE("auto on a device measures every possible way, and changes nothing else") {
    const Folder folder;
    // Dropout prevents the single pass of all replicas.
    const Json spec = cases(folder)[2].spec;
    const Pace pace = Pace::random;
    const auto run = [&](const char* stacking) {
        Json changed = spec;
        changed["stacking"] = stacking;
        const RunResult played = play(changed, 1, &pace, 1, folder.path() / stacking);
        CHECK(played.conflicts == std::set<std::string>());
        return played;
    };
    const RunResult off = run("off"), any = run("auto");
    CHECK(off.chosen.stacking == "off");
    CHECK_THAT(any.chosen.stacking, Catch::Matchers::ContainsSubstring("ms on streams, "));
    CHECK_THAT(any.chosen.stacking, Catch::Matchers::EndsWith("ms one by one)"));
    const bool same = any.outcome == off.outcome;
    CHECK(same);
}

struct CapturedCase {
    const char* title;
    const char* spec;
    int64_t captures;
};

const CapturedCase kCaptured[] = {
    {"several rounds, a changing learning rate",
     R"({"replicas": 4, "graph": "one_peer_exponential", "schedule": "cosine"})", 4},
    {"combine_while_adapt, Adam",
     R"({"algorithm": {"type": "dsgd", "order": "combine_while_adapt"}, "schedule": "cosine",
         "graph": "complete", "optimizer": {"type": "adam", "lr": 0.01, "momentum": null}})",
     6},
    {"BatchNorm, in parts, clipped",
     R"({"model": {"type": "cnn", "hidden": null, "width": 2}, "data": {"accumulate": 2},
         "optimizer": {"clip_norm": 0.5}, "algorithm": {"type": "local_sgd", "period": 2}})",
     3},
    {"buckets that are updated inside the pass", kBuckets, 3},
    {"state in addition to the parameters",
     R"({"optimizer": {"momentum": 0}, "algorithm": "gradient_tracking",
         "length": {"iterations": 5}})",
     3},
    {"all in one pass, combine_while_adapt",
     R"({"stacking": "batched", "model": {"type": "cnn", "hidden": null, "width": 2},
         "algorithm": {"type": "dsgd", "order": "combine_while_adapt"}})",
     2},
    {"all in one pass, buckets that are updated inside the pass",
     R"({"stacking": "batched", "model": {"hidden": [20, 150, 150, 150]}})", 1},
    {"on streams, in parts",
     R"({"stacking": "streams", "replicas": 4, "data": {"accumulate": 2},
         "model": {"type": "cnn", "hidden": null, "width": 2}})",
     4},
    {"on streams, buckets that are updated inside the last pass",
     R"({"stacking": "streams", "replicas": 4, "model": {"hidden": [20, 150, 150, 150]}})", 4},
};

TEST_CASE("Captured passes give the same bits as passes without capture, and as the host") {
    for (const CapturedCase& what : kCaptured) {
        INFO(what.title);
        Json spec = spec_of(what.spec);
        const Folder folder;
        const RunResult host = play(on_host(spec), 1, nullptr, 0, folder.path() / "host");
        REQUIRE(host.conflicts == std::set<std::string>());
        CHECK(host.captures == 0);
        for (const char* capture : {"on", "off"}) {
            spec["capture"] = capture;
            const Pace pace = Pace::random;
            const RunResult device = play(spec, 1, &pace, 3, folder.path() / capture);
            CHECK(device.conflicts == std::set<std::string>());
            CHECK(device.captures == (capture == std::string("on") ? what.captures : 0));
            const bool same = device.outcome == host.outcome;
            CHECK(same);
        }
    }
}

TEST_CASE("All that changes from pass to pass is launched before a captured pass") {
    const Folder files;
    const DeviceTrainerCase text = cases(files)[2];
    const Pace pace = Pace::late;
    const Folder folder;
    const RunResult whole = play(text.spec, 1, &pace, 1, folder.path() / "whole");
    CHECK(whole.captures == 3);
    for (const char* left_out : {"minibatch", "beginning of a pass", "captured gradient"}) {
        INFO(left_out);
        const RunResult part =
            play(text.spec, 1, &pace, 1, folder.path() / left_out, "", false, left_out);
        const bool same = part.outcome == whole.outcome;
        CHECK_FALSE(same);
    }
}

/// True if a run without the wait `without` goes wrong: it conflicts, has other results, or
/// crashes, because memory is freed before a launch touches it. The run therefore has a process of
/// its own.
bool fails_without(const DeviceTrainerCase& what, const RunResult& whole,
                   const std::string& without) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        for (const int crash : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE}) std::signal(crash, SIG_DFL);
        if (!std::freopen("/dev/null", "w", stderr)) _exit(2);
        const Pace pace = Pace::late;
        bool right = false;
        {
            const Folder folder;
            const RunResult played = play(what.spec, what.ranks, &pace, 1, folder.path() / "run",
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

TEST_CASE("Each wait of the trainer is necessary") {
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
                                         "the side queue of a captured pass",
                                         "the step before concurrent passes",
                                         "concurrent passes",
                                         "a minibatch that is uploaded",
                                         "the pass over an earlier minibatch"};
    const Folder files;
    const Pace pace = Pace::late;
    std::set<std::string> met, needed;
    std::vector<DeviceTrainerCase> all = cases(files);
    all.push_back({"captured, in several buckets", spec_of(kBuckets)});
    for (const DeviceTrainerCase& what : all) {
        if (what.ranks > 1 || what.title == "profiled") continue;  // these have other waits too
        const Folder folder;
        const RunResult whole = play(what.spec, 1, &pace, 1, folder.path() / "run");
        for (const std::string& why : whole.reasons) {
            if (!waits.contains(why)) continue;
            met.insert(why);
            if (!needed.contains(why) && fails_without(what, whole, why)) needed.insert(why);
        }
    }
    CHECK(met == waits);
    CHECK(needed == waits);
}

TEST_CASE("Events order rows over NCCL before and after computations") {
    const Pace pace = Pace::late;
    for (const DeviceTrainerCase& what : cases_over_nccl()) {
        std::vector<const char*> waits = {"rows that are exchanged", "rows that have come"};
        if (what.title == "ATC in several buckets") {
            waits.push_back("a part of a captured pass");
        } else if (what.title != "AWC on a ring") {
            continue;
        }
        const Folder folder;
        const RunResult whole =
            play(what.spec, what.ranks, &pace, 1, folder.path() / "run", "", true);
        CHECK(whole.captures > 0);
        CHECK(!whole.reasons.contains("data to send"));  // the host does not wait for it
        for (const char* const why : waits) {
            INFO(what.title << ", " << why);
            CHECK(whole.reasons.contains(why));
            CHECK(fails_without(what, whole, why));
        }
    }
}

}  // namespace
}  // namespace dbench::train::tests
