#include "data/loader.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace dbench::data {
namespace {

constexpr double kCheckInterval = 0.1;  // seconds between two calls of Options::check_wait

// Two batches per local replica hide uneven progress; more than these limits would only waste
// memory.
int64_t default_queue(const Dataset& data, int64_t batch, const Loader::Options& options) {
    constexpr int64_t kMost = 64, kMostBytes = int64_t{256} << 20;
    const int64_t element = data.tokens() ? sizeof(int64_t) : size_of(options.type);
    const int64_t bytes = batch * element * numel(data.shape());
    const int64_t wanted = std::min(kMost, 2 * (options.end - options.begin));
    return std::max<int64_t>(1, std::min(wanted, kMostBytes / std::max<int64_t>(1, bytes)));
}

/// Writes the batch at `position` of an epoch in which the replica uses its samples in `order`.
/// Returns false if `stop` interrupted it, because a full batch can take long.
bool fill(BatchBuffer& buffer, ThreadPool& pool, const Dataset& data, const BatchPlan& plan,
          const Loader::Options& options, const std::vector<int64_t>& order, int64_t epoch,
          int64_t position, const std::atomic<bool>& stop) {
    const int64_t count = plan.full ? static_cast<int64_t>(order.size()) : plan.batch_size;
    DBENCH_EXPECT((position + 1) * count <= static_cast<int64_t>(order.size()));
    // In a stream, sample k comes from the k-th of `count` consecutive parts of the order.
    const int64_t first = plan.stream ? position : position * count;
    const int64_t stride = plan.stream ? plan.per_epoch : 1;
    std::vector<int64_t> samples(static_cast<size_t>(count));
    for (int64_t k = 0; k < count; ++k) samples[k] = order[first + k * stride];
    buffer.start(data, samples, plan.stream && position > 0);
    pool.parallel_for(count, [&](int64_t k) {
        if (stop.load(std::memory_order_relaxed)) return;
        const int64_t sample = samples[k];
        const uint64_t key = options.augment ? augment_key(options.augment_seed, epoch, sample) : 0;
        buffer.put(k, data, sample, key);
    });
    return !stop.load(std::memory_order_relaxed);
}

/// Returns the default order: iterations in turn, and in each iteration the replicas.
BatchOrder in_turn(const Loader::Options& options) {
    BatchRequest next{options.first_iteration, options.begin};
    return [next, begin = options.begin, end = options.end,
            last = options.last_iteration]() mutable -> std::optional<BatchRequest> {
        if (next.iteration >= last || begin >= end) return std::nullopt;
        const BatchRequest now = next;
        if (++next.replica == end) next = {now.iteration + 1, begin};
        return now;
    };
}

}  // namespace

const std::vector<int64_t>& EpochOrders::of(int64_t replica, int64_t epoch) {
    Order& order = orders_[replica];
    if (order.epoch != epoch) order = {epoch, partition_->epoch(replica, epoch)};
    return order.samples;
}

struct Loader::Impl {
    std::shared_ptr<const Dataset> data;
    EpochOrders orders;
    BatchPlan plan;
    Options options;

    // Life of a buffer: free -> filled by the thread -> ready -> held by the consumer -> free.
    std::vector<BatchBuffer> buffers;
    std::mutex mutex;
    std::condition_variable has_free, has_ready;
    std::vector<BatchBuffer*> free;
    std::deque<BatchBuffer*> ready;
    BatchBuffer* held = nullptr;
    bool finished = false;
    std::exception_ptr failure;
    std::atomic<bool> stop{false};
    std::thread thread;

    Impl(std::shared_ptr<const Dataset> d, std::shared_ptr<const Partition> p, const BatchPlan& pl,
         const Options& o)
        : data(std::move(d)), orders(std::move(p)), plan(pl), options(o) {
        const int64_t queue =
            options.queue > 0 ? options.queue : default_queue(*data, plan.batch_size, options);
        // One more buffer is held by the consumer; the one being filled counts as part of the
        // queue.
        for (int64_t k = 0; k < queue + 1; ++k) {
            buffers.emplace_back(options.type, options.order, options.contents);
        }
        for (BatchBuffer& each : buffers) free.push_back(&each);
        thread = std::thread([this] { work(); });
    }

    ~Impl() {
        {
            const std::lock_guard lock(mutex);
            stop = true;
        }
        has_free.notify_all();
        thread.join();
    }

    BatchBuffer* take_free() {
        std::unique_lock lock(mutex);
        has_free.wait(lock, [this] { return stop || !free.empty(); });
        if (stop) return nullptr;
        BatchBuffer* buffer = free.back();
        free.pop_back();
        return buffer;
    }

    void work() {
        std::exception_ptr thrown;
        try {
            make_batches();
        } catch (...) {
            thrown = std::current_exception();
        }
        const std::lock_guard lock(mutex);
        failure = thrown;
        finished = true;
        has_ready.notify_all();
    }

    void make_batches() {
        const BatchOrder batch_order = options.batch_order ? options.batch_order : in_turn(options);
        ThreadPool pool(options.threads);
        while (const std::optional<BatchRequest> ask = batch_order()) {
            const int64_t epoch = ask->iteration / plan.per_epoch;
            const std::vector<int64_t>& order = orders.of(ask->replica, epoch);
            BatchBuffer* buffer = take_free();
            if (buffer == nullptr || !fill(*buffer, pool, *data, plan, options, order, epoch,
                                           ask->iteration % plan.per_epoch, stop)) {
                return;
            }
            const std::lock_guard lock(mutex);
            ready.push_back(buffer);
            has_ready.notify_one();
        }
    }

    bool wait_for_next(std::unique_lock<std::mutex>& lock, double seconds) {
        return has_ready.wait_for(lock, std::chrono::duration<double>(seconds),
                                  [this] { return finished || !ready.empty(); });
    }

    const Batch& next() {
        std::unique_lock lock(mutex);
        if (held != nullptr) {
            free.push_back(std::exchange(held, nullptr));
            has_free.notify_one();
        }
        const double began = base::now();
        while (!wait_for_next(lock, kCheckInterval)) {
            if (!options.check_wait) continue;
            lock.unlock();
            options.check_wait(began);
            lock.lock();
        }
        if (ready.empty()) {
            if (failure) std::rethrow_exception(failure);
            throw std::logic_error("a batch was requested after the last iteration of the loader");
        }
        held = ready.front();
        ready.pop_front();
        return held->batch();
    }
};

Loader::Loader(std::shared_ptr<const Dataset> data, std::shared_ptr<const Partition> partition,
               const BatchPlan& plan, const Options& options)
    : impl_(std::make_unique<Impl>(std::move(data), std::move(partition), plan, options)) {}

Loader::~Loader() = default;

const Batch& Loader::next() { return impl_->next(); }

bool Loader::wait_for_next(double seconds) {
    std::unique_lock lock(impl_->mutex);
    return impl_->wait_for_next(lock, seconds);
}

Replay::Replay(std::shared_ptr<const Dataset> data, std::shared_ptr<const Partition> partition,
               const BatchPlan& plan, const Loader::Options& options)
    : data_(std::move(data)),
      orders_(std::move(partition)),
      plan_(plan),
      options_(options),
      buffer_(options.type, options.order),
      pool_(options.threads) {}

const Batch& Replay::batch(int64_t t, int64_t replica) {
    const int64_t epoch = t / plan_.per_epoch;
    const std::atomic<bool> stop{false};
    fill(buffer_, pool_, *data_, plan_, options_, orders_.of(replica, epoch), epoch,
         t % plan_.per_epoch, stop);
    return buffer_.batch();
}

}  // namespace dbench::data
