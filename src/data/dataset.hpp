#pragma once
// Samples in memory, how they are dealt to replicas, and the thread that makes batches of them.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arena/passes/windows.hpp"
#include "arena/rows.hpp"
#include "base/family.hpp"

namespace dbench::data {

/// Memory order of image batches; logical shape is always (B, C, H, W).
enum class Order : uint8_t { contiguous, channels_last };

/// How much of a batch a sample takes in a set whose samples differ.
struct Extent {
    int64_t rows;    ///< pairs of sentences
    int64_t length;  ///< tokens of the longest sentence
    int64_t terms;   ///< labels
};

/// Images that lie in memory as bytes, and what `Dataset::input` makes of them.
struct StoredImages {
    arena::Pictures pictures;  ///< all samples; they stay for as long as their set does
    const float* single;       ///< of each channel and byte the normalised value, [C, 256]
    const double* twice;       ///< the same in float64
};

/// Tokens of pairs of sentences that stand for no piece of a text.
constexpr int64_t kPadToken = 0, kBeginToken = 1, kEndToken = 2;

/// A set of samples: size and get. Composed by wrapping (limit, hold-out, buckets).
class Dataset {
public:
    virtual ~Dataset() = default;
    virtual int64_t size() const = 0;
    /// Of one input: {C, H, W}, {features}, or {length} of tokens.
    virtual std::vector<int64_t> shape() const = 0;
    /// Whether inputs are tokens, int64 numbers from 0 to below classes(), and not reals.
    virtual bool tokens() const { return false; }
    virtual int64_t classes() const = 0;  ///< 0: real-valued targets (one per sample)
    /// Of one sample's labels: {} one for all of it, {length} one for each position.
    virtual std::vector<int64_t> label_shape() const { return {}; }
    /// Writes input `index`, normalised, to `out` (numel(shape) elements of `type`, or tokens),
    /// images in memory order `order`. `augment_key` not 0: random crop and flip drawn from it.
    virtual void input(int64_t index, arena::DType type, Order order, uint64_t augment_key,
                       void* out) const = 0;
    /// The images that inputs are made of, by window_of (images.hpp); nothing where they are made
    /// otherwise.
    virtual std::optional<StoredImages> stored() const { return std::nullopt; }
    /// Class of a whole sample; only where classes() > 0 and label_shape() is {}.
    virtual int64_t label(int64_t index) const = 0;
    /// Writes the classes of a sample, numel(label_shape) of them; only where classes() > 0.
    virtual void labels(int64_t index, int64_t* out) const { *out = label(index); }
    virtual double target(int64_t index) const = 0;  ///< real target; only where classes() == 0

    /// Whether samples are pairs of sentences, each of its own length. shape() is then {2, length},
    /// label_shape() {length}, of the longest; inputs and labels come from `pairs` alone.
    virtual bool ragged() const { return false; }
    /// Of one sample, ragged or not.
    virtual Extent extent(int64_t index) const;
    /// Writes a ragged sample, padded with kPadToken to `length` tokens: `inputs` {rows, 2, length}
    /// are the source, which ends with kEndToken, and the target, which begins with kBeginToken;
    /// `labels` [terms] the tokens that follow the target's, the last one kEndToken; `terms` [rows]
    /// how many a row has.
    virtual void pairs(int64_t index, int64_t length, int64_t* inputs, int64_t* labels,
                       int64_t* terms) const;
    /// Tokens of a ragged set as text.
    virtual std::string text(const std::vector<int64_t>& tokens) const;
};

/// Whether the set has one class a sample, by which samples can be sorted.
bool has_sample_labels(const Dataset& data);

/// Labels of all samples.
int64_t terms(const Dataset& data);

/// Added up over all samples; `length` is that of the longest.
Extent whole(const Dataset& data);

/// The product of the lengths; 1 of none.
int64_t numel(const std::vector<int64_t>& shape);

struct DataSets {
    std::shared_ptr<const Dataset> train, test;
    std::shared_ptr<const Dataset> validation;                   ///< null where none is held out
    std::vector<std::pair<std::string, std::string>> checksums;  ///< file name, digest; provenance
    int64_t threads = 1;                                         ///< of a rank that make batches
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
    /// Whether samples follow each other in an epoch, so that a batch goes on where the one before
    /// has ended: each of its samples is from a part of the epoch's order of its own.
    virtual bool stream() const { return false; }
    /// Sample numbers of a replica's epoch, in the order they are taken.
    virtual std::vector<int64_t> epoch(int64_t replica, int64_t epoch) const = 0;
};

struct PartitionEntry : base::Entry {
    std::unique_ptr<Partition> (*make)(const base::Json& spec, const Dataset& train,
                                       const DataContext& context);
};
const std::vector<PartitionEntry>& partition_table();

}  // namespace dbench::data
