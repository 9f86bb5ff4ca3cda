#include "train/checkpoints/checkpoint.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "train/checkpoints/checkpoint_folder.hpp"
#include "train/checkpoints/checkpoint_part.hpp"
#include "train/checkpoints/state_restorer.hpp"

namespace dbench::train {
namespace fs = std::filesystem;
namespace {

using base::Json;
using base::RunError;

constexpr int64_t kVersion = 1;

}  // namespace

struct Checkpoints::Manifest {
    CheckpointHead head;
    int64_t ranks = 0;

    std::string text() const {
        const Json json{{"version", kVersion},       {"iteration", head.iteration},
                        {"replicas", head.replicas}, {"ranks", ranks},
                        {"spec", head.spec},         {"controller", head.controller},
                        {"elapsed", head.elapsed},   {"device", head.device},
                        {"inputs", head.inputs}};
        const std::string inside = json.dump();
        return Json{{"manifest", inside}, {"checksum", checksum(inside.data(), inside.size())}}
            .dump();
    }
    static Manifest parse(const std::string& text) {
        const Json outside = Json::parse(text);
        const std::string inside = outside.at("manifest");
        if (checksum(inside.data(), inside.size()) != outside.at("checksum").get<uint32_t>()) {
            throw RunError("its manifest is damaged");
        }
        const Json json = Json::parse(inside);
        if (json.at("version") != kVersion)
            throw RunError("another version of dbench has written it");
        Manifest m;
        m.head = {json.at("iteration"),       json.at("spec"),
                  json.at("controller"),      json.at("replicas"),
                  json.value("elapsed", 0.0), json.value("device", ""),
                  json.value("inputs", "")};
        m.ranks = json.at("ranks");
        return m;
    }
};

Checkpoints::Checkpoints(comm::World& world, const comm::Placement& placement, std::string folder,
                         int64_t keep, ReplicaCountChange others)
    : world_(world),
      placement_(placement),
      folder_(std::move(folder)),
      keep_(keep),
      others_(others) {}

std::string Checkpoints::path_of(int64_t iteration) const {
    return (fs::path(folder_) / std::to_string(iteration)).string();
}

/// Removes all generations except the `keep_` newest ones up to iteration `written`. Later
/// generations are removed too: they were damaged and skipped when the run went on, and would
/// otherwise be taken for newer ones.
void Checkpoints::remove_old(int64_t written) const {
    int64_t kept = 0;
    for (const int64_t iteration : generations(folder_)) {
        if (iteration <= written && kept++ < keep_) continue;
        remove_generation(path_of(iteration));
    }
    for (const std::string& path : unfinished(folder_)) remove_generation(path);
}

void Checkpoints::write(const CheckpointHead& head, const arena::StateTable& state) {
    const std::string place = path_of(head.iteration), partial = place + kPartial;
    const auto everywhere = [&](const auto& work) {
        std::string problem;
        try {
            work();
        } catch (const std::exception& error) {
            problem = error.what();
        }
        world_.agree(problem, false);
    };
    try {
        everywhere([&] {
            if (world_.rank() != 0) return;
            std::error_code error;
            fs::create_directories(folder_, error);
            claim();
            remove_generation(partial);
            fs::create_directories(partial, error);
            if (error) throw RunError("the checkpoint " + partial + ": " + error.message());
        });
        everywhere([&] {
            const int rank = world_.rank();
            write_part((fs::path(partial) / part_name(rank)).string(), placement_.begin(rank),
                       placement_.count(rank), state, world_.place().compute());
        });
        everywhere([&] {
            if (world_.rank() != 0) return;
            Manifest manifest;
            manifest.head = head;
            manifest.head.replicas = placement_.replicas;
            manifest.head.inputs = inputs_;
            manifest.ranks = world_.size();
            base::write_synced("the checkpoint", (fs::path(partial) / kManifest).string(),
                               manifest.text());
            base::sync_folder(partial);
            replace_generation(partial, place);
            base::sync_folder(folder_);
            remove_old(head.iteration);
        });
    } catch (...) {
        if (world_.rank() == 0) remove_generation(partial);
        throw;
    }
}

/// Reads the manifest. Returns why it cannot be used; "" if it can.
std::string Checkpoints::try_manifest(int64_t iteration, Manifest& manifest) const {
    try {
        const std::string path = (fs::path(path_of(iteration)) / kManifest).string();
        if (const std::string why = base::why_not_regular_file(path); !why.empty()) return why;
        std::ifstream file(path, std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        if (!file) return "it has no manifest";
        manifest = Manifest::parse(text);
        return "";
    } catch (const std::exception& error) {
        return error.what();
    }
}

/// Reads all rows that this rank needs. Returns what is wrong with them; "" if they are valid.
std::string Checkpoints::check_parts(const Manifest& manifest) const {
    try {
        const auto [begin, end] =
            sources(placement_.begin(world_.rank()), placement_.begin(world_.rank() + 1),
                    placement_.replicas, manifest.head.replicas);
        int64_t seen = 0;
        const comm::Placement earlier{manifest.head.replicas, static_cast<int>(manifest.ranks)};
        for (int rank = 0; rank < earlier.ranks; ++rank) {
            if (earlier.begin(rank + 1) <= begin || earlier.begin(rank) >= end) continue;
            read_part((fs::path(path_of(manifest.head.iteration)) / part_name(rank)).string(),
                      begin, end,
                      [&](const std::string& name, int64_t replica, const std::string&) {
                          seen += replica >= 0 && name == "parameters";
                      });
        }
        return seen == end - begin ? "" : "replicas are missing";
    } catch (const std::exception& error) {
        return error.what();
    }
}

/// Returns why this run cannot continue from `earlier_replicas` replicas; "" if it can.
std::string Checkpoints::refusal(int64_t earlier_replicas) const {
    const int64_t replicas = placement_.replicas;
    if (replicas == earlier_replicas) return "";
    if (others_ ==
        (replicas > earlier_replicas ? ReplicaCountChange::clone : ReplicaCountChange::merge))
        return "";
    return " holds " + std::to_string(earlier_replicas) + " replicas, but the spec has " +
           std::to_string(replicas) + ": set /replicas back, or /checkpoint/replicas to \"" +
           (replicas > earlier_replicas ? "clone" : "merge") + "\", or begin anew with --overwrite";
}

std::optional<CheckpointHead> Checkpoints::newest() {
    if (world_.rank() == 0 && holds_replaced(folder_)) take_lock();
    // All ranks try the generations of rank 0's list.
    std::string list = Json(generations(folder_)).dump();
    world_.broadcast(list);
    const auto found = Json::parse(list).get<std::vector<int64_t>>();
    for (const int64_t iteration : found) {
        Manifest manifest;
        std::string problem = try_manifest(iteration, manifest);
        const std::string no = problem.empty() ? refusal(manifest.head.replicas) : "";
        world_.agree(no.empty() ? "" : path_of(iteration) + no, true);
        if (problem.empty()) problem = check_parts(manifest);
        std::vector<double> damaged{problem.empty() ? 0.0 : 1.0};
        world_.sum(damaged);
        if (damaged[0] == 0) return manifest.head;
        if (problem.empty()) problem = "another rank found it damaged";
        base::warn("the checkpoint " + path_of(iteration) + " is skipped: " + problem);
    }
    world_.agree(
        found.empty()
            ? ""
            : "--resume: no checkpoint in " + folder_ +
                  " is complete and intact: restore a copy, or begin anew with --overwrite",
        true);
    return std::nullopt;
}

void Checkpoints::read(int64_t iteration, arena::StateTable& state) {
    std::string problem;
    try {
        Manifest manifest;
        if (problem = try_manifest(iteration, manifest); !problem.empty()) throw RunError(problem);
        const comm::Placement earlier{manifest.head.replicas, static_cast<int>(manifest.ranks)};
        StateRestorer restorer(state, world_.place().compute(), placement_.begin(world_.rank()),
                               placement_.begin(world_.rank() + 1), placement_.replicas,
                               earlier.replicas);
        const auto [begin, end] = restorer.sources();
        for (int rank = 0; rank < earlier.ranks; ++rank) {
            if (earlier.begin(rank + 1) <= begin || earlier.begin(rank) >= end) continue;
            read_part((fs::path(path_of(iteration)) / part_name(rank)).string(), begin, end,
                      [&](const std::string& name, int64_t replica, const std::string& bytes) {
                          restorer.take(name, replica, bytes);
                      });
        }
        restorer.finish();
    } catch (const std::exception& error) {
        problem = "the checkpoint " + path_of(iteration) + ": " + error.what();
    }
    world_.agree(problem, false);
}

bool Checkpoints::any() const {
    return !generations(folder_).empty() || !unfinished(folder_).empty();
}

/// Returns false if another run holds the folder. If this run holds it, repairs what a kill left.
bool Checkpoints::take_lock() {
    if (!lock_.take((fs::path(folder_) / kLock).string())) return false;
    restore_replaced(folder_);
    return true;
}

void Checkpoints::claim() {
    std::error_code ignored;
    if (!fs::is_directory(folder_, ignored)) return;
    if (take_lock()) return;
    throw base::UserError("another run holds the checkpoints in " + folder_ +
                          ": wait for its end, or choose another /output or --output");
}

void Checkpoints::clear() {
    if (world_.rank() == 0) {
        for (const int64_t iteration : generations(folder_)) remove_generation(path_of(iteration));
        for (const std::string& path : unfinished(folder_)) remove_generation(path);
        if (holds_only_lock(folder_)) {
            std::error_code ignored;
            fs::remove(fs::path(folder_) / kLock, ignored);
            fs::remove(folder_, ignored);
            lock_.release();
        }
    }
    world_.barrier();
}

}  // namespace dbench::train
