#include "train/passes/executor.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "arena/device/memory.hpp"
#include "arena/kernels.hpp"
#include "base/error.hpp"
#include "train/batches/held_batch.hpp"
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
    Passes passes;
    Device& device;
    torch::Device place;
    BucketWatch watch;
    std::vector<arena::Queue*> sides;  // that replicas take in turn; none: the compute queue
    ReplicaPass alone;
    std::unique_ptr<StackedPass> stacked;
    std::unique_ptr<Uploads> uploads;          // null: minibatches go with their passes
    std::unique_ptr<CapturedPasses> captures;  // null: nothing is captured
    arena::Values<double> turn = arena::Values<double>(2);  // sums of a single gradient

    Impl(const Model& m, Replicas& r, const Passes& p)
        : model(m),
          replicas(r),
          passes(p),
          device(r.device()),
          place(place_of(r.device())),
          watch(r.layout(),
                gradient_buckets(r.layout(), r.x().type, r.device().least_bucket_bytes())),
          sides(way_of(r, p) == Stacking::streams ? r.device().side_queues()
                                                  : std::vector<arena::Queue*>()),
          alone(m, r, p, sides.empty() ? 1 : std::ssize(sides), watch) {
        DBENCH_EXPECT(p.stacking != Stacking::automatic);
        uploads = Uploads::of(device, place);
        const Stacking way = way_of(r, p);
        if (way == Stacking::batched) {
            stacked = std::make_unique<StackedPass>(m, r, p.smoothing, p.resident);
        }
        const bool apart = sides.empty() || capture_obstacle_beside(m).empty();
        if (p.captured > 0 && device.queues().compute && apart) {
            captures = std::make_unique<CapturedPasses>(device, place, r.x().count,
                                                        stacked != nullptr, p.captured);
        }
    }

    static Stacking way_of(const Replicas& r, const Passes& p) {
        return r.x().count == 1 ? Stacking::off : p.stacking;
    }

    arena::Queue* queue_of(int64_t i) const {
        if (sides.empty()) return device.queues().compute;
        return sides[static_cast<size_t>(i) % sides.size()];
    }
    /// Where kernels are launched between LibTorch's, by work that is on a queue: at once where
    /// that itself begins later.
    arena::Queue* inside(arena::Queue* queue) const {
        return device.begins_later() ? nullptr : queue;
    }
    // What is put on the side queues comes after all that the step has launched so far.
    void fork() const {
        for (arena::Queue* const side : sides) {
            arena::order(device.queues().compute, side, "the step before passes side by side");
        }
    }
    // What the step launches from now on comes after what is on the side queues so far, but for
    // one of them.
    void join(const arena::Queue* but = nullptr) const {
        for (arena::Queue* const side : sides) {
            if (side == but) continue;
            arena::order(side, device.queues().compute, "passes side by side");
        }
    }

    std::vector<torch::Tensor> views_of(const arena::Layout& layout, const arena::Rows& rows,
                                        int64_t i) const {
        return views(layout, rows, i, place);
    }

    // A row of parameters that is anyone's, and the running statistics of the local replica i.
    Weights around(const char* weights, int64_t i) const;

    // The batch as work of the local replica i that is put on the queue finds it: the loader's own
    // where that is done at once.
    std::shared_ptr<const data::Batch> hold(const data::Batch& batch, int64_t i,
                                            arena::Queue* queue) const {
        if (!queue) return {std::shared_ptr<const void>(), &batch};
        auto held = std::make_shared<HeldBatch>(batch, device.card().has_value());
        if (!batch.windows.empty()) {
            DBENCH_EXPECT(passes.resident != nullptr);
            held->inputs_are(passes.resident->gather(batch.windows, static_cast<size_t>(i), queue));
        }
        return {held, &held->batch()};
    }

    // What training the local replica i at row i of x touches; all of them: none.
    std::vector<arena::Access> touched(const arena::Rows& x, std::optional<int64_t> i) const {
        const auto of = [i](const arena::Rows& rows) { return i ? rows.only(*i) : rows; };
        std::vector<arena::Access> all = {arena::reads(of(x), replicas.layout().all()),
                                          arena::writes(of(replicas.g()), replicas.layout().all())};
        for (const arena::Access& each : i ? alone.memory(*i) : stacked->memory()) {
            all.push_back(each);
        }
        for (const auto& [rows, layout] :
             {std::pair(replicas.buffers(), &replicas.buffer_layout()),
              std::pair(replicas.carried(), &replicas.carried_layout())}) {
            if (layout->columns() > 0) all.push_back(arena::writes(of(rows), layout->all()));
        }
        return all;
    }

    // The same on a minibatch, where losses and accuracies are wanted.
    std::vector<arena::Access> scored(const arena::Rows& x, std::optional<int64_t> i,
                                      const data::Batch& batch, const Sums& sums) const {
        std::vector<arena::Access> all = touched(x, i);
        if (batch.on_device) {
            all.push_back(
                arena::reads(batch.inputs, data::numel(batch.shape) * arena::size_of(batch.type)));
        }
        const int64_t bytes = (i ? 1 : x.count) * static_cast<int64_t>(sizeof(double));
        all.push_back(arena::writes(sums.loss, bytes));
        all.push_back(arena::writes(sums.accuracy, bytes));
        return all;
    }

    /// Puts it on the device, as that has captured it where it may. Where it begins later, buckets
    /// are announced when all of it is there.
    void put_gradient(const arena::Rows& x, const data::Batch& batch, int64_t t, int64_t i,
                      const Ready* ready, const Sums& sums, arena::Queue* queue,
                      bool may_capture = false) {
        auto held = hold(batch, i, queue);
        if (uploads) held = uploads->bring(std::move(held), *queue);
        Captured* const pass =
            may_capture ? put_captured(x, *held, t, i, ready != nullptr, sums, queue) : nullptr;
        const Ready joined = [&](arena::Columns bucket) {
            join();
            (*ready)(bucket);
        };
        const Ready* const told = pass || device.begins_later() || !ready ? nullptr : &joined;
        if (!pass) {
            device.put(
                "gradient", [&] { return scored(x, i, *held, sums); },
                [this, x, held, t, i, told, sums, queue] {
                    alone.gradient(x, i, *held, t, told, sums, inside(queue));
                },
                queue);
        }
        if (told) watch.finish();
        arena::keep(queue, held);
        if (uploads) uploads->used(*queue);
        if (!ready || told) return;
        pass ? announce_beside(*pass, queue, *ready) : announce(joined);
    }

    /// Puts those of all local replicas on the device, in one pass.
    void put_stacked(const arena::Rows& x, const BatchOf& batch, const Ready& ready,
                     const Sums& sums, bool may_capture) {
        arena::Queue* const queue = device.queues().compute;
        std::shared_ptr<const data::Batch> all = stacked->join(x.count, batch);
        if (uploads) all = uploads->bring(std::move(all), *queue);
        Captured* const pass = may_capture ? put_stacked_captured(x, *all, sums) : nullptr;
        const Ready* const told = pass || device.begins_later() ? nullptr : &ready;
        if (!pass) {
            device.put(
                "gradients of all replicas", [&] { return scored(x, std::nullopt, *all, sums); },
                [this, x, all, told, sums] { stacked_gradients(x, *all, told, sums); });
        }
        arena::keep(queue, all);
        if (uploads) uploads->used(*queue);
        if (told) return;
        pass ? announce_beside(*pass, queue, ready) : announce(ready);
    }

    void stacked_gradients(const arena::Rows& x, const data::Batch& all, const Ready* ready,
                           const Sums& sums) {
        arena::Queue* const queue = inside(device.queues().compute);
        if (ready) {
            watch.start(ready,
                        [this, queue](arena::Columns bucket) { stacked->collect(bucket, queue); });
        }
        stacked->gradients(
            x, all, sums, [this](int tensor) { watch.complete(tensor); }, queue);
    }

    void announce(const Ready& ready) const {
        for (const arena::Columns bucket : watch.buckets()) ready(bucket);
    }

    /// What is launched for a bucket begins where the pass, on `queue`, has completed it, beside
    /// the rest of it, and behind passes that are on other queues.
    void announce_beside(Captured& pass, const arena::Queue* queue, const Ready& ready) const {
        arena::StepQueue* const step = device.step_queue();
        if (!step) {
            join();
            return announce(ready);
        }
        pass.order(0, step->side());  // and so after all that comes before the pass
        if (!sides.empty()) {         // and after what has come to the step's queue meanwhile
            arena::order(device.queues().compute, &step->side(), "passes side by side");
        }
        const arena::StepQueue::Aside aside(*step);
        join(queue);
        for (size_t k = 0; k < watch.buckets().size(); ++k) {
            if (k > 0) pass.order(static_cast<int64_t>(k), step->side());
            ready(watch.buckets()[k]);
        }
    }

    /// A pass of the local replica i, or of all together, as the device captures it; parts of the
    /// minibatch's place, and one for each bucket where they are told.
    std::unique_ptr<Captured> captured(
        const arena::Rows& x, std::optional<int64_t> i, const FixedBatch& fixed, bool told,
        const Sums& sums, arena::Queue* queue,
        const std::function<void(const data::Batch&, const Ready*)>& pass) {
        const auto of = [i](const arena::Rows& rows) { return i ? rows.only(*i) : rows; };
        std::vector<std::vector<arena::Access>> parts = {scored(x, i, fixed.batch(), sums)};
        for (const arena::Access& each : fixed.reads()) parts[0].push_back(each);
        for (size_t k = 1; told && k < watch.buckets().size(); ++k) {
            const arena::Columns left{0, watch.buckets()[k].end};  // the last ones come first
            parts.push_back({arena::reads(of(x), left), arena::writes(of(replicas.g()), left)});
        }
        const auto work = [this, &fixed, told, pass](const Device::PartEnds& ends) {
            const Ready complete = [&](arena::Columns) { ends(); };
            const bool tells = told && ends;
            pass(fixed.batch(), tells ? &complete : nullptr);
            if (tells) watch.finish();
        };
        return device.capture("captured gradient", std::move(parts), work, queue);
    }

    /// The pass of all replicas as the device repeats it; null where it cannot be captured.
    Captured* put_stacked_captured(const arena::Rows& x, const data::Batch& all, const Sums& sums) {
        arena::Queue* const queue = device.queues().compute;
        Captured* const pass = captures->put(0, all, queue, [&](const FixedBatch& fixed) {
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

    /// The pass as the device repeats it, in a part for each bucket where they are `told`; null
    /// where it cannot be captured.
    Captured* put_captured(const arena::Rows& x, const data::Batch& held, int64_t t, int64_t i,
                           bool told, const Sums& sums, arena::Queue* queue) {
        const auto capture = [&](const FixedBatch& fixed) {
            return captured(
                x, i, fixed, told, sums, queue,
                [this, x, i, sums, queue](const data::Batch& batch, const Ready* ready) {
                    alone.gradient(x, i, batch, std::nullopt, ready, sums, inside(queue));
                });
        };
        if (alone.begins()) {
            device.put(
                "beginning of a pass", [&] { return alone.beginning(i); },
                [this, x, of = &held, t, i] { alone.begin(x, i, *of, t); }, queue);
        }
        Captured* const pass = captures->put(i, held, queue, capture);
        if (pass) return pass;
        watch.stop();
        alone.stop(x, i);
        return nullptr;
    }
};

Executor::Executor(const Model& model, Replicas& replicas, const Passes& passes)
    : impl_(std::make_unique<Impl>(model, replicas, passes)) {}
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
        s.put_stacked(x, batch, ready, {losses, accuracies}, captured);
    } else {
        s.fork();
        for (int64_t i = 0; i < x.count; ++i) {
            s.put_gradient(x, batch(i), t, i, i + 1 == x.count ? &ready : nullptr,
                           {losses + i, accuracies + i}, s.queue_of(i), captured);
        }
        s.join();
    }
    if (captured) captures->tell(loss, accuracy);
    s.watch.finish();
}

std::string Executor::uncaptured() const {
    return impl_->captures ? impl_->captures->obstacle() : "";
}

Executor::Scores Executor::gradient(int64_t t, arena::Rows x, int64_t i, const data::Batch& batch,
                                    algorithms::Timers& timers) {
    const algorithms::TimedScope scope(timers, algorithms::Time::gradient);
    double* const sums = impl_->turn.data();
    impl_->put_gradient(x, batch, t, i, nullptr, {sums, sums + 1}, impl_->device.queues().compute);
    arena::finish(impl_->device.queues().compute, "the loss of a single gradient");
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
        const auto held = s.hold(*data, i, s.device.queues().compute);
        s.device.put(
            "distillation",
            [&] {
                std::vector<arena::Access> all = s.touched(x, i);
                all.push_back(arena::reads(teacher.only(i), s.replicas.layout().all()));
                return all;
            },
            [&s, x, teacher, held, t, i, temperature] {
                arena::Queue* const queue = s.inside(s.device.queues().compute);
                s.alone.distil(x, teacher, i, *held, t, temperature, queue);
            });
        arena::keep(s.device.queues().compute, held);
    }
}

Weights Executor::Impl::around(const char* weights, int64_t i) const {
    const arena::Rows row{const_cast<char*>(weights), replicas.x().type, arena::Space::host, 0, 1};
    Weights found{views(replicas.layout(), row, 0),
                  views_of(replicas.buffer_layout(), replicas.buffers(), i)};
    for (torch::Tensor& each : found.parameters) each = each.to(place);  // it may be a message
    return found;
}

void Executor::linearise(const char* weights, int64_t i, const data::Batch& batch,
                         const algorithms::Linearised& out, algorithms::Timers& timers) const {
    const algorithms::TimedScope scope(timers, algorithms::Time::gradient);
    train::linearise(impl_->model, impl_->around(weights, i), batch, impl_->place, out);
}

double Executor::loss(const char* weights, int64_t i, const data::Batch& batch,
                      algorithms::Timers& timers) const {
    const algorithms::TimedScope scope(timers, algorithms::Time::gradient);
    const torch::NoGradGuard no_grad;
    const torch::Tensor output =
        impl_->model.forward(impl_->around(weights, i), input_tensor(batch, impl_->place), false);
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
        impl_->model.forward(weights, input_tensor(batch, impl_->place), false).to(torch::kCPU);
        best = std::min(best, watch.seconds());
    }
    return 3 * best;  // backward costs about two forwards
}

}  // namespace dbench::train
