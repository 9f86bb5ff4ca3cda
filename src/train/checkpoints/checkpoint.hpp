#pragma once
// The folder `checkpoints`: saves and restores the state table (arena/state.hpp) and the position
// of a run, so that the run continues to the same bits. A checkpoint is a folder, called a
// generation, with one part per rank and a manifest. It gets its final name only when all its files
// are complete and on the disk.
//
//     OUTPUT.checkpoints/<iterations completed>/{manifest.json, part-<rank>.bin}
//     OUTPUT.checkpoints/lock
//
// Order of events in write(): rank 0 makes the folder with the suffix ".partial"; all ranks write
// their parts (checkpoint_part.hpp); rank 0 writes the manifest, renames the folder and removes old
// generations (checkpoint_folder.hpp). A run that resumes calls newest() and then read(), which
// fills the table even if the number of ranks or replicas has changed (state_restorer.hpp). Files
// that other programs have put into the folder are left alone.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arena/state.hpp"
#include "base/file_lock.hpp"
#include "comm/placement.hpp"
#include "comm/world/world.hpp"

namespace dbench::train {

/// The description of a checkpoint in its manifest; the same on all ranks.
struct CheckpointHead {
    int64_t iteration = 0;   ///< iterations completed
    std::string spec;        ///< the resolved spec, as JSON
    std::string controller;  ///< graphs::StagedSchedule::save(); empty without a controller
    int64_t replicas = 0;    ///< number of replicas in the checkpoint
    double elapsed = 0;      ///< seconds that the run had taken, over all restarts
    std::string device;      ///< Device::name() of rank 0; empty if unknown
    std::string inputs;      ///< digests of the data and files that the run reads; empty if unknown
};

/// The handling of a run that resumes with another number of replicas. `refuse`: an error. `clone`
/// (more replicas): every replica starts as a copy of an earlier one. `merge` (fewer replicas):
/// every replica starts as the mean of several earlier ones. Clone and merge keep the mean over
/// replicas if one number divides the other.
enum class ReplicaCountChange { refuse, clone, merge };

/// The checkpoints of one run. Collective methods say so; all others may be called by one rank.
class Checkpoints {
public:
    /// The first write() makes `folder`. write() keeps the newest `keep` >= 1 generations.
    Checkpoints(comm::World& world, const comm::Placement& placement, std::string folder,
                int64_t keep, ReplicaCountChange others = ReplicaCountChange::refuse);

    const std::string& folder() const { return folder_; }
    /// Sets CheckpointHead::inputs of all generations that write() makes.
    void record_inputs(std::string inputs) { inputs_ = std::move(inputs); }

    /// Writes a generation. Collective. Throws RunError on all ranks if any rank cannot write its
    /// part; earlier generations are not modified then.
    void write(const CheckpointHead& head, const arena::StateTable& state);

    /// Returns the head of the newest generation whose parts are intact, and warns of each damaged
    /// generation that it skips. Returns none if there is no generation. Collective. Throws
    /// UserError if all generations are damaged, or if the number of replicas has changed and
    /// `others` does not allow the change.
    std::optional<CheckpointHead> newest();

    /// Fills the table from the generation of `iteration`, for any number of ranks in both runs.
    /// With n' earlier replicas and n replicas now, replica i starts from the mean of the earlier
    /// replicas floor(i n'/n) up to but not including floor((i+1) n'/n), or from floor(i n'/n)
    /// alone if that range is empty. Collective. Throws RunError on all ranks if the generation
    /// does not fit the table.
    void read(int64_t iteration, arena::StateTable& state);

    /// True if the folder contains generations, complete or not.
    bool any() const;
    /// Locks the folder against other runs, if it exists, until this process ends. Only rank 0 may
    /// call it. Throws UserError if another run holds the lock.
    void claim();
    /// Removes all generations, because a run starts from the beginning, and the folder if nothing
    /// else is in it. Collective; rank 0 acts.
    void clear();

private:
    struct Manifest;
    std::string path_of(int64_t iteration) const;
    std::string try_manifest(int64_t iteration, Manifest& manifest) const;
    std::string check_parts(const Manifest& manifest) const;
    void remove_old(int64_t written) const;
    std::string refusal(int64_t earlier_replicas) const;
    bool take_lock();

    comm::World& world_;
    comm::Placement placement_;
    std::string folder_, inputs_;
    int64_t keep_;
    ReplicaCountChange others_;
    base::FileLock lock_;
};

}  // namespace dbench::train
