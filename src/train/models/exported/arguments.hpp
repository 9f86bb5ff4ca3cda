#pragma once  // Private to train/models/exported.
// The arguments of operators: how the file gives them, and how they are made when the graph runs.

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <optional>
#include <string>
#include <vector>

#include "train/models/exported/graph.hpp"
#include "train/torch.hpp"

namespace dbench::train {

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
    c10::IValue constant;
    std::vector<ExportedItem> items;
    bool real_type = false;     ///< The constant is the type float32, for which a run has its own.
    bool complex_type = false;  ///< The constant is complex64, its type of complex numbers.
    bool place = false;         ///< The constant is a device.
};

/// True if the item is a value of the graph, not a constant.
bool is_slot(const ExportedItem& item);
/// Returns a constant; None if the item is a value of the graph.
c10::IValue constant_of(const ExportedItem& item);
/// Returns the argument of this name that the file gives; null if it gives none.
const ExportedArgument* argument_of(const ExportedNode& node, const std::string& name);
/// Returns the argument of this name if the file gives a constant number.
std::optional<double> number_of(const ExportedNode& node, const std::string& name);

/// Returns how an argument of an operator is made: as the file says, or from its default. `where`
/// names the operator in errors. Throws UserError if the argument is missing or has another type.
Operand resolve_argument(const ExportedNode& node, const c10::Argument& argument,
                         const std::string& where);
/// Makes the argument from the graph's values.
c10::IValue make_argument(const Operand& operand, const std::vector<c10::IValue>& values);

}  // namespace dbench::train
