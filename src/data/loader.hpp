#pragma once
// Making batches: a thread makes them ahead, in the order in which they are used, and puts them
// into a bounded queue. Further threads may share the work.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "arena/rows.hpp"
#include "data/data_spec.hpp"
#include "data/dataset.hpp"
#include "data/thread_pool.hpp"

namespace dbench::data {

/// One replica's minibatch. It is in host memory unless `on_device` is true.
struct Batch {
    int64_t count = 0;  ///< Number of samples, or of pairs of sentences.
    /// Logical shape: {count, C, H, W}, {count, features}, {count, length} or {count, 2, length}.
    std::vector<int64_t> shape;
    Order order = Order::contiguous;
    arena::DType type = arena::DType::float32;
    bool tokens = false;  ///< Inputs are int64, whatever `type` is.
    /// Number of terms of which loss and accuracy are means: samples, or label positions.
    int64_t terms = 0;
    /// [count], the terms of each sample, if they differ; else empty.
    std::vector<int64_t> row_terms;
    bool continues = false;  ///< Sample k continues sample k of the previous batch of the replica.
    void* inputs = nullptr;
    const int64_t* labels = nullptr;  ///< [terms]; null for real targets.
    const void* targets = nullptr;    ///< [count] of `type`; null for classes.
    /// [count], the windows of stored images that are the inputs, if the holder of the images (the
    /// device) makes the inputs itself; else empty.
    std::vector<arena::Window> windows;
    bool on_device = false;  ///< Inputs are in the memory of the device that computes the model.
    bool labels_on_device = false;  ///< Labels and targets are, too.
};

/// Returns the k-th of `microbatches` micro-batches of a batch, without copying: consecutive
/// samples, nearly equally many in each.
Batch microbatch(const Batch& batch, int64_t k, int64_t microbatches);

/// How an epoch is divided into batches (docs/data.md): L = floor(min_i m_i / batch).
struct BatchPlan {
    /// Samples per replica; for a full batch, the size of the smallest partition.
    int64_t batch_size;
    bool full;          ///< One iteration passes over the whole partition of the replica.
    int64_t per_epoch;  ///< L, the iterations per epoch.
    double left_out;    ///< Share of the samples that are not used in an epoch.
    int64_t samples_per_iteration;  ///< The global batch size.
    bool stream = false;            ///< See Partition::stream.
};
/// Computes the plan for `samples` training samples, some of which may belong to no replica. Throws
/// UserError if a batch is larger than the smallest partition, or if a global batch cannot be
/// divided evenly among n replicas.
BatchPlan plan_batches(const BatchSize& batch_size, const Partition& partition, int64_t replicas,
                       int64_t samples);

/// The memory of one batch, reused for the next; inputs start at a multiple of 64 bytes.
class BatchBuffer {
public:
    /// The contents of the buffer: inputs, or only the windows of stored images that are the
    /// inputs.
    enum class Contents : uint8_t { inputs, windows };
    BatchBuffer(arena::DType type, Order order, Contents contents = Contents::inputs);
    /// Reserves memory for `samples` of `data`; discards the earlier contents.
    void start(const Dataset& data, const std::vector<int64_t>& samples, bool continues = false);
    /// Writes sample `index` of `data` at `position` in the batch; `augment_key` as for
    /// Dataset::input. Several threads may call it at once, for different positions.
    void put(int64_t position, const Dataset& data, int64_t index, uint64_t augment_key);
    const Batch& batch() const { return batch_; }

private:
    struct Place {
        int64_t row, term;
    };

    Contents contents_;
    Batch batch_;
    int64_t numel_ = 0;          ///< Elements of one row of inputs.
    std::vector<Place> places_;  ///< The first row and term of each sample.
    arena::Buffer inputs_, targets_;
    std::vector<int64_t> labels_;
};

/// Returns the augmentation key of a sample in an epoch. It is never 0 and does not depend on the
/// thread or rank that makes the batch.
uint64_t augment_key(uint64_t augment_seed, int64_t epoch, int64_t sample);

/// Identifies one batch: the iteration of a replica.
struct BatchRequest {
    int64_t iteration, replica;
};
/// Returns the batch that is used next; empty at the end.
using BatchOrder = std::function<std::optional<BatchRequest>()>;

/// The order in which each replica uses its samples, cached for the current epoch.
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
    std::map<int64_t, Order> orders_;  ///< The last requested epoch of each replica.
};

/// Makes the batches of iterations first, first + 1, ..., in each iteration for the local replicas
/// begin .. end-1, or in the order of `batch_order`. The constructor starts the thread; one thread
/// may call next().
class Loader {
public:
    struct Options {
        int64_t first_iteration = 0, last_iteration = 0;  ///< Half-open range.
        int64_t begin = 0, end = 1;  ///< Replicas of this rank, a half-open range.
        arena::DType type = arena::DType::float32;
        Order order = Order::contiguous;
        bool augment = false;
        uint64_t augment_seed = 0;
        int64_t threads = 1;  ///< Threads that share the samples of a batch.
        BatchBuffer::Contents contents = BatchBuffer::Contents::inputs;
        int queue = 0;  ///< Batches made ahead; 0: two per local replica, within bounds.
        /// Returns the next batch to make; null: iterations in turn. Called on the loader's thread.
        BatchOrder batch_order = nullptr;
        /// next() calls it about ten times a second while it waits. `began` is the start of the
        /// wait on the clock of base::now(). Exceptions are passed on.
        std::function<void(double began)> check_wait = nullptr;
    };
    Loader(std::shared_ptr<const Dataset> data, std::shared_ptr<const Partition> partition,
           const BatchPlan& plan, const Options& options);
    ~Loader();  ///< Stops the thread.

    /// Returns the next batch, valid until the following call. Rethrows an exception of the thread.
    /// Throws std::logic_error after the last iteration.
    const Batch& next();
    /// Waits until next() would not wait, for at most `seconds`. Returns whether it would not.
    bool wait_for_next(double seconds);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Makes batches of a Loader once more, for any iteration and replica, synchronously and always
/// with their inputs.
class Replay {
public:
    /// `options` are those of the loader; their iterations and replicas are ignored.
    Replay(std::shared_ptr<const Dataset> data, std::shared_ptr<const Partition> partition,
           const BatchPlan& plan, const Loader::Options& options);

    /// Returns the batch of iteration t of a replica, valid until the following call.
    const Batch& batch(int64_t t, int64_t replica);

private:
    std::shared_ptr<const Dataset> data_;
    EpochOrders orders_;
    BatchPlan plan_;
    Loader::Options options_;
    BatchBuffer buffer_;
    ThreadPool pool_;
};

/// Makes batches without augmentation, for evaluation.
class PlainBatches {
public:
    PlainBatches(arena::DType type, Order order, int64_t threads = 1)
        : buffer_(type, order), pool_(threads) {}
    /// Returns samples first .. first + count - 1 of `data`, valid until the following call.
    const Batch& fill(const Dataset& data, int64_t first, int64_t count);
    /// Returns the given samples, valid until the following call.
    const Batch& fill(const Dataset& data, const std::vector<int64_t>& samples);

private:
    BatchBuffer buffer_;
    ThreadPool pool_;
};

}  // namespace dbench::data
