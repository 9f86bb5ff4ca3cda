#pragma once
// Samples in memory, how they are dealt to replicas, and the thread that makes batches of them.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arena/rows.hpp"
#include "base/family.hpp"

namespace dbench::data {

/// Memory order of image batches; logical shape is always (B, C, H, W).
enum class Order : uint8_t { contiguous, channels_last };

/// A set of samples: size and get. Composed by wrapping (limit, hold-out).
class Dataset {
public:
    virtual ~Dataset() = default;
    virtual int64_t size() const = 0;
    virtual std::vector<int64_t> shape() const = 0;  ///< of one input: {C, H, W} or {features}
    virtual int64_t classes() const = 0;             ///< 0: real-valued targets (one per sample)
    /// Writes input `index`, normalised, to `out` (numel(shape) elements of `type`), images in
    /// memory order `order`. `augment_key` not 0: random crop and flip drawn from it.
    virtual void input(int64_t index, arena::DType type, Order order, uint64_t augment_key,
                       void* out) const = 0;
    virtual int64_t label(int64_t index) const = 0;  ///< class; only where classes() > 0
    virtual double target(int64_t index) const = 0;  ///< real target; only where classes() == 0
};

struct DataSets {
    std::shared_ptr<const Dataset> train, test;
    std::shared_ptr<const Dataset> validation;                   ///< null where none is held out
    std::vector<std::pair<std::string, std::string>> checksums;  ///< file name, digest; provenance
};

struct DataContext {
    int64_t replicas;
    uint64_t seed;  ///< the spec's data seed
};

/// Whether a set can be used: where its files lie, or which are missing and where to get them.
struct DataStatus {
    std::string name;
    bool present;
    std::string detail;  ///< one line
};

/// A row of the data table. `make` takes a resolved /data object, reads and checks files; it throws
/// UserError which says which file, what was expected and where to get it.
struct DataEntry : base::Entry {
    bool images;  ///< "augment" and "normalize" apply
    DataSets (*make)(const base::Json& spec, const DataContext& context);
    DataStatus (*status)(const std::string& root);  ///< null: needs no files
};
const std::vector<DataEntry>& data_table();

/// Resolves /data of a spec: the row's own keys, then those of DataSpec. Throws UserError.
base::Json resolve_data(const base::Json& given, const std::string& pointer);

/// Reads the sets named by a resolved /data object, with `limit` and `validation` applied.
DataSets load_data(const base::Json& spec, const DataContext& context);

/// One entry per set in table order, for `dbench doctor` and `list data`. Only looks whether files
/// are there, reads none. An empty root stands for $DBENCH_DATA.
std::vector<DataStatus> data_status(const std::string& root);

/// Which samples each replica sees: docs/data.md. Pure in (spec, n, N, seed).
class Partition {
public:
    virtual ~Partition() = default;
    virtual int64_t size(int64_t replica) const = 0;  ///< m_i
    /// Sample numbers of a replica's epoch, in the order they are taken.
    virtual std::vector<int64_t> epoch(int64_t replica, int64_t epoch) const = 0;
};

struct PartitionEntry : base::Entry {
    std::unique_ptr<Partition> (*make)(const base::Json& spec, const Dataset& train,
                                       const DataContext& context);
};
const std::vector<PartitionEntry>& partition_table();

}  // namespace dbench::data
