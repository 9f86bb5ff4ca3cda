// Runs whose LibTorch work and kernels are launched on a device's queues: what they record,
// evaluate and save is the host's to the bit, in every order that the queues and waits allow, and
// each wait of the trainer is needed. DBENCH_DEVICE_SEEDS says how many orders are tried (2);
// DBENCH_DEVICE_STUMBLES lets threads meet in more of them.

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
};

/// As the host, which has no streams, would run it.
Json on_host(Json spec) {
    if (spec.value("stacking", "") == "streams") spec.erase("stacking");
    return spec;
}

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
        {"minibatches that come beside the pass before",
         spec_of(R"({"model": {"type": "softmax_regression", "hidden": null},
                     "data": {"batch_size": 24, "train": 96, "resident": "off"}})")},
        {"the same of all replicas",
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
    // Along the tree, for the host's bits: between cards a library would be asked.
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

TEST_CASE("on queues a run records, evaluates and saves what it does on the host") {
    const Folder files;
    std::vector<Case> all = cases(files);
    for (Case& what : cases_over_nccl()) all.push_back(std::move(what));
    for (const Case& what : all) {
        INFO(what.title);
        const Folder folder;
        const Played host =
            play(on_host(what.spec), what.ranks, nullptr, 0, folder.path() / "host");
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

TEST_CASE("a loss that is not finite stops a run, on a device some iterations later") {
    const Folder folder;
    const Json spec = spec_of(R"({"optimizer": {"lr": 1e30}, "nonfinite": "stop"})");
    const auto stops = [&](const Pace* pace, const std::string& saved) {
        const Played played = play(spec, 1, pace, 0, folder.path() / saved);
        REQUIRE(played.conflicts.size() == 1);
        return *played.conflicts.begin();
    };
    const Pace pace = Pace::late;
    const std::string host = stops(nullptr, "host"), device = stops(&pace, "device");
    CHECK(host.ends_with("/nonfinite says stop"));
    CHECK(device == host + ", noticed up to 2 iterations later: the device's losses come behind");
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
    int64_t captures;
};

const CapturedCase kCaptured[] = {
    {"several rounds, a rate that changes",
     R"({"replicas": 4, "graph": "one_peer_exponential", "schedule": "cosine"})", 4},
    {"averaging meanwhile, a step that counts",
     R"({"algorithm": {"type": "dsgd", "order": "combine_while_adapt"}, "schedule": "cosine",
         "graph": "complete", "optimizer": {"type": "adam", "lr": 0.01, "momentum": null}})",
     6},
    {"BatchNorm, in parts, clipped",
     R"({"model": {"type": "cnn", "hidden": null, "width": 2}, "data": {"accumulate": 2},
         "optimizer": {"clip_norm": 0.5}, "algorithm": {"type": "local_sgd", "period": 2}})",
     3},
    {"buckets that are updated inside the pass", kBuckets, 3},
    {"a state beside the parameters",
     R"({"optimizer": {"momentum": 0}, "algorithm": "gradient_tracking",
         "length": {"iterations": 5}})",
     3},
    {"all in one, averaging meanwhile",
     R"({"stacking": "batched", "model": {"type": "cnn", "hidden": null, "width": 2},
         "algorithm": {"type": "dsgd", "order": "combine_while_adapt"}})",
     2},
    {"all in one, buckets that are updated inside the pass",
     R"({"stacking": "batched", "model": {"hidden": [20, 150, 150, 150]}})", 1},
    {"side by side, in parts",
     R"({"stacking": "streams", "replicas": 4, "data": {"accumulate": 2},
         "model": {"type": "cnn", "hidden": null, "width": 2}})",
     4},
    {"side by side, buckets that are updated inside the last pass",
     R"({"stacking": "streams", "replicas": 4, "model": {"hidden": [20, 150, 150, 150]}})", 4},
};

TEST_CASE("captured passes give the bits of those that are launched anew, and of the host") {
    for (const CapturedCase& what : kCaptured) {
        INFO(what.title);
        Json spec = spec_of(what.spec);
        const Folder folder;
        const Played host = play(on_host(spec), 1, nullptr, 0, folder.path() / "host");
        REQUIRE(host.conflicts == std::set<std::string>());
        CHECK(host.captures == 0);
        for (const char* capture : {"on", "off"}) {
            spec["capture"] = capture;
            const Pace pace = Pace::random;
            const Played device = play(spec, 1, &pace, 3, folder.path() / capture);
            CHECK(device.conflicts == std::set<std::string>());
            CHECK(device.captures == (capture == std::string("on") ? what.captures : 0));
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
                                         "passes side by side",
                                         "a minibatch on its way",
                                         "a pass over the minibatch before"};
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
}  // namespace dbench::train::tests
