#include "train/passes/stacked_pass.hpp"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "base/error.hpp"
#include "base/trace.hpp"
#include "train/batches/batch_memory.hpp"
#include "train/batches/resident_images.hpp"
#include "train/device/device.hpp"
#include "train/mapped.hpp"
#include "train/models/model.hpp"
#include "train/passes/gradient_parts.hpp"
#include "train/passes/stacked_tensors.hpp"
#include "train/replicas.hpp"
#include "train/tensors.hpp"

namespace dbench::train {
namespace {

using torch::autograd::utils::LambdaPostHook;

/// Returns tensors (R, shape...) over all local rows, in the layout's order, without copies.
std::vector<torch::Tensor> stacked_views(const arena::Layout& layout, const arena::Rows& rows,
                                         torch::Device torch_device) {
    std::vector<torch::Tensor> out;
    for (const torch::Tensor& first : views(layout, rows, 0, torch_device)) {
        std::vector<int64_t> shape = first.sizes().vec(), strides = first.strides().vec();
        shape.insert(shape.begin(), rows.count);
        strides.insert(strides.begin(), rows.stride);
        out.push_back(torch::from_blob(first.data_ptr(), shape, strides, first.options()));
    }
    return out;
}

/// The minibatches of all local replicas, one after another, as one minibatch.
class JoinedBatch {
public:
    /// `pinned`: uses memory that a GPU can read without the host.
    explicit JoinedBatch(bool pinned) : inputs_(pinned), labels_(pinned), targets_(pinned) {}

    void write(const data::Batch& batch, int64_t i, int64_t replicas) {
        const int64_t element = batch.tokens ? 8 : arena::size_of(batch.type);
        int64_t numel = 1;
        for (const int64_t size : batch.shape) numel *= size;
        if (i == 0) {
            all_ = batch;
            all_.count *= replicas;
            all_.terms *= replicas;
            all_.shape[0] *= replicas;
        }
        DBENCH_EXPECT(batch.count * replicas == all_.count && batch.terms * replicas == all_.terms);
        if (batch.windows.empty()) {
            all_.inputs = copy(inputs_, batch.inputs, numel * element, i, replicas);
        } else if (i > 0) {
            all_.windows.insert(all_.windows.end(), batch.windows.begin(), batch.windows.end());
        }
        if (batch.labels) {
            const void* labels = copy(labels_, batch.labels, batch.terms * 8, i, replicas);
            all_.labels = static_cast<const int64_t*>(labels);
        } else {
            all_.targets = copy(targets_, batch.targets, batch.count * arena::size_of(batch.type),
                                i, replicas);
        }
    }
    void set_inputs(void* inputs) {
        all_.inputs = inputs;
        all_.on_device = true;
    }
    const data::Batch& batch() const { return all_; }

private:
    static void* copy(BatchMemory& to, const void* from, int64_t bytes, int64_t i,
                      int64_t replicas) {
        auto* const memory = static_cast<std::byte*>(to.bytes(bytes * replicas));
        std::memcpy(memory + i * bytes, from, static_cast<size_t>(bytes));
        return memory;
    }

    data::Batch all_;
    BatchMemory inputs_, labels_, targets_;  // reused from batch to batch
};

}  // namespace

struct StackedPass::Impl {
    struct Leaves {
        std::vector<torch::Tensor> parameters;                             // (R, shape...)
        std::vector<std::shared_ptr<torch::autograd::Node>> accumulators;  // keep the hooks alive
    };

    const Model& model;
    Replicas& replicas;
    double smoothing;
    ResidentImages* resident;
    Device& device;
    torch::Device torch_device;
    std::vector<torch::Tensor> gradients;  // (R, shape...)
    std::map<const void*, Leaves> leaves;  // by the memory of x
    std::shared_ptr<JoinedBatch> joined;
    // Null on the host. On a device they move all tensors together in one launch.
    std::unique_ptr<GradientParts> gradient_parts;
    std::unique_ptr<StackedTensors> weights, statistics;
    std::vector<bool> reached;  // tensors whose gradient this backward has computed
    const std::function<void(int)>* complete = nullptr;

    Leaves& bind(const arena::Rows& x) {
        Leaves& l = leaves[x.data];
        if (!l.parameters.empty()) return l;
        l.parameters = stacked_views(replicas.layout(), x, torch_device);
        for (size_t k = 0; k < l.parameters.size(); ++k) {
            const torch::Tensor contiguous =
                weights ? weights->tensor(k, torch_device) : torch::Tensor();
            if (contiguous.defined()) l.parameters[k] = contiguous;
            l.parameters[k].requires_grad_(true);
            auto node = torch::autograd::impl::grad_accumulator(l.parameters[k]);
            node->add_post_hook(
                std::make_unique<LambdaPostHook>([this, &l, k](const auto& outputs, const auto&) {
                    torch::Tensor& gradient = l.parameters[k].mutable_grad();
                    gradient_parts ? gradient_parts->take(k, gradient, false)
                                   : void(gradients[k].copy_(gradient));
                    gradient.reset();
                    reached[k] = true;
                    (*complete)(static_cast<int>(k));
                    return outputs;
                }));
            l.accumulators.push_back(std::move(node));
        }
        return l;
    }

    /// Returns outputs of shape (R, samples, ...).
    torch::Tensor forward(const arena::Rows& x, const Leaves& at, const torch::Tensor& inputs,
                          arena::Queue& queue) {
        if (weights) weights->gather(x, queue);
        const std::vector<torch::Tensor> rows =
            stacked_views(replicas.buffer_layout(), replicas.buffers(), torch_device);
        std::vector<torch::Tensor> buffers;  // contiguous, as layers require them
        if (statistics) statistics->gather(replicas.buffers(), queue);
        for (size_t k = 0; k < rows.size(); ++k) {
            buffers.push_back(statistics ? statistics->tensor(k, torch_device)
                                         : rows[k].contiguous());
        }
        torch::Tensor output;
        {
            const Mapped mapped(replicas.x().count);
            const Weights all{mapped.each(at.parameters), mapped.each(buffers), {}, {}, queue};
            output = Mapped::all(model.forward(all, mapped.each(inputs), true));
        }
        if (statistics) {
            statistics->scatter(replicas.buffers(), queue);
        } else {
            for (size_t k = 0; k < rows.size(); ++k) rows[k].detach().copy_(buffers[k]);
        }
        return output;
    }
};

StackedPass::StackedPass(const Model& model, Replicas& replicas, double smoothing,
                         ResidentImages* resident)
    : impl_(std::make_unique<Impl>(model, replicas, smoothing, resident, replicas.device(),
                                   torch_device_of(replicas.device()))) {
    DBENCH_EXPECT(algorithms::batched_obstacle(facts_of(model)).empty());
    const arena::Place device_place = impl_->device.place();
    if (!device_place.immediate()) {
        const auto grouped = [](const arena::Tensor& tensor) {
            return tensor.kind == arena::TensorKind::norm || tensor.shape.size() == 4;
        };
        impl_->gradient_parts = std::make_unique<GradientParts>(replicas.layout());
        impl_->weights = std::make_unique<StackedTensors>(replicas.layout(), device_place,
                                                          replicas.x(), grouped);
        impl_->statistics = std::make_unique<StackedTensors>(replicas.buffer_layout(), device_place,
                                                             replicas.buffers(), grouped);
    }
    impl_->gradients = stacked_views(replicas.layout(), replicas.g(), impl_->torch_device);
    impl_->reached.resize(impl_->gradients.size());
}
StackedPass::~StackedPass() = default;

std::shared_ptr<const data::Batch> StackedPass::join_batches(int64_t replicas,
                                                             const BatchOf& batch) {
    Impl& s = *impl_;
    if (!s.joined || !s.device.place().immediate()) {
        s.joined = std::make_shared<JoinedBatch>(s.device.gpu().has_value());
    }
    for (int64_t i = 0; i < replicas; ++i) s.joined->write(batch(i), i, replicas);
    const std::vector<arena::Window>& windows = s.joined->batch().windows;
    if (!windows.empty()) {
        DBENCH_EXPECT(s.resident != nullptr);
        s.joined->set_inputs(s.resident->gather(windows, 0, s.device.place().compute()));
    }
    return {s.joined, &s.joined->batch()};
}

void StackedPass::gradients(arena::Rows x, const data::Batch& all, const ScoreMemory& sums,
                            const std::function<void(int)>& complete, arena::Queue& queue) {
    Impl& s = *impl_;
    const base::TraceSpan span(base::Work::backward);
    const torch::Tensor output = s.forward(
        x, s.bind(x), input_tensor(all, s.torch_device).unflatten(0, {x.count, -1}), queue);
    const torch::Tensor terms = output.flatten(0, 1);
    // Each replica has its own mean, which depends on its own parameters only.
    const torch::Tensor means =
        s.model.term_losses(terms, all, s.smoothing).view({x.count, -1}).mean(1);
    const double of_each = static_cast<double>(all.terms) / static_cast<double>(x.count);
    write_scores(s.model, output, means, all, 1, of_each, false, sums, queue);
    std::fill(s.reached.begin(), s.reached.end(), false);
    s.complete = &complete;
    means.sum().backward();
    collect(s.replicas.layout().all(), queue);
    if (s.gradient_parts) return s.gradient_parts->zero(s.replicas.g(), s.reached, queue);
    for (size_t k = 0; k < s.reached.size(); ++k) {
        if (!s.reached[k]) s.gradients[k].zero_();
    }
}

void StackedPass::collect(arena::Columns columns, arena::Queue& queue) {
    if (impl_->gradient_parts) impl_->gradient_parts->write(impl_->replicas.g(), columns, queue);
}

std::vector<arena::Access> StackedPass::memory() const {
    std::vector<arena::Access> all;
    for (const auto& each : {&impl_->weights, &impl_->statistics}) {
        if (*each) all.push_back((*each)->memory());
    }
    return all;
}

void StackedPass::stop() {
    if (impl_->gradient_parts) impl_->gradient_parts->drop();
    for (auto& [memory, leaves] : impl_->leaves) {
        for (torch::Tensor& each : leaves.parameters) each.mutable_grad().reset();
    }
}

}  // namespace dbench::train
