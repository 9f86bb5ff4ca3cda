#pragma once
// Batches in the order in which they are consumed, made ahead by one thread, which others may help,
// with a bounded queue.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "arena/rows.hpp"
#include "data/data_spec.hpp"
#include "data/dataset.hpp"
#include "data/team.hpp"

namespace dbench::data {

/// One replica's minibatch, in host memory but for one that is `on_device`.
struct Batch {
    int64_t count = 0;  ///< of samples; of pairs of sentences
    /// Logical: {count, C, H, W}, {count, features}, {count, length} or {count, 2, length}.
    std::vector<int64_t> shape;
    Order order = Order::contiguous;
    arena::DType type = arena::DType::float32;
    bool tokens = false;  ///< inputs are int64, whatever `type`
    int64_t terms = 0;    ///< of which loss and accuracy are means: samples, or their positions
    std::vector<int64_t> row_terms;  ///< [count], where samples differ in theirs; else empty
    bool continues = false;          ///< sample k follows sample k of the replica's batch before
    void* inputs = nullptr;
    const int64_t* labels = nullptr;  ///< [terms]; null for real targets
    const void* targets = nullptr;    ///< [count] of `type`; null for classes
    /// [count], where inputs are left to who holds the images that these are windows of.
    std::vector<arena::Window> windows;
    bool on_device = false;         ///< inputs lie where the model computes
    bool labels_on_device = false;  ///< labels and targets do, too
};

/// Part k of `parts` of a batch, over its memory: consecutive samples, nearly as many in each.
Batch part(const Batch& batch, int64_t k, int64_t parts);

/// How an epoch is cut into batches (docs/data.md): L = floor(min_i m_i / batch).
struct BatchPlan {
    int64_t batch_size;  ///< per replica; of a full batch the smallest partition's size
    bool full;           ///< one iteration is one pass over the replica's whole partition
    int64_t per_epoch;   ///< L
    double left_out;     ///< share of samples left out each epoch
    int64_t samples_per_iteration;  ///< of all replicas
    bool stream = false;            ///< see Partition::stream
};
/// Throws UserError where a batch is larger than the smallest partition or a global batch cannot be
/// dealt to n replicas.
BatchPlan plan_batches(const BatchSize& batch_size, const Partition& partition, int64_t replicas);

/// The memory of one batch, kept from batch to batch; inputs start at a multiple of 64 bytes.
class BatchBuffer {
public:
    /// `makes`: inputs, or the windows of stored images that they are.
    enum class Makes : uint8_t { inputs, windows };
    BatchBuffer(arena::DType type, Order order, Makes makes = Makes::inputs);
    /// Makes room for `samples` of `data`; earlier contents are lost.
    void start(const Dataset& data, const std::vector<int64_t>& samples, bool continues = false);
    /// Writes sample `index`, the one at `position` of them; `augment_key` as for Dataset::input.
    /// By several threads at once, at different positions.
    void put(int64_t position, const Dataset& data, int64_t index, uint64_t augment_key);
    const Batch& batch() const { return batch_; }

private:
    struct Place {
        int64_t row, term;
    };

    Makes makes_;
    Batch batch_;
    int64_t numel_ = 0;          ///< elements of one row of inputs
    std::vector<Place> places_;  ///< where each sample begins
    arena::Buffer inputs_, targets_;
    std::vector<int64_t> labels_;
};

/// The key of a sample's augmentation in an epoch: never 0, the same whoever makes the batch.
uint64_t augment_key(uint64_t augment_seed, int64_t epoch, int64_t sample);

/// A replica's batch of its own iteration.
struct Ask {
    int64_t iteration, replica;
};
/// Names what is consumed next; nothing at the end.
using Asks = std::function<std::optional<Ask>()>;

/// In what order a replica takes its samples, kept for as long as an epoch lasts.
class EpochOrders {
public:
    explicit EpochOrders(std::shared_ptr<const Partition> partition)
        : partition_(std::move(partition)) {}
    const std::vector<int64_t>& of(int64_t replica, int64_t epoch);

private:
    struct Order {
        int64_t epoch = -1;
        std::vector<int64_t> samples;
    };
    std::shared_ptr<const Partition> partition_;
    std::map<int64_t, Order> orders_;  ///< of the epoch last asked for, by replica
};

/// Serves batches of iterations first, first + 1, ... and in each of local replicas begin .. end-1,
/// or in another order.
class Loader {
public:
    struct Options {
        int64_t first_iteration = 0, last_iteration = 0;  ///< half-open
        int64_t begin = 0, end = 1;                       ///< replicas of this rank
        arena::DType type = arena::DType::float32;
        Order order = Order::contiguous;
        bool augment = false;
        uint64_t augment_seed = 0;
        int64_t threads = 1;  ///< that share out the samples of a batch
        BatchBuffer::Makes makes = BatchBuffer::Makes::inputs;
        int queue = 0;  ///< batches made ahead; 0: two rounds of the local replicas, in bounds
        Asks asks = nullptr;  ///< the order where it is another; called by the loader's thread
    };
    Loader(std::shared_ptr<const Dataset> data, std::shared_ptr<const Partition> partition,
           const BatchPlan& plan, const Options& options);
    ~Loader();  ///< stops the thread

    /// The next batch, valid until the following call. Rethrows what the thread threw; after the
    /// last iteration it throws std::logic_error.
    const Batch& next();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// The batches that a Loader serves, once more: of any iteration and replica, made when asked for,
/// with their inputs.
class Replay {
public:
    /// `options`: those of the loader; its iterations and replicas do not matter.
    Replay(std::shared_ptr<const Dataset> data, std::shared_ptr<const Partition> partition,
           const BatchPlan& plan, const Loader::Options& options);

    /// That of iteration t and a replica; valid until the following call.
    const Batch& batch(int64_t t, int64_t replica);

private:
    std::shared_ptr<const Dataset> data_;
    EpochOrders orders_;
    BatchPlan plan_;
    Loader::Options options_;
    BatchBuffer buffer_;
    Team team_;
};

/// Batches of samples that are not augmented; for evaluation.
class PlainBatches {
public:
    PlainBatches(arena::DType type, Order order, int64_t threads = 1)
        : buffer_(type, order), team_(threads) {}
    /// Samples first .. first + count - 1 of `data`; valid until the following call.
    const Batch& fill(const Dataset& data, int64_t first, int64_t count);
    /// These samples, likewise.
    const Batch& fill(const Dataset& data, const std::vector<int64_t>& samples);

private:
    BatchBuffer buffer_;
    Team team_;
};

}  // namespace dbench::data
