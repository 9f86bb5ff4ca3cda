#include "train/models/exported/interpreter.hpp"

#include <ATen/Context.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/enum_tag.h>
#include <ATen/functorch/BatchedTensorImpl.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "train/models/exported/fields.hpp"
#include "train/models/exported/symbols.hpp"

namespace dbench::train {
namespace {

using c10::IValue;
using ConstantKind = ExportedArgument::Kind;

/// Operators without results that only check what torch.export has already checked, among others
/// the types of float32 tensors, which a run in float64 changes.
bool is_assertion(const std::string& target) {
    for (const char* name : {"_assert_tensor_metadata", "_assert_scalar", "_assert_async",
                             "sym_constrain_range", "sym_constrain_range_for_size"}) {
        if (target.starts_with("torch.ops.aten." + std::string(name) + ".")) return true;
    }
    return false;
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

std::optional<torch::ScalarType> scalar_type_of(int64_t number) {
    switch (number) {
        case 1:
            return torch::kUInt8;
        case 2:
            return torch::kInt8;
        case 3:
            return torch::kInt16;
        case 4:
            return torch::kInt32;
        case 5:
            return torch::kInt64;
        case 6:
            return torch::kFloat16;
        case 7:
            return torch::kFloat32;
        case 8:
            return torch::kFloat64;
        case 12:
            return torch::kBool;
        case 13:
            return torch::kBFloat16;
        default:
            return std::nullopt;
    }
}

std::optional<at::MemoryFormat> memory_format_of(int64_t number) {
    switch (number) {
        case 1:
            return at::MemoryFormat::Contiguous;
        case 2:
            return at::MemoryFormat::ChannelsLast;
        case 3:
            return at::MemoryFormat::ChannelsLast3d;
        case 4:
            return at::MemoryFormat::Preserve;
        default:
            return std::nullopt;
    }
}

/// How one argument is made when the graph runs.
struct Operand {
    enum class Form : uint8_t {
        constant,
        value,    ///< A value of the graph as it is.
        tensor,   ///< A value of the graph; a number becomes a tensor without dimensions.
        real,     ///< A number of the graph as a float.
        tensors,  ///< A list of tensors.
        optional_tensors,
        integers  ///< A list of integers, some of which are values of the graph.
    };
    Form form = Form::constant;
    IValue constant;
    std::vector<ExportedItem> items;
    bool real_type = false;  ///< The constant is the type float32, for which a run has its own.
    bool place = false;      ///< The constant is a device.
};

/// A number as the tensor that Python makes of it: it does not decide the type of a result.
torch::Tensor as_tensor(const IValue& number) {
    const c10::Scalar scalar = number.toScalar();
    torch::Tensor tensor = at::scalar_tensor(
        scalar,
        number.isDouble() ? torch::kFloat64 : (number.isBool() ? torch::kBool : torch::kInt64));
    tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
    return tensor;
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
    enum class Special : uint8_t { none, batch_norm, attention };

    size_t node;
    std::optional<c10::OperatorHandle> op;  ///< Empty: `symbol` computes it.
    SymbolOperator symbol;
    std::vector<Operand> operands;
    Special special = Special::none;
    std::vector<int> unused;  ///< Values that no later step reads.
};

IValue constant_of(const ExportedItem& item) {
    if (const auto* value = std::get_if<int64_t>(&item)) return *value;
    if (const auto* value = std::get_if<double>(&item)) return *value;
    if (const auto* value = std::get_if<bool>(&item)) return *value;
    if (const auto* value = std::get_if<std::string>(&item)) return *value;
    return {};
}

bool is_slot(const ExportedItem& item) { return std::holds_alternative<Slot>(item); }

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
        find_uses();
        find_facts();
    }

    std::string where(size_t node) const {
        return graph.where + ": operator " + std::to_string(node) + ", " + graph.nodes[node].target;
    }

    void add(size_t k, std::set<std::string>& unknown) {
        const ExportedNode& node = graph.nodes[k];
        if (is_assertion(node.target)) return;
        Step step{k, std::nullopt, symbol_operator(node.target), {}, Step::Special::none, {}};
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
            step.operands.push_back(operand(k, argument));
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

    static const ExportedArgument* given(const ExportedNode& node, const std::string& name) {
        for (const ExportedArgument& each : node.arguments) {
            if (each.name == name) return &each;
        }
        return nullptr;
    }

    Operand operand(size_t k, const c10::Argument& argument) const {
        const ExportedNode& node = graph.nodes[k];
        const ExportedArgument* found = given(node, argument.name());
        Operand out;
        if (found == nullptr) {
            if (!argument.default_value()) {
                refuse_export(where(k), "lacks the argument " + argument.name());
            }
            out.constant = *argument.default_value();
            // A tensor that is made from nothing is made where the model computes.
            const bool makes = std::ranges::none_of(node.arguments, [](const auto& each) {
                return std::ranges::any_of(each.items, is_slot);
            });
            out.place = makes && argument.name() == "device";
            return out;
        }
        const auto refuse = [&] {
            refuse_export(where(k), "has an argument " + argument.name() +
                                        " of another type than " + argument.type()->str());
        };
        c10::TypePtr type = argument.type();
        if (const auto optional = type->cast<c10::OptionalType>())
            type = optional->getElementType();
        if (const auto list = type->cast<c10::ListType>()) {
            fill_list(out, *found, *list->getElementType(), argument.N().value_or(1), refuse);
            return out;
        }
        if (found->list) refuse();
        const ExportedItem& item = found->items[0];
        const IValue constant = constant_of(item);
        const auto kind = type->kind();
        out.items = found->items;
        if (found->kind == ConstantKind::device) {
            out.place = true;
        } else if (found->kind != ConstantKind::plain) {
            set_number(out, *found, constant.toInt(), refuse);
        } else if (kind == c10::TypeKind::TensorType) {
            out.form = is_slot(item) ? Operand::Form::tensor : Operand::Form::constant;
            if (!is_slot(item) && !constant.isNone()) {
                if (!constant.isScalar()) refuse();
                out.constant = as_tensor(constant);
            }
        } else if (is_slot(item)) {
            out.form =
                kind == c10::TypeKind::FloatType ? Operand::Form::real : Operand::Form::value;
        } else if (kind == c10::TypeKind::FloatType && constant.isInt()) {
            out.constant = static_cast<double>(constant.toInt());
        } else {
            out.constant = constant;
            const bool suits = constant.isNone() || kind == c10::TypeKind::AnyType ||
                               (constant.isDouble() && kind == c10::TypeKind::FloatType) ||
                               (constant.isScalar() && kind == c10::TypeKind::NumberType) ||
                               (constant.isInt() && (kind == c10::TypeKind::IntType ||
                                                     kind == c10::TypeKind::SymIntType)) ||
                               (constant.isBool() && kind == c10::TypeKind::BoolType) ||
                               (constant.isString() && kind == c10::TypeKind::StringType);
            if (!suits) refuse();
        }
        if (argument.name() == "cudnn_enabled" || argument.name() == "cudnn_enable") {
            out.constant = at::globalContext().userEnabledCuDNN();
        }
        return out;
    }

    template <class Refuse>
    static void set_number(Operand& out, const ExportedArgument& found, int64_t number,
                           const Refuse& refuse) {
        if (found.kind == ConstantKind::scalar_type) {
            const auto type = scalar_type_of(number);
            if (!type) refuse();
            out.constant = static_cast<int64_t>(*type);
            out.real_type = *type == torch::kFloat32;
        } else if (found.kind == ConstantKind::memory_format) {
            const auto format = memory_format_of(number);
            if (!format) refuse();
            out.constant = static_cast<int64_t>(*format);
        } else {
            if (number != 7) refuse();  // Only dense tensors.
            out.constant = static_cast<int64_t>(at::kStrided);
        }
    }

    template <class Refuse>
    static void fill_list(Operand& out, const ExportedArgument& found, const c10::Type& element,
                          int64_t copies, const Refuse& refuse) {
        const auto kind = element.kind();
        if (!found.list && std::holds_alternative<std::monostate>(found.items[0])) return;
        std::vector<ExportedItem> items = found.items;
        // One number stands for as many as the operator needs.
        if (!found.list) items.assign(static_cast<size_t>(copies), found.items[0]);
        out.items = items;
        const bool slots = std::ranges::any_of(items, is_slot);
        const auto all = [&](auto test) { return std::ranges::all_of(items, test); };
        const auto none = [](const ExportedItem& i) {
            return std::holds_alternative<std::monostate>(i);
        };
        if (kind == c10::TypeKind::TensorType) {
            if (!all(is_slot)) refuse();
            out.form = Operand::Form::tensors;
        } else if (kind == c10::TypeKind::OptionalType) {
            if (!all([&](const auto& i) { return is_slot(i) || none(i); })) refuse();
            out.form = Operand::Form::optional_tensors;
        } else if (kind == c10::TypeKind::IntType || kind == c10::TypeKind::SymIntType) {
            const auto whole = [](const ExportedItem& i) {
                return is_slot(i) || std::holds_alternative<int64_t>(i);
            };
            if (!all(whole)) refuse();
            out.form = Operand::Form::integers;
            if (slots) return;
            c10::List<int64_t> list;
            for (const ExportedItem& item : items) list.push_back(std::get<int64_t>(item));
            out.form = Operand::Form::constant;
            out.constant = list;
        } else if (kind == c10::TypeKind::FloatType) {
            c10::List<double> list;
            for (const ExportedItem& item : items) {
                if (slots || !constant_of(item).isScalar()) refuse();
                list.push_back(constant_of(item).toScalar().toDouble());
            }
            out.constant = list;
        } else if (kind == c10::TypeKind::BoolType) {
            c10::List<bool> list;
            for (const ExportedItem& item : items) {
                if (!std::holds_alternative<bool>(item)) refuse();
                list.push_back(std::get<bool>(item));
            }
            out.constant = list;
        } else {
            refuse();
        }
    }

    /// Calls `use` with every value that a step reads.
    template <class Use>
    void each_use(const Step& step, Use use) const {
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
            const ExportedArgument* self = given(node, "self");
            if (self == nullptr || self->list || !is_slot(self->items[0])) return false;
            const int slot = std::get<Slot>(self->items[0]).index;
            const bool single = node.results.size() == 1 && !node.results[0].list;
            const int result = single ? node.results[0].slots[0] : -1;
            return inputs.contains(slot) && uses[slot] == 1 && (result < 0 || uses[result] == 0);
        });
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
                const int from = root_of(given(node, argument.name()));
                if (from < 0 || argument.alias_info() == nullptr) continue;
                view = from;
                if (argument.alias_info()->isWrite()) facts.written.insert(from);
            }
            if (is_dropout(plain)) view = root_of(given(node, "input"));
            for (const ExportedResult& result : node.results) {
                for (const int slot : result.slots) {
                    if (slot >= 0) root[slot] = view;
                }
            }
            note_norms(step, node, plain, root_of);
            facts.draws = facts.draws || draws(step, plain);
        }
    }

    template <class RootOf>
    void note_norms(const Step& step, const ExportedNode& node, const std::string& plain,
                    const RootOf& root_of) {
        if (plain.find("_norm") == plain.npos) return;
        for (const char* name : {"weight", "bias"}) {
            const int from = root_of(given(node, name));
            if (from >= 0) facts.norms.insert(static_cast<size_t>(from));
        }
        const char* trains = plain == "instance_norm" ? "use_input_stats" : "training";
        const int mean = root_of(given(node, "running_mean"));
        const int variance = root_of(given(node, "running_var"));
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

    IValue make(const Operand& operand, const std::vector<IValue>& values) const {
        const auto value = [&](const ExportedItem& item) -> const IValue& {
            return values[static_cast<size_t>(std::get<Slot>(item).index)];
        };
        switch (operand.form) {
            case Operand::Form::constant:
                return operand.constant;
            case Operand::Form::value:
                return value(operand.items[0]);
            case Operand::Form::tensor: {
                const IValue& given = value(operand.items[0]);
                return given.isScalar() ? as_tensor(given) : given;
            }
            case Operand::Form::real:
                return value(operand.items[0]).toScalar().toDouble();
            case Operand::Form::tensors: {
                c10::List<torch::Tensor> list;
                list.reserve(operand.items.size());
                for (const ExportedItem& item : operand.items) {
                    list.push_back(value(item).toTensor());
                }
                return list;
            }
            case Operand::Form::optional_tensors: {
                c10::List<std::optional<torch::Tensor>> list;
                for (const ExportedItem& item : operand.items) {
                    list.push_back(is_slot(item) ? std::optional(value(item).toTensor())
                                                 : std::nullopt);
                }
                return list;
            }
            case Operand::Form::integers: {
                c10::List<int64_t> list;
                list.reserve(operand.items.size());
                for (const ExportedItem& item : operand.items) {
                    list.push_back(is_slot(item) ? value(item).toInt() : std::get<int64_t>(item));
                }
                return list;
            }
        }
        return {};
    }

    void compute(const Step& step, std::vector<IValue>& values, torch::jit::Stack& stack,
                 int64_t* least_normalised) const {
        stack.clear();
        for (const Operand& operand : step.operands) stack.push_back(make(operand, values));
        if (!step.op) {
            std::vector<SymbolValue> numbers;
            for (const IValue& each : stack) numbers.push_back(symbol_of(each));
            const SymbolValue result = step.symbol.function(numbers);
            stack.assign(1, std::visit([](auto value) { return IValue(value); }, result));
        } else {
            if (step.special == Step::Special::batch_norm && least_normalised != nullptr) {
                const torch::Tensor x = stack[0].toTensor();
                *least_normalised = std::min(*least_normalised, x.numel() / x.size(1));
            }
            const ExportedNode& node = graph.nodes[step.node];
            std::optional<torch::NoGradGuard> no_grad;
            std::optional<c10::impl::ExcludeDispatchKeyGuard> no_autocast;
            if (!node.gradients) no_grad.emplace();
            if (!node.autocast) no_autocast.emplace(c10::autocast_dispatch_keyset);
            if (step.special == Step::Special::attention && batched(stack)) {
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
        for (const int slot : step.unused) values[static_cast<size_t>(slot)] = IValue();
    }
};

Interpreter::Interpreter(const ExportedGraph& graph) : impl_(std::make_unique<Impl>(graph)) {}
Interpreter::~Interpreter() = default;

const GraphFacts& Interpreter::facts() const { return impl_->facts; }

torch::Tensor Interpreter::run(std::vector<torch::Tensor> inputs, size_t output,
                               torch::ScalarType type, torch::Device place,
                               int64_t* least_normalised) const {
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
        try {
            s.compute(step, values, stack, least_normalised);
        } catch (const c10::OutOfMemoryError&) {
            throw;
        } catch (const c10::Error& error) {
            if (!place.is_cpu()) throw;
            throw base::UserError(s.where(step.node) + ": " + error.what_without_backtrace() +
                                  ": check that the data suit the model, or export it again");
        }
    }
    const IValue& result = values[static_cast<size_t>(s.graph.outputs[output])];
    if (!result.isTensor()) refuse_export(s.graph.where, "returns something that is not a tensor");
    return result.toTensor();
}

}  // namespace dbench::train
