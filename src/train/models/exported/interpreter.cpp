#include "train/models/exported/interpreter.hpp"

#include <ATen/autocast_mode.h>
#include <ATen/functorch/BatchedTensorImpl.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "train/models/exported/fields.hpp"
#include "train/models/exported/plan.hpp"
#include "train/models/layers/fused_attention.hpp"
#include "train/models/layers/norm_relu.hpp"

namespace dbench::train {
namespace {

using c10::IValue;

SymbolValue symbol_of(const IValue& number) {
    if (number.isDouble()) return number.toDouble();
    if (number.isBool()) return number.toBool();
    return number.toInt();
}

/// Sets LibTorch's default type of real numbers during its lifetime.
class DefaultType {
public:
    explicit DefaultType(torch::ScalarType type) : before_(c10::get_default_dtype()) {
        const auto wanted = c10::scalarTypeToTypeMeta(type);
        if (wanted != before_) c10::set_default_dtype(wanted);
    }
    ~DefaultType() {
        if (c10::get_default_dtype() != before_) c10::set_default_dtype(before_);
    }
    DefaultType(const DefaultType&) = delete;
    DefaultType& operator=(const DefaultType&) = delete;

private:
    caffe2::TypeMeta before_;
};

/// True if vmap computes for several replicas at once.
bool batched(const torch::jit::Stack& arguments) {
    return arguments[0].isTensor() && at::functorch::isBatchedTensor(arguments[0].toTensor());
}

/// Computes scaled_dot_product_attention for several replicas at once.
torch::Tensor attention_of_all(const torch::jit::Stack& a) {
    AttentionOptions options{
        .dropout = a[4].toDouble(), .causal = a[5].toBool(), .grouped = a[7].toBool()};
    if (a[3].isTensor()) options.mask = a[3].toTensor();
    if (!a[6].isNone()) options.scale = a[6].toDouble();
    const torch::Tensor q = a[0].toTensor(), k = a[1].toTensor(), v = a[2].toTensor();
    if (q.dim() == 4) return fused_attention(q, k, v, options);
    // The first dimension may not be that of samples, so vmap batches the plain form.
    return std::get<0>(at::_scaled_dot_product_attention_math(q, k, v, options.mask,
                                                              options.dropout, options.causal, {},
                                                              options.scale, options.grouped));
}

/// Notes how many values BatchNorm averages for each channel, if that is the least so far.
void note_values_of_a_mean(const torch::Tensor& x, int64_t* least) {
    if (least != nullptr) *least = std::min(*least, x.numel() / x.size(1));
}

}  // namespace

struct Interpreter::Impl {
    const ExportedGraph& graph;
    GraphPlan plan;
    torch::ScalarType type = torch::kFloat32;  ///< The type of constants in the plan.
    torch::Device place = torch::kCPU;

    Impl(const ExportedGraph& g, const std::set<std::string>& unread) : graph(g), plan(g, unread) {}

    /// Replaces constants that depend on the type of real numbers and on the device.
    void adapt(torch::ScalarType wanted, torch::Device device) {
        if (wanted == type && device == place) return;
        type = wanted;
        place = device;
        adapt(plan.steps);
    }

    void adapt(std::vector<GraphStep>& steps) const {
        for (GraphStep& step : steps) {
            for (Operand& operand : step.operands) {
                if (operand.real_type) operand.constant = static_cast<int64_t>(type);
                if (operand.complex_type) {
                    operand.constant = static_cast<int64_t>(c10::toComplexType(type));
                }
                if (operand.place) operand.constant = place;
            }
            adapt(step.parts);
        }
    }

    /// Computes a convolution or a linear layer as a product, if that takes less time.
    std::optional<torch::Tensor> product(const GraphStep& step, const torch::jit::Stack& stack,
                                         const OwnLayers& own) const {
        const torch::Tensor &x = stack[0].toTensor(), &weight = stack[1].toTensor();
        if (x.scalar_type() != weight.scalar_type()) return std::nullopt;
        const auto bias = stack[2].isTensor() ? std::optional(stack[2].toTensor()) : std::nullopt;
        const bool known = step.weight >= 0 && !own.gradients.empty();
        const torch::Tensor gradient =
            known ? own.gradients[static_cast<size_t>(step.weight)] : torch::Tensor();
        if (step.special == GraphStep::Special::convolution) {
            if (!is_product(x, weight, step.shape)) return std::nullopt;
            return convolution_product(x, weight, bias, step.shape, gradient);
        }
        const bool alone = !at::functorch::isBatchedTensor(x) &&
                           !at::functorch::isBatchedTensor(weight) &&
                           !at::autocast::is_autocast_enabled(at::kCPU);
        if (!gradient.defined() || !alone || !x.device().is_cpu() || x.dim() != 2) {
            return std::nullopt;
        }
        return linear_product(x, weight, bias, gradient);
    }

    /// Computes BatchNorm, sum and ReLU in one pass. Returns false if the tensors do not suit it.
    bool compute_norm_relu(const GraphStep& step, std::vector<IValue>& values,
                           int64_t* least_normalised, arena::Queue& queue) const {
        const NormReluNodes& nodes = step.norm_relu;
        const auto tensor = [&](int slot) -> const torch::Tensor& {
            return values[static_cast<size_t>(slot)].toTensor();
        };
        const torch::Tensor& x = tensor(nodes.x);
        if (!accepts_norm_relu(x, queue)) return false;
        for (const int slot : {nodes.weight, nodes.bias, nodes.mean, nodes.variance}) {
            const torch::Tensor& each = tensor(slot);
            if (at::functorch::isBatchedTensor(each) || each.scalar_type() != x.scalar_type() ||
                each.device() != x.device() || each.dim() != 1 || each.size(0) != x.size(1) ||
                !each.is_contiguous()) {
                return false;
            }
        }
        torch::Tensor added;
        if (nodes.added >= 0) {
            const IValue& other = values[static_cast<size_t>(nodes.added)];
            if (!other.isTensor()) return false;
            added = other.toTensor();
            if (at::functorch::isBatchedTensor(added) || added.scalar_type() != x.scalar_type() ||
                added.device() != x.device() || added.sizes() != x.sizes()) {
                return false;
            }
        }
        note_values_of_a_mean(x, least_normalised);
        values[static_cast<size_t>(graph.nodes[nodes.relu].results[0].slots[0])] = norm_relu(
            x,
            {tensor(nodes.weight), tensor(nodes.bias), tensor(nodes.mean), tensor(nodes.variance)},
            added, nodes.momentum, nodes.eps, queue);
        return true;
    }

    /// Computes a step, or all steps that it replaces.
    void compute(const GraphStep& step, std::vector<IValue>& values, torch::jit::Stack& stack,
                 int64_t* least_normalised, const OwnLayers* own) const {
        try {
            if (step.parts.empty()) {
                call(step, values, stack, least_normalised, own);
            } else if (own == nullptr ||
                       !compute_norm_relu(step, values, least_normalised, own->queue)) {
                for (const GraphStep& part : step.parts) {
                    compute(part, values, stack, least_normalised, nullptr);
                }
            }
        } catch (const c10::OutOfMemoryError&) {
            throw;
        } catch (const c10::Error& error) {
            if (!place.is_cpu()) throw;
            throw base::UserError(plan.where(step.node) + ": " + error.what_without_backtrace() +
                                  ": check that the data suit the model, or export it again");
        }
        for (const int slot : step.unused) values[static_cast<size_t>(slot)] = IValue();
    }

    void call(const GraphStep& step, std::vector<IValue>& values, torch::jit::Stack& stack,
              int64_t* least_normalised, const OwnLayers* own) const {
        stack.clear();
        for (const Operand& operand : step.operands)
            stack.push_back(make_argument(operand, values));
        if (!step.op) {
            std::vector<SymbolValue> numbers;
            for (const IValue& each : stack) numbers.push_back(symbol_of(each));
            const SymbolValue result = step.symbol.function(numbers);
            stack.assign(1, std::visit([](auto value) { return IValue(value); }, result));
        } else {
            if (step.special == GraphStep::Special::batch_norm) {
                note_values_of_a_mean(stack[0].toTensor(), least_normalised);
            }
            const ExportedNode& node = graph.nodes[step.node];
            std::optional<torch::NoGradGuard> no_grad;
            std::optional<c10::impl::ExcludeDispatchKeyGuard> no_autocast;
            if (!node.gradients) no_grad.emplace();
            if (!node.autocast) no_autocast.emplace(c10::autocast_dispatch_keyset);
            const bool layer = step.special == GraphStep::Special::convolution ||
                               step.special == GraphStep::Special::linear;
            std::optional<torch::Tensor> result;
            if (own != nullptr && layer) result = product(step, stack, *own);
            if (result) {
                stack.assign(1, *result);
            } else if (step.special == GraphStep::Special::attention && batched(stack)) {
                stack.assign(1, attention_of_all(stack));
            } else {
                step.op->callBoxed(stack);
            }
        }
        const std::vector<ExportedResult>& results = graph.nodes[step.node].results;
        for (size_t k = 0; k < results.size(); ++k) {
            const ExportedResult& result = results[k];
            if (!result.list) {
                if (result.slots[0] >= 0) {
                    values[static_cast<size_t>(result.slots[0])] = std::move(stack[k]);
                }
                continue;
            }
            const auto list = stack[k].toTensorList();
            if (list.size() < result.slots.size()) {
                throw base::UserError(plan.where(step.node) + ": returns " +
                                      std::to_string(list.size()) + " tensors instead of " +
                                      std::to_string(result.slots.size()) + ": " + kExportAgain);
            }
            for (size_t i = 0; i < result.slots.size(); ++i) {
                values[static_cast<size_t>(result.slots[i])] = torch::Tensor(list[i]);
            }
        }
    }
};

Interpreter::Interpreter(const ExportedGraph& graph, const std::set<std::string>& unread)
    : impl_(std::make_unique<Impl>(graph, unread)) {}
Interpreter::~Interpreter() = default;

const GraphFacts& Interpreter::facts() const { return impl_->plan.facts; }

void Interpreter::find_writes(std::vector<torch::Tensor> inputs, torch::ScalarType type,
                              torch::Device place) {
    std::vector<int64_t> versions;
    for (const torch::Tensor& each : inputs) versions.push_back(each._version());
    run(inputs, {}, type, place, nullptr);
    // Instance normalisation writes unchanged statistics back. The plan knows who changes them.
    std::set<size_t> planned;
    for (const GraphFacts::Statistics& each : facts().statistics) {
        planned.insert({each.mean, each.variance});
    }
    for (size_t k = 0; k < inputs.size(); ++k) {
        if (inputs[k]._version() == versions[k] || planned.contains(k)) continue;
        impl_->plan.facts.written.insert(k);
    }
}

std::vector<torch::Tensor> Interpreter::run(std::vector<torch::Tensor> inputs,
                                            const std::vector<size_t>& outputs,
                                            torch::ScalarType type, torch::Device place,
                                            int64_t* least_normalised, const OwnLayers* own) const {
    Impl& s = *impl_;
    s.adapt(type, place);
    const DefaultType real(type);
    std::vector<IValue> values(s.graph.values.size());
    for (size_t k = 0; k < inputs.size(); ++k) {
        values[static_cast<size_t>(s.graph.inputs[k].slot)] = std::move(inputs[k]);
    }
    torch::jit::Stack stack;
    stack.reserve(32);
    for (const GraphStep& step : s.plan.steps) {
        s.compute(step, values, stack, least_normalised, own);
    }
    std::vector<torch::Tensor> results;
    for (const size_t output : outputs) {
        const IValue& result = values[static_cast<size_t>(s.graph.outputs[output])];
        if (!result.isTensor()) {
            refuse_export(s.graph.where, "returns something that is not a tensor");
        }
        results.push_back(result.toTensor());
    }
    return results;
}

}  // namespace dbench::train
