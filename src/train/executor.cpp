#include "train/executor.hpp"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <limits>
#include <map>

#include "arena/kernels.hpp"
#include "base/error.hpp"
#include "base/random.hpp"
#include "train/models/model.hpp"
#include "train/replicas.hpp"
#include "train/stacked_pass.hpp"
#include "train/tensors.hpp"

namespace dbench::train {
namespace {

constexpr int64_t kLeastBucketBytes = 64 << 10, kMostBucketBytes = 25 << 20, kBuckets = 8;

}  // namespace

std::vector<arena::Columns> gradient_buckets(const arena::Layout& layout, arena::DType type) {
    const int64_t element = arena::size_of(type);
    const int64_t wanted =
        std::clamp(layout.columns() * element / kBuckets, kLeastBucketBytes, kMostBucketBytes) /
        element;
    std::vector<arena::Columns> buckets;
    int64_t end = layout.columns();
    const auto& tensors = layout.tensors();
    for (size_t k = tensors.size(); k-- > 0;) {
        if (end - tensors[k].offset >= wanted || k == 0) {
            buckets.push_back({tensors[k].offset, end});
            end = tensors[k].offset;
        }
    }
    return buckets;
}

namespace {

// Watches the last local replica's tensors during backward and announces buckets in order.
class BucketWatch {
public:
    BucketWatch(const arena::Layout& layout, arena::DType type)
        : buckets_(gradient_buckets(layout, type)), missing_(buckets_.size()) {
        for (const auto& tensor : layout.tensors()) {
            const auto holds = [&](const arena::Columns& c) {
                return tensor.offset >= c.begin && tensor.offset < c.end;
            };
            const auto at = std::find_if(buckets_.begin(), buckets_.end(), holds);
            bucket_of_.push_back(static_cast<int>(at - buckets_.begin()));
        }
    }
    void start(const std::function<void(arena::Columns)>* ready) {
        ready_ = ready;
        next_ = 0;
        std::fill(missing_.begin(), missing_.end(), 0);
        for (const int bucket : bucket_of_) ++missing_[bucket];
    }
    void complete(int tensor) {
        if (!ready_) return;
        --missing_[bucket_of_[tensor]];
        while (next_ < buckets_.size() && missing_[next_] <= 0) (*ready_)(buckets_[next_++]);
    }
    /// After backward: whatever no gradient reached is complete too (its gradient is zero).
    void finish() {
        while (next_ < buckets_.size()) (*ready_)(buckets_[next_++]);
        ready_ = nullptr;
    }

private:
    std::vector<arena::Columns> buckets_;
    std::vector<int> bucket_of_, missing_;
    size_t next_ = 0;
    const std::function<void(arena::Columns)>* ready_ = nullptr;
};

}  // namespace

struct Executor::Impl {
    struct Bound {
        std::vector<Weights> weights;                                      // per local replica
        std::vector<std::shared_ptr<torch::autograd::Node>> accumulators;  // keep the hooks alive
    };

    const Model& model;
    Replicas& replicas;
    Passes passes;
    BucketWatch watch;
    std::map<const void*, Bound> bound;  // by the memory of x
    std::vector<bool> reached;           // tensors whose gradient this backward has written
    std::unique_ptr<StackedPass> stacked;

    Impl(const Model& m, Replicas& r, const Passes& p)
        : model(m),
          replicas(r),
          passes(p),
          watch(r.layout(), r.x().type),
          reached(r.layout().tensors().size()) {
        if (!p.stacked || r.x().count == 1) return;
        stacked = std::make_unique<StackedPass>(m, r, p.smoothing);
    }

    // A row of parameters that is anyone's, and the running statistics of the local replica i.
    Weights around(const char* weights, int64_t i) const;

    // Leaf tensors over the rows of x whose gradients come into the arena's gradient rows.
    Bound& bind(const arena::Rows& x) {
        Bound& b = bound[x.data];
        if (!b.weights.empty()) return b;
        for (int64_t i = 0; i < x.count; ++i) {
            Weights w{views(replicas.layout(), x, i),
                      views(replicas.buffer_layout(), replicas.buffers(), i),
                      views(replicas.layout(), replicas.g(), i),
                      views(replicas.carried_layout(), replicas.carried(), i)};
            for (torch::Tensor& parameter : w.parameters) parameter.requires_grad_(true);
            b.weights.push_back(std::move(w));
            const size_t tensors = b.weights.back().parameters.size();
            for (size_t k = 0; k < tensors; ++k) hook(b, b.weights.size() - 1, k);
        }
        return b;
    }

    // A first gradient is copied, where adding it to a row of zeros would pass twice over the row.
    void hook(Bound& b, size_t i, size_t k) {
        using torch::autograd::utils::LambdaPostHook;
        auto node = torch::autograd::impl::grad_accumulator(b.weights[i].parameters[k]);
        node->add_post_hook(
            std::make_unique<LambdaPostHook>([this, &b, i, k](const auto& outputs, const auto&) {
                torch::Tensor& gradient = b.weights[i].parameters[k].mutable_grad();
                torch::Tensor& row = b.weights[i].gradients[k];
                if (reached[k]) {
                    row.add_(gradient);
                } else if (gradient.data_ptr() != row.data_ptr()) {
                    row.copy_(gradient);
                }
                gradient.reset();
                reached[k] = true;
                watch.complete(static_cast<int>(k));
                return outputs;
            }));
        b.accumulators.push_back(std::move(node));
    }

    /// In training iteration t of the local replica i, whichever rank holds it.
    torch::Tensor forward(const Weights& weights, const data::Batch& batch, int64_t t, int64_t i,
                          int64_t part = 0) {
        if (model.declaration().draws) {
            const auto replica = static_cast<uint64_t>(replicas.x().first + i);
            const auto iteration = static_cast<uint64_t>(t);
            base::Random key(passes.dropout_seed, base::Purpose::dropout, {replica, iteration});
            if (part > 0) {
                key = base::Random(passes.dropout_seed, base::Purpose::dropout,
                                   {replica, iteration, static_cast<uint64_t>(part)});
            }
            torch::manual_seed(key.bits64() >> 1);
        }
        if (!batch.continues) {
            for (torch::Tensor each : weights.carried) each.zero_();
        }
        return model.forward(weights, input_tensor(batch), true);
    }

    /// The gradient of the mean minibatch loss into the gradient row i. `ready`: told of buckets by
    /// the last part's backward; null: nobody is.
    Score gradient(Bound& b, const data::Batch& batch, int64_t t, int64_t i,
                   const std::function<void(arena::Columns)>* ready) {
        const int64_t parts = passes.parts;
        Weights weights = b.weights[static_cast<size_t>(i)];
        Score mean{0, 0};
        std::fill(reached.begin(), reached.end(), false);
        for (int64_t k = 0; k < parts; ++k) {
            const data::Batch part = parts == 1 ? batch : data::part(batch, k, parts);
            if (part.count == 0) continue;
            const double share = static_cast<double>(part.terms) / static_cast<double>(batch.terms);
            const torch::Tensor output = forward(weights, part, t, i, k);
            torch::Tensor loss = model.loss(output, part, passes.smoothing);
            mean.loss += share * loss.item<double>();
            mean.accuracy +=
                model.correct(output.detach(), part, 1) / static_cast<double>(batch.terms);
            if (ready && k + 1 == parts) watch.start(ready);
            if (parts > 1) loss = share * loss;
            loss.backward();
            weights.gradients.clear();  // from now on they are added to
        }
        zero_unreached(b, static_cast<size_t>(i));
        return mean;
    }

    void backward(Bound& b, size_t i, const torch::Tensor& loss) {
        std::fill(reached.begin(), reached.end(), false);
        loss.backward();
        zero_unreached(b, i);
    }

    void zero_unreached(Bound& b, size_t i) {
        for (size_t k = 0; k < reached.size(); ++k) {
            if (!reached[k]) b.weights[i].gradients[k].zero_();
        }
    }
};

Executor::Executor(const Model& model, Replicas& replicas, const Passes& passes)
    : impl_(std::make_unique<Impl>(model, replicas, passes)) {}
Executor::~Executor() = default;

void Executor::gradients(int64_t t, arena::Rows x, data::Loader& loader, algorithms::Timers& timers,
                         const std::function<void(arena::Columns)>& ready, double* loss,
                         double* accuracy) {
    if (impl_->stacked) {
        const algorithms::TimedScope scope(timers, algorithms::Time::gradient);
        const auto next = [&](int64_t) -> const data::Batch& {
            const algorithms::TimedScope waiting(timers, algorithms::Time::data);
            return loader.next();
        };
        impl_->watch.start(&ready);
        impl_->stacked->gradients(x, next, loss, accuracy,
                                  [&](int tensor) { impl_->watch.complete(tensor); });
        impl_->watch.finish();
        return;
    }
    Impl::Bound& bound = impl_->bind(x);
    const algorithms::TimedScope scope(timers, algorithms::Time::gradient);
    for (int64_t i = 0; i < x.count; ++i) {
        const data::Batch* batch;
        {
            const algorithms::TimedScope waiting(timers, algorithms::Time::data);
            batch = &loader.next();
        }
        const Score score =
            impl_->gradient(bound, *batch, t, i, i + 1 == x.count ? &ready : nullptr);
        loss[i] = score.loss;
        accuracy[i] = score.accuracy;
    }
    impl_->watch.finish();
}

Executor::Score Executor::gradient(int64_t t, arena::Rows x, int64_t i, const data::Batch& batch,
                                   algorithms::Timers& timers) {
    Impl::Bound& bound = impl_->bind(x);
    const algorithms::TimedScope scope(timers, algorithms::Time::gradient);
    return impl_->gradient(bound, batch, t, i, nullptr);
}

void Executor::distil(int64_t t, arena::Rows x, arena::Rows teacher, const BatchOf& batch,
                      double temperature, algorithms::Timers& timers) {
    Impl::Bound& bound = impl_->bind(x);
    const Model& model = impl_->model;
    const algorithms::TimedScope scope(timers, algorithms::Time::gradient);
    for (int64_t i = 0; i < x.count; ++i) {
        const data::Batch* data;
        {
            const algorithms::TimedScope waiting(timers, algorithms::Time::data);
            data = &batch(i);
        }
        Weights student = bound.weights[static_cast<size_t>(i)];
        for (torch::Tensor& buffer : student.buffers) buffer = buffer.clone();
        student.carried.clear();
        torch::Tensor wanted;
        {
            const torch::NoGradGuard no_grad;
            const Weights weights{views(impl_->replicas.layout(), teacher, i), student.buffers};
            wanted = impl_->forward(weights, *data, t, i);
        }
        const torch::Tensor output = impl_->forward(student, *data, t, i);
        impl_->backward(bound, static_cast<size_t>(i), model.distance(output, wanted, temperature));
    }
}

Weights Executor::Impl::around(const char* weights, int64_t i) const {
    const arena::Rows row{const_cast<char*>(weights), replicas.x().type, arena::Space::host, 0, 1};
    return {views(replicas.layout(), row, 0),
            views(replicas.buffer_layout(), replicas.buffers(), i)};
}

void Executor::linearise(const char* weights, int64_t i, const data::Batch& batch,
                         const algorithms::Linearised& out, algorithms::Timers& timers) const {
    const algorithms::TimedScope scope(timers, algorithms::Time::gradient);
    DBENCH_EXPECT(batch.count == out.samples);
    Weights around = impl_->around(weights, i);
    for (torch::Tensor& parameter : around.parameters) parameter.requires_grad_(true);
    const torch::Tensor input = input_tensor(batch);
    const torch::Tensor one_hot =
        torch::eye(out.outputs, torch::TensorOptions(scalar_type(out.type)));
    arena::with_type(out.type, [&]<class T>() {
        const auto tensor_at = [&](T* data, at::IntArrayRef shape) {
            return torch::from_blob(data, shape, scalar_type(out.type));
        };
        tensor_at(out.y<T>(), {out.samples, out.outputs})
            .copy_(batch.labels ? one_hot.index({label_tensor(batch)})
                                : target_tensor(batch).unsqueeze(1));
        for (int64_t s = 0; s < out.samples; ++s) {
            const torch::Tensor output =
                impl_->model.forward(around, input.narrow(0, s, 1), false).view({out.outputs});
            tensor_at(out.f<T>() + s * out.outputs, {out.outputs}).copy_(output.detach());
            for (int64_t c = 0; c < out.outputs; ++c) {
                T* next = out.jacobian<T>(s, c);
                const auto gradients =
                    torch::autograd::grad({output}, around.parameters, {one_hot[c]},
                                          c + 1 < out.outputs, false, /*allow_unused=*/true);
                for (size_t k = 0; k < gradients.size(); ++k) {
                    torch::Tensor to = tensor_at(next, around.parameters[k].sizes());
                    gradients[k].defined() ? to.copy_(gradients[k]) : to.zero_();
                    next += to.numel();
                }
            }
        }
    });
}

double Executor::loss(const char* weights, int64_t i, const data::Batch& batch,
                      algorithms::Timers& timers) const {
    const algorithms::TimedScope scope(timers, algorithms::Time::gradient);
    const torch::NoGradGuard no_grad;
    const torch::Tensor output =
        impl_->model.forward(impl_->around(weights, i), input_tensor(batch), false);
    return impl_->model.loss(output, batch).item<double>();
}

double Executor::estimate_seconds(const data::Batch& batch) {
    const torch::NoGradGuard no_grad;
    Weights weights = impl_->bind(impl_->replicas.x()).weights[0];
    weights.carried.clear();
    double best = std::numeric_limits<double>::infinity();
    for (int trial = 0; trial < 3; ++trial) {  // the first one warms up
        const base::Stopwatch watch;
        impl_->model.forward(weights, input_tensor(batch), false);
        best = std::min(best, watch.seconds());
    }
    return 3 * best;  // backward costs about two forwards
}

}  // namespace dbench::train
