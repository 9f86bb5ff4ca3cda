#pragma once
// The HDF5 file of a run while it is written: head, tables, end. Internal to this module. Lives on
// rank 0; one thread uses it.

#include <string>
#include <utility>
#include <vector>

#include "profile/file_guard.hpp"
#include "profile/h5.hpp"
#include "profile/outcome.hpp"
#include "profile/run_description.hpp"
#include "profile/table.hpp"

namespace dbench::profile {

/// The process behind a rank, for /ranks.
struct RankInfo {
    std::string host, device;
    int64_t local_rank = 0, cpus = 1, slot = 0;
};

struct EarlierRun;

/// The contents of a file from the moment of its creation.
struct RunHead : RunDescription {
    std::vector<RankInfo> ranks;
    std::vector<int64_t> first_replica;  ///< Per rank.
    Axes axes;
    /// The run that is continued, whose rows are copied; null for a new run.
    const EarlierRun* earlier = nullptr;
};

/// Owns the open file and its tables. The file can be read at any time, and after a crash.
class RunFile {
public:
    /// Creates the file with status `running`; others can read it from then on. Throws UserError.
    explicit RunFile(const RunHead& head);
    ~RunFile();
    RunFile(const RunFile&) = delete;
    RunFile& operator=(const RunFile&) = delete;

    Table iterations, evaluations;
    Table parameters, variance;         ///< Tables of /parameters, with rows of their own.
    Table graphs, graph_offset, edges;  ///< Tables of /graphs.
    Table segments, events;
    const arena::DType precision;  ///< Precision of losses and norms.

    /// Writes the rows that are due and makes them visible to readers. Throws RunError.
    void commit();
    /// Writes all rows and syncs them to the disk. Throws RunError. Returns why no checkpoint may
    /// be written next to the path (it leads to another file now); "" if one may.
    std::string flush_to_disk();
    /// Writes the remaining rows, as far as the disk has space, and closes the file in any case.
    /// Throws RunError if something could not be written.
    void close(const RunOutcome& outcome);

private:
    void create(const RunHead& head, const std::string& temporary);
    void write_head(const RunHead& head);
    void write_tensors(const std::vector<arena::Tensor>& tensors);
    void write_ranks(const RunHead& head);
    void make_tables(const RunHead& head);
    void copy_earlier_rows(const EarlierRun& earlier, bool other_replicas);
    std::vector<Table*> tables();
    std::string write_due(Commit what);
    void commit(Commit what);
    void check_external_changes();
    bool close_handles();
    void abandon();

    std::string path_;
    h5::File file_;
    FileGuard guard_;
    int64_t size_ = 0;  ///< Bytes of the file after the last flush.
    /// The reason why the path no longer leads to the file; "" if it does.
    std::string path_problem_;
    std::string truncation_;  ///< Report that another process truncated the file; "" if none did.
    double next_check_ = 0;
    bool broken_ = false;  ///< HDF5 failed to write and must not be called again.
};

}  // namespace dbench::profile
