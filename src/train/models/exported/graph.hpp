#pragma once  // Private to train/models/exported.
// The computation of a model as torch.export has written it: a list of operators and the values
// that they read and write. It is read from JSON and checked without LibTorch.

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/json.hpp"

namespace dbench::train {

/// Refers to a value of the graph by its number.
struct Slot {
    int index;
};
/// One element of an argument: none, a value of the graph, or a constant.
using ExportedItem =
    std::variant<std::monostate, Slot, int64_t, double, std::complex<double>, bool, std::string>;

/// One argument of an operator.
struct ExportedArgument {
    /// The meaning of constants: the numbers of types, layouts and memory formats are those of the
    /// file.
    enum class Kind : uint8_t { plain, scalar_type, layout, memory_format, device };

    std::string name;  ///< The name in the operator's schema.
    Kind kind = Kind::plain;
    bool list = false;
    std::vector<ExportedItem> items;  ///< Exactly one unless it is a list.
};

/// One result of an operator: a value, or a list of values. -1: nothing reads it.
struct ExportedResult {
    bool list = false;
    std::vector<int> slots;
};

struct ExportedNode {
    std::string target;  ///< For example torch.ops.aten.conv2d.default or _operator.mul.
    std::vector<ExportedArgument> arguments;
    std::vector<ExportedResult> results;
    bool gradients = true;  ///< False: no gradient passes through it, as under torch.no_grad().
    bool autocast = true;   ///< False: it computes with the types that it is given.
};

/// One input of the graph.
struct ExportedInput {
    enum class Kind : uint8_t { user, parameter, buffer, constant };

    Kind kind;
    int slot;
    std::string name;        ///< The name of the parameter, buffer or constant.
    bool persistent = true;  ///< The buffer is part of the state_dict.
};

struct ExportedGraph {
    std::string where;                ///< The file and the part of it, for messages.
    std::vector<std::string> values;  ///< The names of all values, by their number.
    std::vector<ExportedInput> inputs;
    std::vector<ExportedNode> nodes;
    std::vector<int> outputs;  ///< Numbers of the values that the user's module returns.
    /// The smallest and the largest size of a batch that the graph accepts.
    int64_t least_batch = 1;
    std::optional<int64_t> most_batch;
};

/// Reads a graph. `program` is the JSON document of an exported program; `where` names it in
/// messages. Every value is defined before it is used. Throws UserError.
ExportedGraph read_graph(const base::Json& program, const std::string& where);

}  // namespace dbench::train
