#include "train/passes/replica_pass.hpp"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "base/clock.hpp"
#include "base/random.hpp"
#include "base/trace.hpp"
#include "train/device/device.hpp"
#include "train/models/model.hpp"
#include "train/passes/channels_last_weights.hpp"
#include "train/passes/gradient_parts.hpp"
#include "train/replicas.hpp"
#include "train/tensors.hpp"

namespace dbench::train {

struct ReplicaPass::Impl {
    /// LibTorch's tensors over the rows of a local replica, for one address of its parameters.
    struct Bound {
        Weights weights;
        // They keep the hooks alive. The first pass makes them, because they belong to its stream.
        std::vector<std::shared_ptr<torch::autograd::Node>> accumulators = {};
    };

    const Model& model;
    Replicas& replicas;
    PassOptions options;
    int64_t streams;
    BucketWatch& watch;
    Device& device;
    torch::Device torch_device;
    std::map<const void*, std::deque<Bound>> bound;  // by the address of x
    std::vector<bool> reached;  // tensors whose gradient this backward has computed
    // Null on the host: there each gradient is copied at once, while it is in the CPU's caches.
    std::unique_ptr<GradientParts> gradient_parts;
    ChannelsLastWeights ordered;
    double forward_seconds = 0;

    Impl(const Model& m, Replicas& r, const PassOptions& o, int64_t n, BucketWatch& w)
        : model(m),
          replicas(r),
          options(o),
          streams(n),
          watch(w),
          device(r.device()),
          torch_device(torch_device_of(r.device())),
          reached(r.layout().tensors().size()),
          ordered(r.layout(), r.device().place(), r.x().type, n,
                  !r.device().place().immediate() && m.order() == data::Order::channels_last) {
        if (!device.place().immediate())
            gradient_parts = std::make_unique<GradientParts>(r.layout());
    }

    int64_t stream_index(int64_t i) const { return i % streams; }

    std::vector<torch::Tensor> views_of(const arena::Layout& layout, const arena::Rows& rows,
                                        int64_t i) const {
        return views(layout, rows, i, torch_device);
    }

    // Returns leaf tensors over the rows of x, whose gradients are written to the gradient rows.
    Bound& bind(const arena::Rows& x, int64_t i) {
        std::deque<Bound>& all = bound[x.data];
        for (int64_t j = std::ssize(all); j < x.count; ++j) {
            Weights w{views_of(replicas.layout(), x, j),
                      views_of(replicas.buffer_layout(), replicas.buffers(), j),
                      views_of(replicas.layout(), replicas.g(), j),
                      views_of(replicas.carried_layout(), replicas.carried(), j)};
            for (size_t k = 0; k < w.parameters.size(); ++k) {
                const torch::Tensor leaf = ordered.leaf(k, stream_index(j), torch_device);
                if (leaf.defined()) w.parameters[k] = leaf;
                w.parameters[k].requires_grad_(true);
            }
            all.push_back({std::move(w)});
        }
        return all.at(static_cast<size_t>(i));
    }

    /// Begins a pass and returns its tensors.
    Bound& start(const arena::Rows& x, int64_t i, arena::Queue& queue) {
        Bound& b = bind(x, i);
        for (size_t k = b.accumulators.size(); k < b.weights.parameters.size(); ++k) hook(b, k);
        ordered.reorder(x, i, stream_index(i), queue);
        std::fill(reached.begin(), reached.end(), false);
        return b;
    }

    // Adds the hook that LibTorch calls when backward has completed the gradient of tensor k. On
    // the host the first gradient of a pass is copied into the row: adding it to zeros would read
    // and write the row twice. On a device the gradient is recorded and written with others in one
    // launch.
    void hook(Bound& b, size_t k) {
        using torch::autograd::utils::LambdaPostHook;
        auto node = torch::autograd::impl::grad_accumulator(b.weights.parameters[k]);
        node->add_post_hook(
            std::make_unique<LambdaPostHook>([this, &b, k](const auto& outputs, const auto&) {
                torch::Tensor& gradient = b.weights.parameters[k].mutable_grad();
                torch::Tensor& row = b.weights.gradients[k];
                if (gradient_parts) {
                    if (gradient.data_ptr() != row.data_ptr())
                        gradient_parts->take(k, gradient, reached[k]);
                } else if (reached[k]) {
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

    /// Prepares the forward pass of the local replica i in iteration t: seeds the model's random
    /// numbers, with a key that does not depend on the rank, and clears carried state if a text
    /// begins.
    void prepare(const Weights& weights, const data::Batch& batch, int64_t t, int64_t i,
                 int64_t microbatch = 0) {
        if (model.declaration().draws) {
            const auto replica = static_cast<uint64_t>(replicas.x().first + i);
            const auto iteration = static_cast<uint64_t>(t);
            base::Random key(options.dropout_seed, base::Purpose::dropout, {replica, iteration});
            if (microbatch > 0) {
                key = base::Random(options.dropout_seed, base::Purpose::dropout,
                                   {replica, iteration, static_cast<uint64_t>(microbatch)});
            }
            torch::manual_seed(key.bits64() >> 1);
        }
        if (!batch.continues) {
            for (torch::Tensor each : weights.carried) each.zero_();
        }
    }
    torch::Tensor forward(const Weights& weights, const data::Batch& batch) const {
        return model.forward_terms(weights, input_tensor(batch, torch_device), batch.terms, true);
    }

    /// Writes the scores of a micro-batch, or adds them to those of the earlier ones
    /// (`further`).
    void tally(const torch::Tensor& output, const torch::Tensor& loss, const data::Batch& part,
               double terms, bool further, const ScoreMemory& sums, arena::Queue& queue) const {
        const double share = static_cast<double>(part.terms) / terms;
        if (gradient_parts) {
            write_scores(model, output, loss, part, share, terms, further, sums, queue);
            return;
        }
        *sums.loss += share * loss.item<double>();
        *sums.accuracy += model.correct(output.detach(), part, 1) / terms;
    }

    /// Writes gradients that backward has left elsewhere into the gradient row i.
    void collect(int64_t i, arena::Columns columns, arena::Queue& queue) {
        if (gradient_parts) gradient_parts->write(replicas.g().only(i), columns, queue);
    }

    /// Completes the gradient row i after backward.
    void finish(const Bound& b, int64_t i, arena::Queue& queue) {
        collect(i, replicas.layout().all(), queue);
        if (gradient_parts) return gradient_parts->zero(replicas.g().only(i), reached, queue);
        for (size_t k = 0; k < reached.size(); ++k) {
            if (!reached[k]) torch::Tensor(b.weights.gradients[k]).zero_();
        }
    }
};

ReplicaPass::ReplicaPass(const Model& model, Replicas& replicas, const PassOptions& options,
                         int64_t streams, BucketWatch& watch)
    : impl_(std::make_unique<Impl>(model, replicas, options, streams, watch)) {}
ReplicaPass::~ReplicaPass() = default;

void ReplicaPass::gradient(const arena::Rows& x, int64_t i, const data::Batch& batch,
                           std::optional<int64_t> t, const Ready* ready, const ScoreMemory& sums,
                           arena::Queue& queue) {
    Impl& s = *impl_;
    const int64_t count = s.options.microbatches;
    Impl::Bound& b = s.start(x, i, queue);
    Weights weights = b.weights;
    weights.queue = queue;
    if (!s.gradient_parts) *sums.loss = *sums.accuracy = 0;
    bool further = false;
    const int64_t replica = x.first + i;
    for (int64_t k = 0; k < count; ++k) {
        const data::Batch part = count == 1 ? batch : data::microbatch(batch, k, count);
        if (part.count == 0) continue;
        const double share = static_cast<double>(part.terms) / static_cast<double>(batch.terms);
        torch::Tensor loss;
        {
            const base::TraceSpan span(base::Work::forward, replica);
            const base::Stopwatch watch;
            if (t) s.prepare(weights, part, *t, i, k);
            const torch::Tensor output = s.forward(weights, part);
            loss = s.model.loss(output, part, s.options.smoothing);
            s.tally(output, loss, part, static_cast<double>(batch.terms), further, sums, queue);
            s.forward_seconds += watch.seconds();
        }
        const base::TraceSpan span(base::Work::backward, replica);
        if (ready && k + 1 == count) {
            s.watch.start(ready,
                          [&s, i, &queue](arena::Columns bucket) { s.collect(i, bucket, queue); });
        }
        if (count > 1) loss = share * loss;
        loss.backward();
        s.collect(i, s.replicas.layout().all(), queue);
        weights.gradients.clear();  // later micro-batches add their gradients
        further = true;
    }
    s.finish(b, i, queue);
}

double ReplicaPass::take_forward_seconds() { return std::exchange(impl_->forward_seconds, 0); }

void ReplicaPass::distil(const arena::Rows& x, const arena::Rows& teacher, int64_t i,
                         const data::Batch& batch, int64_t t, double temperature,
                         arena::Queue& queue) {
    Impl& s = *impl_;
    Impl::Bound& b = s.start(x, i, queue);
    Weights student = b.weights;
    student.queue = queue;
    for (torch::Tensor& buffer : student.buffers) buffer = buffer.clone();
    student.carried.clear();
    torch::Tensor wanted;
    {
        const torch::NoGradGuard no_grad;
        const Weights weights{
            s.views_of(s.replicas.layout(), teacher, i), student.buffers, {}, {}, queue};
        s.prepare(weights, batch, t, i);
        wanted = s.forward(weights, batch);
    }
    s.prepare(student, batch, t, i);
    const torch::Tensor output = s.forward(student, batch);
    s.model.distance(output, wanted, temperature).backward();
    s.finish(b, i, queue);
}

bool ReplicaPass::needs_preparation() const {
    const Declaration& declaration = impl_->model.declaration();
    return declaration.draws || !declaration.carried.empty();
}

void ReplicaPass::prepare(const arena::Rows& x, int64_t i, const data::Batch& batch, int64_t t) {
    impl_->prepare(impl_->bind(x, i).weights, batch, t, i);
}

std::vector<arena::Access> ReplicaPass::preparation_accesses(int64_t i) const {
    const arena::Layout& layout = impl_->replicas.carried_layout();
    if (layout.columns() == 0) return {};
    return {arena::writes(impl_->replicas.carried().only(i), layout.all())};
}

std::vector<arena::Access> ReplicaPass::memory(int64_t i) const {
    if (impl_->ordered.empty()) return {};
    const arena::Rows memory = impl_->ordered.memory(impl_->stream_index(i));
    return {arena::writes(memory, {0, memory.stride})};
}

void ReplicaPass::stop(const arena::Rows& x, int64_t i) {
    if (impl_->gradient_parts) impl_->gradient_parts->drop();
    for (torch::Tensor each : impl_->bind(x, i).weights.parameters) each.mutable_grad().reset();
}

}  // namespace dbench::train
