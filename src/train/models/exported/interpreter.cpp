#include "train/models/exported/interpreter.hpp"

#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/enum_tag.h>
#include <ATen/functorch/BatchedTensorImpl.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "train/models/exported/arguments.hpp"
#include "train/models/exported/fields.hpp"
#include "train/models/exported/norm_relu_nodes.hpp"
#include "train/models/exported/symbols.hpp"
#include "train/models/layers/norm_relu.hpp"
#include "train/models/layers/products.hpp"

namespace dbench::train {
namespace {

using c10::IValue;

/// Operators without results that only check what torch.export has already checked, among others
/// the types of float32 tensors, which a run in float64 changes.
bool is_assertion(const std::string& target) {
    for (const char* name : {"_assert_tensor_metadata", "_assert_scalar", "_assert_async",
                             "sym_constrain_range", "sym_constrain_range_for_size"}) {
        if (target.starts_with("torch.ops.aten." + std::string(name) + ".")) return true;
    }
    return false;
}

/// True if the operator's result depends on the order of its arguments in memory, and not only on
/// their values.
bool reads_strides(const std::string& plain) {
    for (const char* word : {"stride", "storage", "resize_", "is_contiguous"}) {
        if (plain.find(word) != plain.npos) return true;
    }
    return plain == "set_";
}

struct Target {
    std::string name, overload;  ///< For example aten::conv2d and "".
    std::string plain;           ///< For example conv2d.
};

/// Splits torch.ops.NAMESPACE.NAME.OVERLOAD; empty if the target has another form.
std::optional<Target> split_target(const std::string& target) {
    constexpr const char* kBegin = "torch.ops.";
    if (!target.starts_with(kBegin)) return std::nullopt;
    const size_t begin = std::char_traits<char>::length(kBegin), dot = target.find('.', begin);
    const size_t last = target.rfind('.');
    if (dot == target.npos || last <= dot) return std::nullopt;
    const std::string plain = target.substr(dot + 1, last - dot - 1);
    const std::string overload = target.substr(last + 1);
    return Target{target.substr(begin, dot - begin) + "::" + plain,
                  overload == "default" ? "" : overload, plain};
}

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

/// Computes scaled_dot_product_attention in the only form that vmap can batch.
torch::Tensor plain_attention(const torch::jit::Stack& a) {
    const auto mask = a[3].isTensor() ? std::optional(a[3].toTensor()) : std::nullopt;
    const auto scale = a[6].isNone() ? std::nullopt : std::optional(a[6].toDouble());
    return std::get<0>(at::_scaled_dot_product_attention_math(
        a[0].toTensor(), a[1].toTensor(), a[2].toTensor(), mask, a[4].toDouble(), a[5].toBool(), {},
        scale, a[7].toBool()));
}

struct Step {
    enum class Special : uint8_t { none, batch_norm, attention, convolution, linear, norm_relu };

    size_t node;
    std::optional<c10::OperatorHandle> op;  ///< Empty: `symbol` computes it.
    SymbolOperator symbol;
    std::vector<Operand> operands;
    Special special = Special::none;
    std::vector<int> unused = {};  ///< Values that no later step reads.
    /// The steps in place of which this one stands, if norm_relu may compute them.
    std::vector<Step> parts = {};
    NormReluNodes norm_relu = {};
    Convolution2d shape = {};
    int weight = -1;  ///< The input that is the layer's weight, if nothing else reads it.
};

/// Notes how many values BatchNorm averages for each channel, if that is the least so far.
void note_values_of_a_mean(const torch::Tensor& x, int64_t* least) {
    if (least != nullptr) *least = std::min(*least, x.numel() / x.size(1));
}

}  // namespace

struct Interpreter::Impl {
    const ExportedGraph& graph;
    GraphFacts facts;
    std::vector<Step> steps;
    torch::ScalarType type = torch::kFloat32;  ///< The type of constants in `steps`.
    torch::Device place = torch::kCPU;

    explicit Impl(const ExportedGraph& g) : graph(g) {
        std::set<std::string> unknown;
        for (size_t k = 0; k < graph.nodes.size(); ++k) add(k, unknown);
        facts.unknown.assign(unknown.begin(), unknown.end());
        if (!facts.unknown.empty()) return;
        leave_out_counters();
        find_facts();
        find_layers();
        combine();
        find_uses();
    }

    std::string where(size_t node) const {
        return graph.where + ": operator " + std::to_string(node) + ", " + graph.nodes[node].target;
    }

    void add(size_t k, std::set<std::string>& unknown) {
        const ExportedNode& node = graph.nodes[k];
        if (is_assertion(node.target)) return;
        Step step{k, std::nullopt, symbol_operator(node.target), {}, Step::Special::none};
        if (step.symbol.function != nullptr) {
            add_symbol(node, step);
            return;
        }
        const auto target = split_target(node.target);
        if (target) {
            step.op = c10::Dispatcher::singleton().findSchema({target->name, target->overload});
        }
        if (!step.op) {
            unknown.insert(node.target);
            return;
        }
        if (target->name == "aten::batch_norm") step.special = Step::Special::batch_norm;
        if (target->name == "aten::scaled_dot_product_attention") {
            step.special = Step::Special::attention;
        }
        const c10::FunctionSchema& schema = step.op->schema();
        std::set<std::string> names;
        for (const c10::Argument& argument : schema.arguments()) {
            names.insert(argument.name());
            step.operands.push_back(resolve_argument(node, argument, where(k)));
        }
        for (const ExportedArgument& given : node.arguments) {
            if (!names.contains(given.name)) {
                refuse_export(where(k), "has no argument " + given.name);
            }
        }
        if (node.results.size() > schema.returns().size()) {
            refuse_export(where(k), "has fewer results than the file reads");
        }
        steps.push_back(std::move(step));
    }

    void add_symbol(const ExportedNode& node, Step& step) {
        for (const ExportedArgument& given : node.arguments) {
            if (given.list || given.items.size() != 1) {
                refuse_export(where(step.node), "computes with a list of sizes");
            }
            const bool slot = is_slot(given.items[0]);
            const IValue constant = constant_of(given.items[0]);
            if (!slot && !constant.isInt() && !constant.isDouble() && !constant.isBool()) {
                refuse_export(where(step.node), "computes with something that is not a number");
            }
            step.operands.push_back(
                {slot ? Operand::Form::value : Operand::Form::constant, constant, given.items});
        }
        if (step.operands.size() != step.symbol.arguments || node.results.size() != 1) {
            refuse_export(where(step.node), "has another number of arguments");
        }
        steps.push_back(std::move(step));
    }

    /// Calls `use` with every value that a step reads.
    template <class Use>
    void each_use(const Step& step, Use use) const {
        for (const Step& part : step.parts) each_use(part, use);
        if (!step.parts.empty()) return;
        for (const ExportedArgument& argument : graph.nodes[step.node].arguments) {
            for (const ExportedItem& item : argument.items) {
                if (is_slot(item)) use(std::get<Slot>(item).index);
            }
        }
    }

    std::vector<int> count_uses() const {
        std::vector<int> uses(graph.values.size());
        for (const Step& step : steps) each_use(step, [&](int slot) { ++uses[slot]; });
        for (const int output : graph.outputs) {
            if (output >= 0) ++uses[output];
        }
        return uses;
    }

    /// Leaves out additions to inputs that nothing else reads: BatchNorm's counters of batches.
    void leave_out_counters() {
        const std::vector<int> uses = count_uses();
        std::set<int> inputs;
        for (const ExportedInput& input : graph.inputs) {
            if (input.kind == ExportedInput::Kind::buffer) inputs.insert(input.slot);
        }
        std::erase_if(steps, [&](const Step& step) {
            const ExportedNode& node = graph.nodes[step.node];
            if (!node.target.starts_with("torch.ops.aten.add_.")) return false;
            const ExportedArgument* self = argument_of(node, "self");
            if (self == nullptr || self->list || !is_slot(self->items[0])) return false;
            const int slot = std::get<Slot>(self->items[0]).index;
            const bool single = node.results.size() == 1 && !node.results[0].list;
            const int result = single ? node.results[0].slots[0] : -1;
            return inputs.contains(slot) && uses[slot] == 1 && (result < 0 || uses[result] == 0);
        });
    }

    /// Finds convolutions and linear layers whose shape is fixed, and their weights.
    void find_layers() {
        const std::vector<int> uses = count_uses();
        std::map<int, int> inputs;  // by value
        for (size_t k = 0; k < graph.inputs.size(); ++k) {
            inputs[graph.inputs[k].slot] = static_cast<int>(k);
        }
        for (Step& step : steps) {
            if (!step.op) continue;
            const c10::OperatorName& name = step.op->operator_name();
            const bool convolution =
                name.name == "aten::conv2d" && name.overload_name.empty() && read_shape(step);
            if (!convolution && name.name != "aten::linear") continue;
            step.special = convolution ? Step::Special::convolution : Step::Special::linear;
            const ExportedArgument* weight = argument_of(graph.nodes[step.node], "weight");
            if (weight == nullptr || weight->list || !is_slot(weight->items[0])) continue;
            const int slot = std::get<Slot>(weight->items[0]).index;
            if (inputs.contains(slot) && uses[slot] == 1) step.weight = inputs.at(slot);
        }
    }

    /// Reads the constants of a convolution. Returns false if they are none.
    static bool read_shape(Step& step) {
        const auto fill = [&](size_t argument, std::array<int64_t, 2>& to) {
            const IValue& given = step.operands[argument].constant;
            if (!given.isIntList()) return false;
            const std::vector<int64_t> numbers = given.toIntVector();
            if (numbers.size() != 2) return false;
            to = {numbers[0], numbers[1]};
            return numbers[0] >= 0 && numbers[1] >= 0;
        };
        if (step.operands.size() != 7 || !step.operands[6].constant.isInt()) return false;
        step.shape.groups = step.operands[6].constant.toInt();
        return fill(3, step.shape.stride) && fill(4, step.shape.padding) &&
               fill(5, step.shape.dilation) && step.shape.stride[0] > 0 && step.shape.stride[1] > 0;
    }

    /// Replaces each BatchNorm, sum and ReLU that norm_relu may compute by one step.
    void combine() {
        std::vector<size_t> nodes;
        std::map<size_t, size_t> steps_of;  // by node
        for (const Step& step : steps) {
            steps_of[step.node] = nodes.size();
            nodes.push_back(step.node);
        }
        std::vector<bool> moved(steps.size());
        const auto changes = [&](size_t node) {
            const Step& step = steps[steps_of.at(node)];
            return step.op && step.op->schema().is_mutable();
        };
        std::vector<std::pair<size_t, Step>> combined;
        for (const NormReluNodes& found : find_norm_relus(graph, nodes, changes)) {
            Step step{found.relu, std::nullopt, {}, {}, Step::Special::norm_relu};
            step.norm_relu = found;
            for (const std::optional<size_t> node :
                 {std::optional(found.norm), found.sum, std::optional(found.relu)}) {
                if (!node) continue;
                step.parts.push_back(steps[steps_of.at(*node)]);
                moved[steps_of.at(*node)] = true;
            }
            combined.emplace_back(steps_of.at(found.relu), std::move(step));
        }
        for (auto& [place, step] : combined) {
            steps[place] = std::move(step);
            moved[place] = false;
        }
        size_t place = 0;
        std::erase_if(steps, [&](const Step&) { return moved[place++]; });
    }

    void find_uses() {
        std::vector<bool> needed(graph.values.size());
        for (const int output : graph.outputs) {
            if (output >= 0) needed[output] = true;
        }
        for (size_t k = steps.size(); k-- > 0;) {
            Step& step = steps[k];
            const auto last = [&](int slot) {
                if (!needed[slot]) step.unused.push_back(slot);
                needed[slot] = true;
            };
            for (const ExportedResult& result : graph.nodes[step.node].results) {
                for (const int slot : result.slots) {
                    if (slot >= 0) last(slot);
                }
            }
            each_use(step, last);
        }
    }

    IValue constant_argument(const Step& step, const char* name) const {
        const auto& arguments = step.op->schema().arguments();
        for (size_t k = 0; k < arguments.size(); ++k) {
            if (arguments[k].name() == name) return step.operands[k].constant;
        }
        return {};
    }

    bool constant_flag(const Step& step, const char* name) const {
        const IValue value = constant_argument(step, name);
        return !value.isBool() || value.toBool();
    }

    bool positive(const Step& step, const char* name) const {
        const IValue value = constant_argument(step, name);
        return !value.isDouble() || value.toDouble() > 0;
    }

    bool is_dropout(const std::string& plain) const { return plain.find("dropout") != plain.npos; }

    bool draws(const Step& step, const std::string& plain) const {
        if (is_dropout(plain)) return positive(step, "p") && constant_flag(step, "train");
        if (plain == "scaled_dot_product_attention") return positive(step, "dropout_p");
        if (plain == "lstm" || plain == "gru" || plain.starts_with("rnn_")) {
            const IValue layers = constant_argument(step, "num_layers");
            return positive(step, "dropout") && constant_flag(step, "train") &&
                   !(layers.isInt() && layers.toInt() == 1);
        }
        if (plain == "rrelu" || plain == "rrelu_") return constant_flag(step, "training");
        return step.op->hasTag(at::Tag::nondeterministic_seeded);
    }

    void find_facts() {
        std::vector<int> root(graph.values.size(), -1);  // The input that a value is a view of.
        for (size_t k = 0; k < graph.inputs.size(); ++k) {
            root[graph.inputs[k].slot] = static_cast<int>(k);
        }
        const auto root_of = [&](const ExportedArgument* argument) {
            if (argument == nullptr || argument->list || !is_slot(argument->items[0])) return -1;
            return root[std::get<Slot>(argument->items[0]).index];
        };
        for (const Step& step : steps) {
            if (!step.op) continue;
            const ExportedNode& node = graph.nodes[step.node];
            const std::string plain = split_target(node.target)->plain;
            int view = -1;
            for (const c10::Argument& argument : step.op->schema().arguments()) {
                const int from = root_of(argument_of(node, argument.name()));
                if (from < 0 || argument.alias_info() == nullptr) continue;
                view = from;
                if (argument.alias_info()->isWrite()) facts.written.insert(from);
            }
            if (is_dropout(plain)) view = root_of(argument_of(node, "input"));
            for (const ExportedResult& result : node.results) {
                for (const int slot : result.slots) {
                    if (slot >= 0) root[slot] = view;
                }
            }
            note_norms(step, node, plain, root_of);
            facts.draws = facts.draws || draws(step, plain);
            facts.convolves = facts.convolves || plain == "conv2d" || plain == "convolution";
            facts.reads_strides = facts.reads_strides || reads_strides(plain);
        }
    }

    template <class RootOf>
    void note_norms(const Step& step, const ExportedNode& node, const std::string& plain,
                    const RootOf& root_of) {
        if (plain.find("_norm") == plain.npos) return;
        for (const char* name : {"weight", "bias"}) {
            const int from = root_of(argument_of(node, name));
            if (from >= 0) facts.norms.insert(static_cast<size_t>(from));
        }
        const char* trains = plain == "instance_norm" ? "use_input_stats" : "training";
        const int mean = root_of(argument_of(node, "running_mean"));
        const int variance = root_of(argument_of(node, "running_var"));
        if (mean < 0 || variance < 0) return;
        facts.statistics.emplace_back(mean, variance);
        if (!constant_flag(step, trains)) return;
        facts.written.insert(static_cast<size_t>(mean));
        facts.written.insert(static_cast<size_t>(variance));
    }

    /// Replaces constants that depend on the type of real numbers and on the device.
    void adapt(torch::ScalarType wanted, torch::Device device) {
        if (wanted == type && device == place) return;
        type = wanted;
        place = device;
        for (Step& step : steps) {
            for (Operand& operand : step.operands) {
                if (operand.real_type) operand.constant = static_cast<int64_t>(type);
                if (operand.place) operand.constant = place;
            }
        }
    }

    /// Computes a convolution or a linear layer as a product, if that takes less time.
    std::optional<torch::Tensor> product(const Step& step, const torch::jit::Stack& stack,
                                         const OwnLayers& own) const {
        const torch::Tensor &x = stack[0].toTensor(), &weight = stack[1].toTensor();
        if (x.scalar_type() != weight.scalar_type()) return std::nullopt;
        const auto bias = stack[2].isTensor() ? std::optional(stack[2].toTensor()) : std::nullopt;
        const bool known = step.weight >= 0 && !own.gradients.empty();
        const torch::Tensor gradient =
            known ? own.gradients[static_cast<size_t>(step.weight)] : torch::Tensor();
        if (step.special == Step::Special::convolution) {
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
    bool compute_norm_relu(const Step& step, std::vector<IValue>& values, int64_t* least_normalised,
                           arena::Queue& queue) const {
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
    void compute(const Step& step, std::vector<IValue>& values, torch::jit::Stack& stack,
                 int64_t* least_normalised, const OwnLayers* own) const {
        try {
            if (step.parts.empty()) {
                call(step, values, stack, least_normalised, own);
            } else if (own == nullptr ||
                       !compute_norm_relu(step, values, least_normalised, own->queue)) {
                for (const Step& part : step.parts) {
                    compute(part, values, stack, least_normalised, nullptr);
                }
            }
        } catch (const c10::OutOfMemoryError&) {
            throw;
        } catch (const c10::Error& error) {
            if (!place.is_cpu()) throw;
            throw base::UserError(where(step.node) + ": " + error.what_without_backtrace() +
                                  ": check that the data suit the model, or export it again");
        }
        for (const int slot : step.unused) values[static_cast<size_t>(slot)] = IValue();
    }

    void call(const Step& step, std::vector<IValue>& values, torch::jit::Stack& stack,
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
            if (step.special == Step::Special::batch_norm) {
                note_values_of_a_mean(stack[0].toTensor(), least_normalised);
            }
            const ExportedNode& node = graph.nodes[step.node];
            std::optional<torch::NoGradGuard> no_grad;
            std::optional<c10::impl::ExcludeDispatchKeyGuard> no_autocast;
            if (!node.gradients) no_grad.emplace();
            if (!node.autocast) no_autocast.emplace(c10::autocast_dispatch_keyset);
            const bool layer =
                step.special == Step::Special::convolution || step.special == Step::Special::linear;
            std::optional<torch::Tensor> result;
            if (own != nullptr && layer) result = product(step, stack, *own);
            if (result) {
                stack.assign(1, *result);
            } else if (step.special == Step::Special::attention && batched(stack)) {
                stack.assign(1, plain_attention(stack));
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
                throw base::UserError(where(step.node) + ": returns " +
                                      std::to_string(list.size()) + " tensors instead of " +
                                      std::to_string(result.slots.size()) + ": " + kExportAgain);
            }
            for (size_t i = 0; i < result.slots.size(); ++i) {
                values[static_cast<size_t>(result.slots[i])] = torch::Tensor(list[i]);
            }
        }
    }
};

Interpreter::Interpreter(const ExportedGraph& graph) : impl_(std::make_unique<Impl>(graph)) {}
Interpreter::~Interpreter() = default;

const GraphFacts& Interpreter::facts() const { return impl_->facts; }

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
    for (const Step& step : s.steps) {
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
