#pragma once
// Checkpoints: the state table of every replica and where the run stands, from which it continues
// to the bit. A generation is a folder, one part per rank and a manifest; it appears under its name
// only when it is whole and on the disk.
//
//     OUTPUT.checkpoints/<iterations completed>/{manifest.json, part-<rank>.bin}
//     OUTPUT.checkpoints/lock
//
// What else somebody has put there is left alone.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "arena/state.hpp"
#include "base/file_lock.hpp"
#include "comm/placement.hpp"
#include "comm/world/world.hpp"

namespace dbench::train {

/// What a checkpoint says of itself; the same on all ranks.
struct CheckpointHead {
    int64_t iteration = 0;   ///< completed
    std::string spec;        ///< resolved, JSON
    std::string controller;  ///< graphs::Staged::save(); empty without one
    int64_t replicas = 0;    ///< whose states it holds
    double elapsed = 0;      ///< seconds that the run had taken, over restarts
    std::string device;      ///< of rank 0, as Device::name() has it; empty where not known
};

/// Where a run goes on with another number of replicas: refused; every replica starts as a copy of
/// an earlier one (more replicas); or as the mean of several (fewer). Both keep the mean over
/// replicas where one number divides the other.
enum class OtherReplicas { refuse, clone, merge };

class Checkpoints {
public:
    /// `folder` is made when the first one is written. Keeps the newest `keep` >= 1 generations.
    Checkpoints(comm::World& world, const comm::Placement& placement, std::string folder,
                int64_t keep, OtherReplicas others = OtherReplicas::refuse);

    const std::string& folder() const { return folder_; }

    /// Collective. Throws RunError on all ranks where any could not write its part; earlier
    /// generations are untouched then.
    void write(const CheckpointHead& head, const arena::StateTable& state);

    /// The newest generation whose parts are whole; damaged ones are warned of and passed over.
    /// Empty where there is none at all. Collective. Throws UserError where all are damaged, or
    /// where it is of a number of replicas that may not become this run's.
    std::optional<CheckpointHead> newest();

    /// Fills the table from that generation, however its replicas were dealt over ranks: of n'
    /// earlier replicas, replica i of n gets floor(i n'/n), or the mean from there up to before
    /// floor((i+1) n'/n). Collective. Throws RunError on all ranks where the table does not fit.
    void read(int64_t iteration, arena::StateTable& state);

    /// Whether the folder holds generations, finished or not.
    bool any() const;
    /// Keeps other runs out of the folder, if there is one, until this process ends. Rank 0 alone;
    /// throws UserError where another run has done so.
    void claim();
    /// Removes all generations (a run begins anew), and the folder where nothing else is in it.
    /// Rank 0 alone acts.
    void clear();

private:
    struct Manifest;
    std::string path_of(int64_t iteration) const;
    std::string try_manifest(int64_t iteration, Manifest& manifest) const;
    std::string check_parts(const Manifest& manifest) const;
    void remove_others(int64_t written) const;
    std::string refusal(int64_t replicas) const;

    comm::World& world_;
    comm::Placement placement_;
    std::string folder_;
    int64_t keep_;
    OtherReplicas others_;
    base::FileLock lock_;
};

}  // namespace dbench::train
