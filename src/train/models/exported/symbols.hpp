#pragma once  // Private to train/models/exported.
// Arithmetic with sizes in exported graphs, such as the batch size times the length of a text.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace dbench::train {

/// An integer, a real number or a truth value, as in Python.
using SymbolValue = std::variant<int64_t, double, bool>;
using SymbolFunction = SymbolValue (*)(const std::vector<SymbolValue>& arguments);

/// Returns the function for the target of a node, such as _operator.mul, and its number of
/// arguments; null if it is not known.
struct SymbolOperator {
    SymbolFunction function = nullptr;
    size_t arguments = 0;
};
SymbolOperator symbol_operator(const std::string& target);

}  // namespace dbench::train
