#include "train/passes/executor.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "arena/device/memory.hpp"
#include "arena/kernels.hpp"
#include "base/error.hpp"
#include "base/trace.hpp"
#include "train/batches/owned_batch.hpp"
#include "train/batches/resident_images.hpp"
#include "train/batches/uploads.hpp"
#include "train/models/model.hpp"
#include "train/passes/bucket_watch.hpp"
#include "train/passes/capture.hpp"
#include "train/passes/captured_passes.hpp"
#include "train/passes/linearised_pass.hpp"
#include "train/passes/replica_pass.hpp"
#include "train/passes/stacked_pass.hpp"
#include "train/replicas.hpp"
#include "train/tensors.hpp"

namespace dbench::train {

struct Executor::Impl {
    using Ready = ReplicaPass::Ready;

    const Model& model;
    Replicas& replicas;
    PassOptions options;
    Device& device;
    torch::Device torch_device;
    BucketWatch watch;
    std::vector<arena::Queue*> sides;  // which replicas use round robin; empty: the compute queue
    ReplicaPass replica_pass;
    std::unique_ptr<StackedPass> stacked;
    std::unique_ptr<Uploads> uploads;               // null: each pass copies its own minibatch
    std::unique_ptr<CapturedPasses> captures;       // null: no pass is captured
    arena::HostVisibleArray<double> single_scores;  // loss, accuracy

    Impl(const Model& m, Replicas& r, const PassOptions& o)
        : model(m),
          replicas(r),
          options(o),
          device(r.device()),
          torch_device(torch_device_of(r.device())),
          watch(r.layout(),
                gradient_buckets(r.layout(), r.x().type, r.device().min_bucket_bytes())),
          sides(effective_stacking(r, o) == Stacking::streams ? r.device().side_queues()
                                                              : std::vector<arena::Queue*>()),
          replica_pass(m, r, o, sides.empty() ? 1 : std::ssize(sides), watch),
          single_scores(device.place().values<double>(2)) {
        DBENCH_EXPECT(o.stacking != Stacking::automatic);
        std::vector<int64_t> begins;
        for (const arena::Columns bucket : watch.buckets()) begins.push_back(bucket.begin);
        base::set_trace_buckets(std::move(begins));
        uploads = Uploads::make(device, torch_device);
        const Stacking way = effective_stacking(r, o);
        if (way == Stacking::batched) {
            stacked = std::make_unique<StackedPass>(m, r, o.smoothing, o.resident);
        }
        const bool capturable =
            sides.empty() || algorithms::concurrent_capture_obstacle(facts_of(m)).empty();
        if (o.captured > 0 && !device.place().immediate() && capturable) {
            captures = std::make_unique<CapturedPasses>(device, torch_device, r.x().count,
                                                        stacked != nullptr, o.captured);
        }
    }

    static Stacking effective_stacking(const Replicas& r, const PassOptions& o) {
        return r.x().count == 1 ? Stacking::off : o.stacking;
    }

    arena::Queue& queue_of(int64_t i) const {
        if (sides.empty()) return device.place().compute();
        return *sides[static_cast<size_t>(i) % sides.size()];
    }
    /// Returns the queue for kernels that submitted work launches between LibTorch's: the host's if
    /// the work itself starts later.
    arena::Queue& kernel_queue(arena::Queue& queue) const {
        return device.runs_later() ? arena::host_queue() : queue;
    }
    // Orders all later work on the side queues after all that the step has launched so far.
    void fork() const {
        for (arena::Queue* const side : sides) {
            arena::order(device.place().compute(), *side, "the step before concurrent passes");
        }
    }
    // Orders the step's later launches after all that is on the side queues so far, leaving out one
    // of these queues.
    void join(const arena::Queue* except = nullptr) const {
        for (arena::Queue* const side : sides) {
            if (side == except) continue;
            arena::order(*side, device.place().compute(), "concurrent passes");
        }
    }

    std::vector<torch::Tensor> views_of(const arena::Layout& layout, const arena::Rows& rows,
                                        int64_t i) const {
        return views(layout, rows, i, torch_device);
    }

    // Returns tensors over a row of parameters in any memory, and the running statistics of the
    // local replica i.
    Weights weights_at(const char* weights, int64_t i) const;

    // Returns the batch in memory that lives until submitted work of the local replica i has read
    // it: a copy, or the loader's own batch if work runs at once.
    std::shared_ptr<const data::Batch> own_batch(const data::Batch& batch, int64_t i,
                                                 arena::Queue& queue) const {
        if (queue.immediate()) return {std::shared_ptr<const void>(), &batch};
        auto owned = std::make_shared<OwnedBatch>(batch, device.gpu().has_value());
        if (!batch.windows.empty()) {
            DBENCH_EXPECT(options.resident != nullptr);
            owned->set_inputs(
                options.resident->gather(batch.windows, static_cast<size_t>(i), queue));
        }
        return {owned, &owned->batch()};
    }

    // Lists the memory that a training pass of the local replica i at row i of x touches; i none:
    // of all replicas.
    std::vector<arena::Access> accesses(const arena::Rows& x, std::optional<int64_t> i) const {
        const auto local_rows = [i](const arena::Rows& rows) { return i ? rows.only(*i) : rows; };
        std::vector<arena::Access> all = {
            arena::reads(local_rows(x), replicas.layout().all()),
            arena::writes(local_rows(replicas.g()), replicas.layout().all())};
        for (const arena::Access& each : i ? replica_pass.memory(*i) : stacked->memory()) {
            all.push_back(each);
        }
        for (const auto& [rows, layout] :
             {std::pair(replicas.buffers(), &replicas.buffer_layout()),
              std::pair(replicas.carried(), &replicas.carried_layout())}) {
            if (layout->columns() > 0)
                all.push_back(arena::writes(local_rows(rows), layout->all()));
        }
        return all;
    }

    // Lists the same memory with the minibatch's inputs, and the losses and accuracies.
    std::vector<arena::Access> accesses_with_scores(const arena::Rows& x, std::optional<int64_t> i,
                                                    const data::Batch& batch,
                                                    const ScoreMemory& sums) const {
        std::vector<arena::Access> all = accesses(x, i);
        if (batch.on_device) {
            all.push_back(
                arena::reads(batch.inputs, data::numel(batch.shape) * arena::size_of(batch.type)));
        }
        const int64_t bytes = (i ? 1 : x.count) * static_cast<int64_t>(sizeof(double));
        all.push_back(arena::writes(sums.loss, bytes));
        all.push_back(arena::writes(sums.accuracy, bytes));
        return all;
    }

    /// When the buckets of a pass are reported.
    enum class Report : uint8_t {
        none,             // The pass is not the last one of the iteration.
        during_backward,  // The pass's hooks report while the host runs it.
        during_replay,    // The device replays a captured pass, part by part.
        afterwards,       // After the submission of a pass that runs later.
    };
    Report report_of(bool last, const CapturedWork* replayed) const {
        if (!last) return Report::none;
        if (replayed) return Report::during_replay;
        return device.runs_later() ? Report::afterwards : Report::during_backward;
    }

    /// Submits the gradient of the local replica i; replays a captured pass if it may and can.
    /// Calls *ready for each bucket during backward or, if the work starts later, when all of it
    /// has been submitted. `ready` null: no bucket is reported.
    void submit_gradient(const arena::Rows& x, const data::Batch& batch, int64_t t, int64_t i,
                         const Ready* ready, const ScoreMemory& sums, arena::Queue& queue,
                         bool may_capture = false) {
        auto owned = own_batch(batch, i, queue);
        if (uploads) owned = uploads->upload(std::move(owned), queue);
        CapturedWork* const replayed =
            may_capture ? submit_captured(x, *owned, t, i, ready != nullptr, sums, queue) : nullptr;
        const Report report = report_of(ready != nullptr, replayed);
        const Ready ready_after_all = [&](arena::Columns bucket) {
            join();
            (*ready)(bucket);
        };
        if (!replayed) {
            const Ready* const by_hooks =
                report == Report::during_backward ? &ready_after_all : nullptr;
            device.submit(
                "gradient", [&] { return accesses_with_scores(x, i, *owned, sums); },
                [this, x, owned, t, i, by_hooks, sums, &queue] {
                    replica_pass.gradient(x, i, *owned, t, by_hooks, sums, kernel_queue(queue));
                },
                queue);
        }
        // The watch refers to `ready_after_all`, which ends with this function.
        if (report == Report::during_backward) watch.finish();
        arena::keep(queue, owned);
        if (uploads) uploads->used(queue);
        if (report == Report::during_replay) report_during_replay(*replayed, queue, *ready);
        if (report == Report::afterwards) report_buckets(ready_after_all);
    }

    /// Submits the gradients of all local replicas, in one pass; reports buckets likewise.
    void submit_stacked(const arena::Rows& x, const BatchOf& batch, const Ready& ready,
                        const ScoreMemory& sums, bool may_capture) {
        arena::Queue& queue = device.place().compute();
        std::shared_ptr<const data::Batch> all = stacked->join_batches(x.count, batch);
        if (uploads) all = uploads->upload(std::move(all), queue);
        CapturedWork* const replayed =
            may_capture ? submit_stacked_captured(x, *all, sums) : nullptr;
        const Report report = report_of(true, replayed);
        if (!replayed) {
            const Ready* const by_hooks = report == Report::during_backward ? &ready : nullptr;
            device.submit(
                "gradients of all replicas",
                [&] { return accesses_with_scores(x, std::nullopt, *all, sums); },
                [this, x, all, by_hooks, sums] { stacked_gradients(x, *all, by_hooks, sums); });
        }
        arena::keep(queue, all);
        if (uploads) uploads->used(queue);
        if (report == Report::during_replay) report_during_replay(*replayed, queue, ready);
        if (report == Report::afterwards) report_buckets(ready);
    }

    void stacked_gradients(const arena::Rows& x, const data::Batch& all, const Ready* ready,
                           const ScoreMemory& sums) {
        arena::Queue& queue = kernel_queue(device.place().compute());
        if (ready) {
            watch.start(ready,
                        [this, &queue](arena::Columns bucket) { stacked->collect(bucket, queue); });
        }
        stacked->gradients(
            x, all, sums, [this](int tensor) { watch.complete(tensor); }, queue);
    }

    void report_buckets(const Ready& ready) const {
        for (const arena::Columns bucket : watch.buckets()) ready(bucket);
    }

    /// Reports the buckets of a captured pass on `queue`. Launches made in `ready` are ordered
    /// after the pass's part that completes the bucket, and after the passes on other queues. They
    /// run concurrently with the rest of the pass.
    void report_during_replay(CapturedWork& pass, const arena::Queue& queue,
                              const Ready& ready) const {
        arena::StepQueue* const step = device.step_queue();
        if (!step) {
            join();
            return report_buckets(ready);
        }
        pass.order(0, step->side());  // and so after all that is ordered before the pass
        if (!sides.empty()) {         // and after launches on the step's queue since then
            arena::order(device.place().compute(), step->side(), "concurrent passes");
        }
        const arena::StepQueue::SideQueueScope aside(*step);
        join(&queue);
        for (size_t k = 0; k < watch.buckets().size(); ++k) {
            if (k > 0) pass.order(static_cast<int64_t>(k), step->side());
            ready(watch.buckets()[k]);
        }
    }

    /// Captures a pass of the local replica i, or of all replicas if i is none, over the minibatch
    /// at `fixed`. The captured work has one part, or one part for each bucket if buckets are to be
    /// reported.
    std::unique_ptr<CapturedWork> captured(
        const arena::Rows& x, std::optional<int64_t> i, const FixedBatch& fixed, bool by_bucket,
        const ScoreMemory& sums, arena::Queue& queue,
        const std::function<void(const data::Batch&, const Ready*)>& pass) {
        const auto local_rows = [i](const arena::Rows& rows) { return i ? rows.only(*i) : rows; };
        std::vector<std::vector<arena::Access>> parts = {
            accesses_with_scores(x, i, fixed.batch(), sums)};
        for (const arena::Access& each : fixed.reads()) parts[0].push_back(each);
        for (size_t k = 1; by_bucket && k < watch.buckets().size(); ++k) {
            const arena::Columns left{0, watch.buckets()[k].end};  // the last columns come first
            parts.push_back(
                {arena::reads(local_rows(x), left), arena::writes(local_rows(replicas.g()), left)});
        }
        const auto work = [this, &fixed, by_bucket, pass](const Device::EndPart& ends) {
            const Ready complete = [&](arena::Columns) { ends(); };
            const bool ends_parts = by_bucket && ends;
            pass(fixed.batch(), ends_parts ? &complete : nullptr);
            if (ends_parts) watch.finish();
        };
        return device.capture("captured gradient", std::move(parts), work, queue);
    }

    /// Replays the pass of all replicas. Returns null if it cannot be captured.
    CapturedWork* submit_stacked_captured(const arena::Rows& x, const data::Batch& all,
                                          const ScoreMemory& sums) {
        arena::Queue& queue = device.place().compute();
        CapturedWork* const pass = captures->submit(0, all, queue, [&](const FixedBatch& fixed) {
            return captured(x, std::nullopt, fixed, true, sums, queue,
                            [this, x, sums](const data::Batch& batch, const Ready* ready) {
                                stacked_gradients(x, batch, ready, sums);
                            });
        });
        if (pass) return pass;
        watch.stop();
        stacked->stop();
        return nullptr;
    }

    /// Replays the pass of the local replica i, captured in one part for each bucket if buckets are
    /// to be reported. Returns null if it cannot be captured.
    CapturedWork* submit_captured(const arena::Rows& x, const data::Batch& owned, int64_t t,
                                  int64_t i, bool by_bucket, const ScoreMemory& sums,
                                  arena::Queue& queue) {
        const auto capture = [&](const FixedBatch& fixed) {
            return captured(
                x, i, fixed, by_bucket, sums, queue,
                [this, x, i, sums, &queue](const data::Batch& batch, const Ready* ready) {
                    replica_pass.gradient(x, i, batch, std::nullopt, ready, sums,
                                          kernel_queue(queue));
                });
        };
        if (replica_pass.needs_preparation()) {
            device.submit(
                "beginning of a pass", [&] { return replica_pass.preparation_accesses(i); },
                [this, x, of = &owned, t, i] { replica_pass.prepare(x, i, *of, t); }, queue);
        }
        CapturedWork* const pass = captures->submit(i, owned, queue, capture);
        if (pass) return pass;
        watch.stop();
        replica_pass.stop(x, i);
        return nullptr;
    }
};

Executor::Executor(const Model& model, Replicas& replicas, const PassOptions& options)
    : impl_(std::make_unique<Impl>(model, replicas, options)) {}
Executor::~Executor() = default;

void Executor::gradients(int64_t t, arena::Rows x, data::Loader& loader, algorithms::Timers& timers,
                         const std::function<void(arena::Columns)>& ready, double* loss,
                         double* accuracy) {
    const auto next = [&](int64_t) -> const data::Batch& {
        const algorithms::TimedScope waiting(timers, algorithms::Time::data);
        return loader.next();
    };
    gradients(t, x, next, timers, ready, loss, accuracy);
}

void Executor::gradients(int64_t t, arena::Rows x, const BatchOf& batch, algorithms::Timers& timers,
                         const std::function<void(arena::Columns)>& ready, double* loss,
                         double* accuracy) {
    const algorithms::TimedScope scope(timers, algorithms::Time::gradient);
    Impl& s = *impl_;
    CapturedPasses* const captures = s.captures.get();
    const bool captured = captures && captures->begin(x.data);
    double* const losses = captured ? captures->loss() : loss;
    double* const accuracies = captured ? captures->accuracy() : accuracy;
    if (s.stacked) {
        s.submit_stacked(x, batch, ready, {losses, accuracies}, captured);
    } else {
        s.fork();
        for (int64_t i = 0; i < x.count; ++i) {
            s.submit_gradient(x, batch(i), t, i, i + 1 == x.count ? &ready : nullptr,
                              {losses + i, accuracies + i}, s.queue_of(i), captured);
        }
        s.join();
    }
    if (captured) captures->copy_scores(loss, accuracy);
    s.watch.finish();  // Reports what a stacked pass has left; of other passes nothing is left.
}

std::string Executor::uncaptured() const {
    return impl_->captures ? impl_->captures->obstacle() : "";
}

double Executor::take_forward_seconds() {
    const double seconds = impl_->replica_pass.take_forward_seconds();
    const bool known = !impl_->stacked && impl_->device.place().immediate();
    return known ? seconds : std::numeric_limits<double>::quiet_NaN();
}

Executor::Scores Executor::gradient(int64_t t, arena::Rows x, int64_t i, const data::Batch& batch,
                                    algorithms::Timers& timers) {
    const algorithms::TimedScope scope(timers, algorithms::Time::gradient);
    double* const sums = impl_->single_scores.data();
    impl_->submit_gradient(x, batch, t, i, nullptr, {sums, sums + 1},
                           impl_->device.place().compute());
    arena::finish(impl_->device.place().compute(), "the loss of a single gradient");
    return {sums[0], sums[1]};
}

void Executor::distil(int64_t t, arena::Rows x, arena::Rows teacher, const BatchOf& batch,
                      double temperature, algorithms::Timers& timers) {
    Impl& s = *impl_;
    const algorithms::TimedScope scope(timers, algorithms::Time::gradient);
    for (int64_t i = 0; i < x.count; ++i) {
        const data::Batch* data;
        {
            const algorithms::TimedScope waiting(timers, algorithms::Time::data);
            data = &batch(i);
        }
        const auto owned = s.own_batch(*data, i, s.device.place().compute());
        s.device.submit(
            "distillation",
            [&] {
                std::vector<arena::Access> all = s.accesses(x, i);
                all.push_back(arena::reads(teacher.only(i), s.replicas.layout().all()));
                return all;
            },
            [&s, x, teacher, owned, t, i, temperature] {
                arena::Queue& queue = s.kernel_queue(s.device.place().compute());
                s.replica_pass.distil(x, teacher, i, *owned, t, temperature, queue);
            });
        arena::keep(s.device.place().compute(), owned);
    }
}

Weights Executor::Impl::weights_at(const char* weights, int64_t i) const {
    const arena::Rows row{const_cast<char*>(weights), replicas.x().type, arena::Space::host, 0, 1};
    Weights found{views(replicas.layout(), row, 0),
                  views_of(replicas.buffer_layout(), replicas.buffers(), i)};
    for (torch::Tensor& each : found.parameters) each = each.to(torch_device);  // may be a message
    return found;
}

void Executor::linearise(const char* weights, int64_t i, const data::Batch& batch,
                         const algorithms::Linearised& out, algorithms::Timers& timers) const {
    const algorithms::TimedScope scope(timers, algorithms::Time::gradient);
    const Declaration& declared = impl_->model.declaration();
    const bool together =
        !impl_->torch_device.is_cpu() && declared.stacks && declared.buffers.empty();
    (together ? linearise_together : train::linearise)(impl_->model, impl_->weights_at(weights, i),
                                                       batch, impl_->torch_device, out);
}

double Executor::loss(const char* weights, int64_t i, const data::Batch& batch,
                      algorithms::Timers& timers) const {
    const algorithms::TimedScope scope(timers, algorithms::Time::gradient);
    const torch::NoGradGuard no_grad;
    const torch::Tensor output = impl_->model.forward(
        impl_->weights_at(weights, i), input_tensor(batch, impl_->torch_device), false);
    return impl_->model.loss(output, batch).item<double>();
}

double Executor::estimate_seconds(const data::Batch& batch) {
    const torch::NoGradGuard no_grad;
    const Weights weights{
        impl_->views_of(impl_->replicas.layout(), impl_->replicas.x(), 0),
        impl_->views_of(impl_->replicas.buffer_layout(), impl_->replicas.buffers(), 0)};
    double best = std::numeric_limits<double>::infinity();
    for (int trial = 0; trial < 3; ++trial) {  // the first one warms up
        const base::Stopwatch watch;
        impl_->model.forward(weights, input_tensor(batch, impl_->torch_device), false)
            .to(torch::kCPU);
        best = std::min(best, watch.seconds());
    }
    return 3 * best;  // backward costs about two forwards
}

}  // namespace dbench::train
