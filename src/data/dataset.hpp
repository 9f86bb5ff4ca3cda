#pragma once
// The interface of data sets and partitions, and their tables.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arena/passes/windows.hpp"
#include "arena/rows.hpp"
#include "base/factory_entry.hpp"
#include "base/input_digest.hpp"

namespace dbench::data {

/// Memory order of image batches; the logical shape is always (B, C, H, W).
enum class Order : uint8_t { contiguous, channels_last };

/// The space that one sample takes in a batch, for sets whose samples differ in size.
struct Extent {
    int64_t rows;    ///< Pairs of sentences.
    int64_t length;  ///< Tokens of the longest sentence.
    int64_t terms;   ///< Labels.
};

/// Images that are stored as bytes, with the tables that `Dataset::input` uses to normalise them.
struct StoredImages {
    arena::Pictures pictures;  ///< All samples; valid as long as their set.
    const float* single;       ///< The normalised value of each channel and byte, [C, 256].
    const double* twice;       ///< `single` in float64.
};

/// Special tokens of pairs of sentences; they represent no text.
constexpr int64_t kPadToken = 0, kBeginToken = 1, kEndToken = 2;

/// A set of samples that can be read by index. Other sets wrap one to select or group samples
/// (slice.hpp, bucketed()). Immutable: all functions may be called by several threads.
class Dataset {
public:
    virtual ~Dataset() = default;
    virtual int64_t size() const = 0;
    /// The shape of one input: {C, H, W}, {features}, or {length} for tokens.
    virtual std::vector<int64_t> shape() const = 0;
    /// True if inputs are tokens (int64 numbers from 0 to classes() - 1) and not real numbers.
    virtual bool tokens() const { return false; }
    virtual int64_t classes() const = 0;  ///< 0 for real-valued targets (one per sample).
    /// The shape of the labels of one sample: {} for one label, {length} for one label per
    /// position.
    virtual std::vector<int64_t> label_shape() const { return {}; }
    /// Writes input `index`, normalised, to `out` (numel(shape) elements of `type`, or tokens),
    /// images in memory order `order`. If `augment_key` is not 0, it seeds a random crop and flip.
    virtual void input(int64_t index, arena::DType type, Order order, uint64_t augment_key,
                       void* out) const = 0;
    /// Returns the stored images from which window_of (images.hpp) cuts the inputs; empty if inputs
    /// are made in another way.
    virtual std::optional<StoredImages> stored() const { return std::nullopt; }
    /// Returns the class of a whole sample. Precondition: classes() > 0 and label_shape() is {}.
    virtual int64_t label(int64_t index) const = 0;
    /// Writes the numel(label_shape) classes of a sample. Precondition: classes() > 0.
    virtual void labels(int64_t index, int64_t* out) const { *out = label(index); }
    virtual double target(int64_t index) const = 0;  ///< Real target; only if classes() == 0.

    /// True if samples are pairs of sentences of different lengths. Then shape() is {2, length} and
    /// label_shape() is {length} for the longest sentence, and inputs and labels are read with
    /// `pairs` only.
    virtual bool ragged() const { return false; }
    /// Returns the extent of one sample, ragged or not.
    virtual Extent extent(int64_t index) const;
    /// Writes a ragged sample, padded with kPadToken to `length` tokens. `inputs` {rows, 2, length}
    /// receives the sources, which end with kEndToken, and the targets, which begin with
    /// kBeginToken. `labels` [terms] receives the next token for each token of the targets; the
    /// last label of each row is kEndToken. `terms` [rows] receives the number of labels of each
    /// row.
    virtual void pairs(int64_t index, int64_t length, int64_t* inputs, int64_t* labels,
                       int64_t* terms) const;
    /// Returns the text of the tokens of a ragged set.
    virtual std::string text(const std::vector<int64_t>& tokens) const;
};

/// Returns true if each sample has one class, so that samples can be sorted by class.
bool has_sample_labels(const Dataset& data);

/// Returns the number of labels of all samples.
int64_t terms(const Dataset& data);

/// Returns the sum of the extents of all samples; its `length` is that of the longest sentence.
Extent total_extent(const Dataset& data);

/// Returns the product of the lengths; 1 if there are none.
int64_t numel(const std::vector<int64_t>& shape);

/// An array of which a sample consists together with others.
struct InputPart {
    std::string name;
    std::vector<int64_t> shape;  ///< Shape of a sample's part; empty for a single number.
};

struct DataSets {
    std::shared_ptr<const Dataset> train, test;
    std::shared_ptr<const Dataset> validation;  ///< Null if no samples are held out.
    /// Digests of everything that was read, for provenance and for comparing ranks. Together they
    /// differ if any sample or label differs.
    std::vector<base::InputDigest> digests;
    int64_t threads = 1;                    ///< Threads per rank that make batches.
    std::vector<std::string> classes = {};  ///< Names of the classes; empty: they are numbers.
    /// The arrays of which a sample consists, if the spec names them.
    std::vector<InputPart> inputs = {};
    std::vector<std::string> warnings = {};  ///< Remarks on the contents, such as missing classes.
};

struct DataSpec;

struct DataContext {
    int64_t replicas;
    uint64_t seed;  ///< The data seed of the spec.
};

/// The status of a data set: the place of its files, or which files are missing and where to get
/// them.
struct DataStatus {
    std::string name;
    bool present;
    std::string detail;  ///< One line.
};

/// A row of the data table. `make(spec, common, context)` reads and checks the files. It throws
/// UserError that says which file is wrong, what was expected, and where to get it.
struct DataEntry
    : base::FactoryEntry<DataSets(const DataSpec& common, const DataContext& context)> {
    using Status = DataStatus (*)(const std::string& root);

    template <class S>
    DataEntry(std::string name, std::string help, bool images,
              DataSets (*factory)(const S&, const DataSpec&, const DataContext&), Status status)
        : FactoryEntry(std::move(name), std::move(help), factory), images(images), status(status) {}
    bool images;    ///< The keys "augment" and "normalize" apply.
    Status status;  ///< Null: the set needs no files.
};
const std::vector<DataEntry>& data_table();

/// Resolves /data of a spec: the keys of its data set, then those of DataSpec. Throws UserError.
base::Json resolve_data(const base::Json& given, const std::string& pointer);

/// Reads the sets of a resolved /data object and applies `limit` and `validation`.
DataSets load_data(const base::Json& spec, const DataContext& context);

/// Returns one entry per set in table order, for `dbench doctor` and `list data`. Only checks
/// whether files exist; reads none. An empty root means $DBENCH_DATA.
std::vector<DataStatus> data_status(const std::string& root);

/// The assignment of samples to replicas (docs/data.md). A pure function of (spec, n, N, seed).
class Partition {
public:
    virtual ~Partition() = default;
    virtual int64_t size(int64_t replica) const = 0;  ///< Samples of the replica, m_i.
    /// True if the samples of an epoch form continuous texts: each batch position then reads its
    /// own consecutive part of the order of the epoch, and continues where the batch before ended.
    virtual bool stream() const { return false; }
    /// Returns the sample numbers of one epoch of a replica, in the order in which they are used.
    virtual std::vector<int64_t> epoch(int64_t replica, int64_t epoch) const = 0;
    /// Returns the digests of files from which the partition was read.
    virtual std::vector<base::InputDigest> inputs() const { return {}; }
};

/// A row of the table of partitions. `make(spec, train, context)` throws UserError if the partition
/// does not suit the data.
using PartitionEntry = base::FactoryEntry<std::unique_ptr<Partition>(const Dataset& train,
                                                                     const DataContext& context)>;
const std::vector<PartitionEntry>& partition_table();

}  // namespace dbench::data
