#pragma once
// The HDF5 file of a run while it is being written: head, tables, end. Internal to this room; lives
// on rank 0 and is used by one thread.

#include <string>
#include <utility>
#include <vector>

#include "arena/layout.hpp"
#include "profile/ending.hpp"
#include "profile/file_guard.hpp"
#include "profile/h5.hpp"
#include "profile/table.hpp"

namespace dbench::profile {

struct RankInfo {
    std::string host, device;
    int64_t local_rank = 0, cpus = 1, slot = 0;
};

struct Earlier;

/// All that stands in a file from its first moment.
struct RunHead {
    std::string path;
    bool overwrite = false;
    std::string name, spec, provenance, certificate, stability;
    std::vector<arena::Tensor> tensors;
    arena::DType precision = arena::DType::float32;
    std::vector<RankInfo> ranks;
    std::vector<int64_t> first_replica;  ///< per rank
    std::vector<int64_t> evaluated;      ///< replicas
    Axes axes;
    Features features;
    int64_t planned = 1;  ///< iterations of the whole run
    int64_t every = 1, variance_every = 1;
    double seconds_per_iteration = 0;  ///< estimate; 0: not known
    const Earlier* earlier = nullptr;  ///< the run that goes on: its rows are taken over
};

class RunFile {
public:
    /// Creates the file, `running`, readable from then on. Throws UserError.
    explicit RunFile(const RunHead& head);
    ~RunFile();
    RunFile(const RunFile&) = delete;
    RunFile& operator=(const RunFile&) = delete;

    Table iterations, profile, variance, evaluations;  ///< profile, variance: /parameters
    Table graphs, graph_offset, edges;                 ///< /graphs
    Table segments, events;
    const arena::DType precision;  ///< of losses and norms

    /// Writes what is due and lets readers see it. Throws RunError.
    void commit();
    /// Writes everything and brings it to the disk. Throws RunError. Returns why no checkpoint may
    /// be made beside the path: it does not lead to this file any more; "" where it does.
    std::string settle();
    /// Writes everything that there is room for and ends the file. Throws RunError where that was
    /// not all; the file is closed in any case.
    void close(const Ending& ending);

private:
    void create(const RunHead& head, const std::string& temporary);
    void write_head(const RunHead& head);
    void take_over(const Earlier& earlier, bool other_replicas);
    std::vector<Table*> tables();
    std::string write_due(Commit what);
    void commit(Commit what);
    void look_after();
    bool close_handles();
    void abandon();

    std::string path_;
    h5::File file_;
    FileGuard guard_;
    int64_t size_ = 0;    ///< of the file, after the last flush
    std::string astray_;  ///< why the path does not lead to it any more
    std::string cut_;     ///< that somebody has cut it
    double next_look_ = 0;
    bool broken_ = false;  ///< HDF5 failed to write: it is not to be asked again
};

}  // namespace dbench::profile
