#pragma once
// Resuming a run (--resume): checks its earlier result file and finds its checkpoint.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "comm/world/world.hpp"
#include "program/prepare_run.hpp"
#include "train/checkpoints/checkpoint.hpp"

namespace dbench::program {

/// Returns the entries of a resolved spec, as JSON pointers, that may change while the run stays
/// the same run: --resume ignores them, and so does scripts/slurm/sweep when it looks for the
/// result.
std::vector<std::string> entries_free_to_change(const base::Json& spec);

/// True if the run continues on another kind of device than `earlier`, the name of the device that
/// it used before. The host's name in front of a device's name is ignored. False if `earlier` is
/// empty (unknown).
bool is_other_device(const std::string& earlier, const PreparedRun& s);

/// The result file of the run that is resumed.
struct EarlierResult {
    std::string status;      ///< "" if there is no file; the same on all ranks
    std::string provenance;  ///< JSON; on rank 0 only
    int64_t replicas = 0;    ///< On rank 0 only.
};

/// Reads the result file at the run's output path. Used with --resume. Collective; throws UserError
/// if the file cannot be read or belongs to another spec.
EarlierResult examine_output(comm::World& world, const PreparedRun& s);

/// Returns the newest checkpoint, or nothing if there is none. `status` is that of
/// its result file. Collective; throws UserError if the checkpoint does not fit the spec or the
/// result file is missing.
std::optional<train::CheckpointHead> find_checkpoint(comm::World& world, const PreparedRun& s,
                                                     train::Checkpoints& checkpoints,
                                                     const std::string& status);

/// Compares what the run reads with what the earlier run had read at the checkpoint `head`, or
/// according to its complete result file. Returns the differences in words; "" if there are none.
/// Fills s.earlier_inputs. Collective; throws UserError if there are differences and the arguments
/// do not accept them.
std::string require_recorded_inputs(comm::World& world, const RunArguments& arguments,
                                    const EarlierResult& earlier,
                                    const std::optional<train::CheckpointHead>& head,
                                    PreparedRun& s);

/// Returns why a run that starts anew may not use its checkpoint folder: it holds checkpoints whose
/// result file is missing. Returns "" if it does not.
std::string lost_result_obstacle(const PreparedRun& s, const train::Checkpoints& checkpoints);

/// Locks the checkpoint folder against other runs. Collective; throws UserError if another run
/// holds it, or if a new run would remove checkpoints whose result file is missing (--overwrite
/// allows this).
void claim_checkpoints(comm::World& world, const RunArguments& arguments, const PreparedRun& s,
                       train::Checkpoints& checkpoints);

/// Copies the result file to `output`.until-<iteration>.h5 before a run continues with another
/// number of replicas: the new file does not take over the columns of single replicas. An earlier
/// copy is never replaced: a copy of the same run suffices, and next to one of another run the
/// name gets a number (`output`.until-<iteration>-2.h5). Throws
/// UserError if the file cannot be copied.
void copy_earlier_file(const std::string& output, int64_t iteration);

}  // namespace dbench::program
