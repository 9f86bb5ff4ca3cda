#include "train/models/exported/arguments.hpp"

#include <ATen/Context.h>

#include <algorithm>
#include <optional>

#include "train/models/exported/fields.hpp"

namespace dbench::train {
namespace {

using c10::IValue;
using ConstantKind = ExportedArgument::Kind;

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
        case 9:
            return torch::kComplexHalf;
        case 10:
            return torch::kComplexFloat;
        case 11:
            return torch::kComplexDouble;
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

/// A number as the tensor that Python makes of it: it does not decide the type of a result.
torch::Tensor as_tensor(const IValue& number) {
    const c10::Scalar scalar = number.toScalar();
    const torch::ScalarType type = number.isDouble()          ? torch::kFloat64
                                   : number.isComplexDouble() ? torch::kComplexDouble
                                   : number.isBool()          ? torch::kBool
                                                              : torch::kInt64;
    torch::Tensor tensor = at::scalar_tensor(scalar, type);
    tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
    return tensor;
}

template <class Refuse>
void set_number(Operand& out, const ExportedArgument& found, int64_t number, const Refuse& refuse) {
    if (found.kind == ConstantKind::scalar_type) {
        const auto type = scalar_type_of(number);
        if (!type) refuse();
        out.constant = static_cast<int64_t>(*type);
        out.real_type = *type == torch::kFloat32;
        out.complex_type = *type == torch::kComplexFloat;
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
void fill_list(Operand& out, const ExportedArgument& found, const c10::Type& element,
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
            const IValue number = constant_of(item);
            if (slots || !number.isScalar() || number.isComplexDouble()) refuse();
            list.push_back(number.toScalar().toDouble());
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

}  // namespace

bool is_slot(const ExportedItem& item) { return std::holds_alternative<Slot>(item); }

IValue constant_of(const ExportedItem& item) {
    if (const auto* value = std::get_if<int64_t>(&item)) return *value;
    if (const auto* value = std::get_if<double>(&item)) return *value;
    if (const auto* value = std::get_if<std::complex<double>>(&item)) {
        return c10::complex<double>(*value);
    }
    if (const auto* value = std::get_if<bool>(&item)) return *value;
    if (const auto* value = std::get_if<std::string>(&item)) return *value;
    return {};
}

const ExportedArgument* argument_of(const ExportedNode& node, const std::string& name) {
    for (const ExportedArgument& each : node.arguments) {
        if (each.name == name) return &each;
    }
    return nullptr;
}

std::optional<double> number_of(const ExportedNode& node, const std::string& name) {
    const ExportedArgument* found = argument_of(node, name);
    if (found == nullptr || found->list) return std::nullopt;
    const ExportedItem& item = found->items[0];
    if (const auto* real = std::get_if<double>(&item)) return *real;
    if (const auto* whole = std::get_if<int64_t>(&item)) return static_cast<double>(*whole);
    return std::nullopt;
}

Operand resolve_argument(const ExportedNode& node, const c10::Argument& argument,
                         const std::string& where) {
    const ExportedArgument* found = argument_of(node, argument.name());
    Operand out;
    if (found == nullptr) {
        if (!argument.default_value()) {
            refuse_export(where, "lacks the argument " + argument.name());
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
        refuse_export(where, "has an argument " + argument.name() + " of another type than " +
                                 argument.type()->str());
    };
    c10::TypePtr type = argument.type();
    if (const auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
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
        out.constant = c10::Device(c10::kCPU);
    } else if (found->kind != ConstantKind::plain) {
        set_number(out, *found, constant.toInt(), refuse);
    } else if (kind == c10::TypeKind::TensorType) {
        out.form = is_slot(item) ? Operand::Form::tensor : Operand::Form::constant;
        if (!is_slot(item) && !constant.isNone()) {
            if (!constant.isScalar()) refuse();
            out.constant = as_tensor(constant);
        }
    } else if (is_slot(item)) {
        out.form = kind == c10::TypeKind::FloatType ? Operand::Form::real : Operand::Form::value;
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

IValue make_argument(const Operand& operand, const std::vector<IValue>& values) {
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

}  // namespace dbench::train
